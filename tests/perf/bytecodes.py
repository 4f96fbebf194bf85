"""What reading a log takes of Python, by function: python -m tests.perf.bytecodes LOG.

Bytecodes and calls for each record, the same in every run on any machine: a busy one hides what a change saves. A
second reading is counted, so that nothing which is made once for a process is in it; a log of some 500 KB will do.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from analyzer.read import read
from analyzer.read.sources.files import Source

_SHOWN = 40


def counted(log: str) -> tuple[Counter[CodeType], Counter[CodeType]]:
    """The bytecodes and the calls of each function while the log is read."""
    bytecodes: Counter[CodeType] = Counter()
    calls: Counter[CodeType] = Counter()

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call":
            frame.f_trace_opcodes = True
            calls[frame.f_code] += 1
        elif event == "opcode":
            bytecodes[frame.f_code] += 1
        return traced

    read([Source(0, log)])
    sys.settrace(traced)
    read([Source(0, log)])
    sys.settrace(None)
    return bytecodes, calls


def main() -> None:
    """Count and print."""
    (log,) = sys.argv[1:]
    with Path(log).open("rb") as file:
        records = sum(1 for _ in file)
    bytecodes, calls = counted(log)
    sys.stdout.write("bytecodes     calls  of one record\n")
    sys.stdout.write(f"{bytecodes.total() / records:9.1f} {calls.total() / records:9.2f}  in all\n")
    for code, count in bytecodes.most_common(_SHOWN):
        where = f"{code.co_qualname} {code.co_filename}:{code.co_firstlineno}"
        sys.stdout.write(f"{count / records:9.1f} {calls[code] / records:9.2f}  {where}\n")


if __name__ == "__main__":
    main()
