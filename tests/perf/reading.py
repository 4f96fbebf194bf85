"""Reading alone as a ratio to parsing the lines: python -m tests.perf.reading [SAMPLE...] [--megabytes N] [--runs N].

Each sample (without any: those of the six most recorded wires) is repeated under new ids until it is large. The CPU of
`read`, from bytes to recorded frames, over that of orjson on every line, both in turn in one process; the median of the
ratios is printed, with what `read` takes of each record.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from analyzer.read import read
from analyzer.read.sources.files import Source

SAMPLES = Path(__file__).parents[2] / "sample_traces" / "formats"
SIX = ("openai-responses", "openai-chat", "anthropic-messages", "claude-code-jsonl", "codex-rollout", "mcp-jsonrpc")
_NAMES = re.compile(r"(?:^|_)(?:id|uuid)$|(?:Id|ID|Uuid)$|^conversation$")
_SHORTEST = 5  # an id; what is shorter may be any word


def ids(value: Any, found: set[str]) -> set[str]:
    """Add the texts of a parsed record that are ids by the names of their members."""
    if isinstance(value, list):
        for each in value:
            ids(each, found)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and len(inner) >= _SHORTEST and _NAMES.search(name):
                found.add(inner)
            ids(inner, found)
    return found


def _parses(line: bytes, known: set[str]) -> bool:
    try:
        ids(orjson.loads(line), known)
    except orjson.JSONDecodeError:
        return False
    return True


def repeated(sample: bytes, file: Path, size: int) -> int:
    """Write the sample again and again under new ids until `size` bytes are written; how many records that is.

    Lines that are not JSON are left out: the floor could not be told.
    """
    known: set[str] = set()
    lines = [line for line in sample.splitlines() if _parses(line, known)]
    sample = b"".join(line + b"\n" for line in lines)
    longest_first = sorted(map(re.escape, known), key=lambda each: (-len(each), each))
    found = f"((?<![A-Za-z0-9_])(?:{'|'.join(longest_first)})(?![A-Za-z0-9_]))".encode() if known else rb"(\Z.)"
    pieces = re.split(found, sample)
    written = times = 0
    with file.open("wb") as stream:
        while written < size:
            suffix = b"x%d" % times
            written += stream.write(b"".join([piece + suffix if at % 2 else piece for at, piece in enumerate(pieces)]))
            times += 1
    return times * len(lines)


def spent(work: Callable[[], None]) -> float:
    """The CPU seconds that all threads of the process take for it."""
    since = time.process_time()
    work()
    return time.process_time() - since


def measure(sample: Path, size: int, runs: int) -> str:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "log.jsonl")
        records = repeated(sample.read_bytes(), file, size)

        def floor() -> None:
            with file.open("rb", buffering=1 << 20) as stream:
                for line in stream:
                    orjson.loads(line)

        formats: list[str] = []

        def reading() -> None:
            recording = read([Source(0, str(file))])
            formats.append(recording.sources[0]["format"])
            for _ in recording.partitions() if recording.expected_partitions > 1 else ():
                break  # removes what was spilled

        pairs = [(spent(floor), spent(reading)) for _ in range(runs)]
        megabytes = file.stat().st_size / 1e6
    low, high = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    ratio = statistics.median(reading / floor for floor, reading in pairs)
    return (
        f"{formats[0]:22} {megabytes:6.0f} {records:9,} {megabytes * 1e6 / records:8.0f} {low:8.2f} {high:8.2f} "
        f"{high / records * 1e6:8.1f} {ratio:7.2f}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="*", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    sys.stdout.write("format                     MB   records  B/record  floor s   read s us/record   ratio\n")
    for sample in given.samples or [SAMPLES / f"{name}.jsonl" for name in SIX]:
        sys.stdout.write(measure(sample, given.megabytes * 1_000_000, given.runs) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
