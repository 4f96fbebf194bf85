"""The audit of a log as a ratio to parsing its lines: python -m tests.perf.ratio LOG [--runs N] [AUDIT OPTIONS...].

The floor is a process that reads every line and parses it with orjson. Both run in turn; the median of the ratios of
their CPU times is printed, with the audit's peak memory. Times alone mean little on a shared machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

FLOOR = "import sys, orjson\nfor line in open(sys.argv[1], 'rb', buffering=1 << 20): orjson.loads(line)"


def measured(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a process, which may end with status 0, 1 or 3."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(command)}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--runs", type=int, default=3)
    given, options = parser.parse_known_args()
    ratios, peak = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")  # noqa: PTH118
        audit = [
            sys.executable,
            "-m",
            "analyzer",
            "audit",
            given.log,
            *options,
            "--output-format",
            "json",
            "-o",
            report,
        ]
        for turn in range(given.runs + 1):
            floor, _ = measured([sys.executable, "-c", FLOOR, given.log])
            spent, memory = measured(audit)
            if turn:  # the first round only warms the page cache
                ratios.append(spent / floor)
                peak = max(peak, memory)
    sys.stdout.write(
        f"CPU {statistics.median(ratios):.2f} times the parse of the lines, peak {peak:.0f} MB, {given.runs} rounds\n"
    )


if __name__ == "__main__":
    main()
