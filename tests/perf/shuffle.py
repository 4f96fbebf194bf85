"""What a lake costs on a cluster: python -m tests.perf.shuffle LOG [--contracts FILE] [--events N].

The log is read in shares and audited in partitions of N events, as `batch --shuffle` does it, each in a process of its
own. Printed are the CPU and the peak memory of both kinds, what goes between them, what the process that asks for them
holds, and what all of it makes of a terabyte of such logs.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from analyzer.batch import segments
from analyzer.batch.segments import Terms, audit_segment
from analyzer.contracts.files import load_contracts
from analyzer.read import Crew
from analyzer.read.recording import Recording
from analyzer.read.sources.finding import find

TERABYTE = 10**12


def measured(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float, int]:
    """What the work gives, its CPU seconds, and the peak megabytes of this process."""
    since = time.process_time()
    given = work(*arguments)
    return given, time.process_time() - since, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


class Alone:
    """Runs everything in a process of its own, one after the other."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self.peak: dict[str, int] = {}

    def submit(self, work: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Run it now."""
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            given, spent, peak = pool.submit(measured, work, arguments).result()
        self.spent.setdefault(work.__name__, []).append(spent)
        self.peak[work.__name__] = max(self.peak.get(work.__name__, 0), peak)
        future: Future[Any] = Future()
        future.set_result(given)
        return future


def main() -> None:
    """Measure and print."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # as the command sets it
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--contracts", action="append", default=[])
    parser.add_argument("--events", type=int, default=segments.SHUFFLED)
    given = parser.parse_args()
    segments.SHUFFLED = given.events
    contracts = load_contracts([Path(path) for path in given.contracts])
    contracts = replace(contracts, entries=tuple(replace(entry, judge=None) for entry in contracts.entries))
    pool, shuffled = Alone(), 0
    close = Recording.close

    def weighed(recording: Recording) -> None:
        nonlocal shuffled
        if recording.folder is not None:
            shuffled += sum(file.stat().st_size for file in recording.folder.glob("*"))
        close(recording)

    Recording.close = weighed  # type: ignore[method-assign,assignment]
    with tempfile.TemporaryDirectory() as folder:
        answer = audit_segment(find([given.log])[0], Terms(contracts=contracts), Path(folder), crew=Crew(pool, 1))
    size = sum(row["bytes"] for row in answer.sources)
    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    spent = {name: sum(each) for name, each in pool.spent.items()}
    lots = len(pool.spent["audit_lot"])
    times = TERABYTE / size
    sys.stdout.write(
        f"{size / 1e9:.2f} GB, {sum(row['records'] for row in answer.sources)} events, {lots} partitions\n"
        f"reading: {spent['read_share']:.1f} s of CPU, peak {pool.peak['read_share']} MB a process\n"
        f"auditing: {spent['audit_lot']:.1f} s of CPU, peak {pool.peak['audit_lot']} MB a process\n"
        f"between them: {shuffled / 1e6:.0f} MB; the process that asks: peak {mine} MB\n"
        f"a terabyte: {lots * times:.0f} partitions, {sum(spent.values()) * times / 3600:.1f} hours of CPU, "
        f"{shuffled * times / 1e9:.0f} GB between them\n"
    )


if __name__ == "__main__":
    main()
