"""What hostile inputs cost: `python -m tests.hostile.measure [CASE...]` prints the table of the threat model.

Each case is written to a temporary folder and audited by a process of its own; CPU seconds are its user and system
time, memory is its peak, and the input is counted as decompressed. The largest need 4 GB of disk and an hour.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from tests.hostile.infect import zipped
from tests.hostile.schemas import nested
from tests.hostile.wire import session

ROOT = Path(__file__).resolve().parents[2]
_OPEN = {"type": "object"}
_CLOSED = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["y"], "additionalProperties": False}


class Cost(NamedTuple):
    """What an audit took: bytes as decompressed, CPU seconds, peak bytes, exit status, the first line it complained."""

    size: int
    cpu: float
    peak: int
    status: int
    said: str


def _calls(schema: Any, arguments: str, count: int) -> Iterator[bytes]:
    """A session of so many calls that nobody answers."""
    head, *lines = session(schema, arguments, output=None).splitlines(keepends=True)
    yield head
    yield lines[0]
    for number in range(count):
        event = lines[1].replace(b'"c"', b'"c%d"' % number).replace(b'"i0"', b'"i%d"' % number)
        yield event.replace(b'"3.0"', b'"3.%d"' % number)


def _exploding() -> Iterator[bytes]:
    for number, line in enumerate(_calls(_PATTERN, "@", 1_000)):  # no two payloads are equal
        yield line.replace(b'"@"', json.dumps(json.dumps({"x": "a" * 30 + f"{number}!"})).encode())


def _sessions(count: int) -> Iterator[bytes]:
    """Sessions of 1,000 calls that break their schema."""
    lines = list(_calls(_CLOSED, '{"x":1,"z":2}', 1_000))
    for number in range(count):
        yield b"".join(lines).replace(b'"s"', b'"s%d"' % number)


def _fat() -> Iterator[bytes]:
    for number, line in enumerate(_calls(_OPEN, "@", 1_000)):
        yield line.replace(b'"@"', json.dumps(json.dumps({"x": "ab " * 333_000 + str(number)})).encode())


def _tools(count: int) -> Iterator[bytes]:
    head, *rest = session(_OPEN, "{}").splitlines(keepends=True)
    before, _, after = head.partition(b'"tools": [')
    yield before + b'"tools": ['
    for number in range(count):
        yield b'{"type":"function","name":"t%d","description":"d","parameters":{"type":"object"}},' % number
    yield after
    yield from rest


def _line(size: int) -> Iterator[bytes]:
    yield session(_OPEN, "{}")
    yield b'{"type":"agent.session.idle","x":"'
    for _ in range(size >> 20):
        yield b"a" * (1 << 20)
    yield b'"}\n' + session(_OPEN, "{}", session_id="after")


def _doubling(levels: int) -> bytes:
    to = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return session({"$ref": "#/$defs/d0", "$defs": {**to, f"d{levels}": {"type": "object"}}}, '{"x":1}')


_WIDE = {"items": {"anyOf": [{"minimum": n + 10} for n in range(2_000)]}}
_LETTERS = {"properties": {"x": {"anyOf": [{"pattern": rf"^[\p{{L}}\p{{N}}\w]{{1,200}}{n}$"} for n in range(490)]}}}
_TREE = {"type": "object", "properties": {"a": {"$ref": "#"}}}
_PATTERN = {"type": "object", "properties": {"x": {"anyOf": [{"pattern": f"^(?:(?=a)a+)+{n}$"} for n in range(10)]}}}

CASES: dict[str, tuple[str, Callable[[], Iterator[bytes]]]] = {
    "100,000 tools in a table": (".ndjson", lambda: _tools(100_000)),
    "1,000,000 tools in a table": (".ndjson", lambda: _tools(1_000_000)),
    "100,000 open calls": (".ndjson", lambda: _calls(_OPEN, "{}", 100_000)),
    "1,000,000 open calls": (".ndjson", lambda: _calls(_OPEN, "{}", 1_000_000)),
    "100,000 calls that break their schema in three ways": (
        ".ndjson",
        lambda: _calls(_CLOSED, '{"x":1,"z":2}', 100_000),
    ),
    "2,000,000 such calls in one session": (".ndjson", lambda: _calls(_CLOSED, '{"x":1,"z":2}', 2_000_000)),
    "1,000,000 such calls in 1,000 sessions": (".ndjson", lambda: _sessions(1_000)),
    "5,000,000 such calls in 5,000 sessions": (".ndjson", lambda: _sessions(5_000)),
    "1,000 calls of 1 MB in one session": (".ndjson", _fat),
    "2,000 values, 2,000 alternatives for each": (".ndjson", lambda: iter([session(_WIDE, json.dumps([1] * 2_000))])),
    "490 patterns of Unicode's classes": (".ndjson", lambda: iter([session(_LETTERS, '{"x":"y"}')])),
    "1,000 calls, ten exploding patterns on each": (".ndjson", _exploding),
    "one line of 1 GB": (".ndjson", lambda: _line(1 << 30)),
    "8,000,000 blank lines": (".ndjson", lambda: iter([b"\n" * 8_000_000])),
    "2,700,000 records of no format": (".ndjson", lambda: iter([b"{}\n" * 2_700_000])),
    "500,000 unknown records in a known log": (
        ".ndjson",
        lambda: iter([session(_OPEN, "{}"), *(b'{"odd":%d}\n' % n for n in range(500_000))]),
    ),
    "gzip, 4 GB of zeros in 4 MB": (".gz", lambda: iter([gzip.compress(bytes(1 << 28), 9, mtime=0) * 16])),
    "zstd, 16 GB of zeros": (".zst", lambda: iter([zstandard.compress(bytes(1 << 28)) * 64])),
    "zip, 50 members of 256 MB": (
        ".eval",
        lambda: iter([zipped({f"samples/{n}.json": bytes(1 << 28) for n in range(50)})]),
    ),
    "a payload 100,000 deep, recursive schema": (".ndjson", lambda: iter([session(_TREE, nested(100_000))])),
    "an array 2,000,000 deep": (".json", lambda: iter([b"[" * 2_000_000 + b"]" * 2_000_000])),
    "references that double 30 times": (".ndjson", lambda: iter([_doubling(30)])),
}


def measured(name: str) -> Cost:
    """Write the input of a case, audit it, and say what that took."""
    suffix, make = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        file, report = Path(folder) / f"log{suffix}", Path(folder) / "report.json"
        with file.open("wb") as out:
            for piece in make():
                out.write(piece)
        command = [sys.executable, "-m", "analyzer", "audit", "--output-format", "json", "-o", str(report), str(file)]
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(command, cwd=ROOT, stderr=said)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            told = said.read(2_000).decode(errors="replace").replace(folder, "").splitlines()
        size = file.stat().st_size
        if report.exists():
            head = report.open("rb").read(1 << 16)
            found = json.loads(head[: head.index(b',\n"findings"')] + b"}")
            size = max(size, sum(each["bytes"] for each in found["inputs"]))
            reasons = found["summary"]["verdicts"]["unverifiable"]
            counted = found["summary"]["findings"]
            told += [f"{counted['error']} errors", *(f"{reason}: {count}" for reason, count in reasons.items())]
    return Cost(size, used.ru_utime + used.ru_stime, used.ru_maxrss << 10, child.returncode, "; ".join(told)[:160])


def main() -> None:
    """Print a row for each case."""
    print("| input | MB | CPU s | CPU s per MB | peak MB | status |\n|---|--:|--:|--:|--:|--:|")  # noqa: T201
    for name in sys.argv[1:] or CASES:
        cost = measured(name)
        mega = cost.size / 1e6
        per = f"{cost.cpu / mega:.2f}" if mega >= 1 else "-"
        row = f"| {name} | {mega:,.1f} | {cost.cpu:.1f} | {per} | {cost.peak / 1e6:,.0f} | {cost.status} |"
        print(row, f"<!-- {cost.said} -->", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
