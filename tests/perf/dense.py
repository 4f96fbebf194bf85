"""Peak memory where nearly every call is a finding: python -m tests.perf.dense [CASE...] [--of N] [--as REPORT...].

Each case is written to a temporary folder at 1/N of its size, and audited as text, as JSON, as a page and by `batch`,
by a process of its own each time; the CPU seconds and the peak memory of each are printed. All of it takes an hour.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile.wire import session
from tests.perf.ratio import measured

_CLOSED = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["y"], "additionalProperties": False}
_SESSION = 1_000  # calls of a session, where there are many sessions


def calls(count: int, size: int = 0) -> Iterator[bytes]:
    """A session of so many calls that break their schema in three ways, with arguments of so many bytes."""
    # The one number of each call stands in its texts, so that no two are equal.
    head, begun, call = session(_CLOSED, "@", output=None).splitlines(keepends=True)
    yield head + begun
    text = json.dumps(json.dumps({"x": 0, "z": "ab " * (size // 3) + "#"})).encode()
    before, after = call.replace(b'"c"', b'"c#"').replace(b'"i0"', b'"i#"').replace(b'"3.0"', b'"3.#"').split(b'"@"')
    parts = (before + text + after).split(b"#")
    for number in range(count):
        yield (b"%d" % number).join(parts)


def answered(count: int) -> Iterator[bytes]:
    """A session of so many calls whose arguments and outputs both break their schemas."""
    head, begun, call, result = session(_CLOSED, "@", output="Error: no such row").splitlines(keepends=True)
    yield head + begun
    parts = (call + result).replace(b'"@"', json.dumps('{"x":#}').encode())
    pieces = parts.replace(b'"c"', b'"c#"').replace(b'"i0"', b'"i#"').replace(b'"3.0"', b'"3.#"')
    pieces = pieces.replace(b'"o"', b'"o#"').replace(b'"4"', b'"4.#"').replace(b"no such row", b"no row #")
    for number in range(count):
        yield pieces.replace(b"#", b"%d" % number)


def sessions(count: int, one: Callable[[int], Iterator[bytes]] = calls) -> Iterator[bytes]:
    """So many calls in sessions of a thousand."""
    lines = b"".join(one(_SESSION))
    for number in range(count // _SESSION):
        yield lines.replace(b'"s"', b'"s%d"' % number)


CASES: dict[str, Callable[[int], Iterator[bytes]]] = {
    "one": lambda of: calls(1_000_000 // of),
    "sessions": lambda of: sessions(1_000_000 // of),
    "answered": lambda of: answered(500_000 // of),
    "answered-sessions": lambda of: sessions(500_000 // of, answered),
    "megabytes": lambda of: calls(1_000 // of, 1_000_000),
}
REPORTS = ("text", "json", "html", "batch")


def command(report: str, log: Path, folder: Path) -> list[str]:
    """What writes such a report of the log into the folder."""
    if report == "batch":
        return ["batch", "--store", str(folder / "store"), str(log)]
    return ["audit", "--output-format", report, "-o", str(folder / f"report.{report}"), str(log)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--as", nargs="+", choices=REPORTS, default=REPORTS, dest="reports")
    given = parser.parse_args()
    for case in given.cases or CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log = folder / "log.jsonl"
            with log.open("wb") as file:
                file.writelines(CASES[case](given.of))
            for report in given.reports:
                spent, peak = measured([sys.executable, "-m", "analyzer", *command(report, log, folder)])
                sys.stdout.write(f"{case:18} {report:6} {spent:6.1f} s {peak:6.0f} MB\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
