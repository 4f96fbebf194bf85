"""What the mere reading of an Agents API log costs in Python: python -m tests.perf.least LOG [--runs N].

The steps that no audit in Python and Polars can leave out, each as short as it can be written: the digest of the
input, the lines, their typed decoding (payloads as they stand, tool tables once), the columns of EVENTS without where
a record lies, and those of calls and results. Nothing is checked, paired, judged, looked for or reported. The CPU of
each as a ratio to parsing every line with orjson, in turn; the medians are printed. It says which bounds for the
whole audit can be met at all.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import io
import statistics
import sys
import time
from collections.abc import Sequence

import msgspec
import orjson
import polars as pl

from analyzer.read.limits import BLOCK

_DELTA = b'.delta"'
_TOOLS, _KEY = b'"tools":[', 96
_EVENTS = ("type", "event_id", "session_id", "turn_id", "sequence_number", "recorded_at")


class _Item(msgspec.Struct):
    type: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()
    output: msgspec.Raw = msgspec.Raw()


class _Agent(msgspec.Struct):
    tools: msgspec.Raw = msgspec.Raw()


class _Action(msgspec.Struct):
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class _Session(msgspec.Struct):
    agent: _Agent | None = None
    required_actions: list[_Action] | None = None


class _Piece(msgspec.Struct):
    type: str | None = None
    event_id: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    sequence_number: int | None = None
    recorded_at: str | None = None


class _Record(_Piece):
    call_id: str | None = None
    output: msgspec.Raw = msgspec.Raw()
    item: _Item | None = None
    session: _Session | None = None


_piece = msgspec.json.Decoder(_Piece).decode
_record = msgspec.json.Decoder(_Record).decode


class _Decoder:
    """Decodes lines; a tool table that was seen is cut out before, as the API repeats it in every session event."""

    def __init__(self) -> None:
        self._tables: dict[bytes, bytes] = {}

    def __call__(self, line: bytes) -> _Piece:
        if _DELTA in line[:120]:
            return _piece(line)
        at = line.find(_TOOLS) if len(line) > 2048 else -1
        if at < 0:
            return _record(line)
        key = line[at : at + _KEY]
        table = self._tables.get(key)
        if table is not None and line.startswith(table, at):
            return _record(b"".join((line[:at], b'"tools":null', line[at + len(table) :])))
        record = _record(line)
        if record.session is not None and record.session.agent is not None:
            self._tables[key] = b'"tools":' + bytes(record.session.agent.tools)
        return record


class _Clock:
    """CPU seconds by step."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._since = time.process_time()

    def end(self, step: str) -> None:
        now = time.process_time()
        self.spent[step] = self.spent.get(step, 0.0) + now - self._since
        self._since = now


def floor(path: str) -> float:
    """CPU seconds that parsing every line takes."""
    clock = _Clock()
    with open(path, "rb", buffering=BLOCK) as file:  # noqa: PTH123
        for line in file:
            orjson.loads(line)
    clock.end("")
    return clock.spent[""]


def least(path: str) -> dict[str, float]:
    """CPU seconds by step."""
    digest, rest, frames = hashlib.sha256(), b"", []
    decode = _Decoder()
    clock = _Clock()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        while chunk := file.read(BLOCK):
            clock.end("lines")
            digest.update(chunk)
            clock.end("digest")
            lines = io.BytesIO(rest + chunk).readlines()
            rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
            clock.end("lines")
            records = list(map(decode, lines))
            clock.end("decoding")
            frames.append(pl.DataFrame({name: [getattr(each, name) for each in records] for name in _EVENTS}))
            clock.end("events")
            frames += _calls(records)
            clock.end("calls and results")
    return clock.spent


def _calls(records: Sequence[_Piece]) -> list[pl.DataFrame]:
    whole = [record for record in records if isinstance(record, _Record)]
    items = [
        (record.session_id, item.type, item.call_id, item.name, bytes(item.arguments), bytes(item.output))
        for record in whole
        if (item := record.item) is not None
    ]
    posts = [(record.session_id, record.call_id, bytes(record.output)) for record in whole if record.output]
    asked = [
        (record.session_id, action.call_id, action.name, bytes(action.arguments))
        for record in whole
        if record.session is not None
        for action in record.session.required_actions or ()
    ]
    return [pl.DataFrame(rows, orient="row", infer_schema_length=None) for rows in (items, posts, asked) if rows]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    gc.disable()  # as the audit does while it reads
    floor(given.log)  # the first round only warms the page cache
    rounds = []
    for _ in range(given.runs):
        unit = floor(given.log)
        rounds.append({step: spent / unit for step, spent in least(given.log).items()})
    for step in rounds[0]:
        sys.stdout.write(f"{step:18} {statistics.median(each[step] for each in rounds):.2f}\n")
    sys.stdout.write(f"{'all':18} {statistics.median(sum(each.values()) for each in rounds):.2f}\n")


if __name__ == "__main__":
    main()
