"""Runs the command line as `python -m analyzer`."""

from __future__ import annotations

import sys
from pathlib import Path

# Python looks for modules in the current folder first, and that may be a folder of logs from anywhere.
here = Path.cwd()
if sys.path and Path(sys.path[0] or ".").resolve() == here:
    del sys.path[0]
    if Path(__file__).resolve().parents[1] == here:  # run from the source, which its own processes must find
        sys.path.append(str(here))

from analyzer.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
