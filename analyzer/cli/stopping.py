"""A terminated run clears up as an interrupted one does: what it keeps on disk meanwhile goes with it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from analyzer.cli import exits

_PATIENCE = 5.0  # seconds for other processes to end


@contextmanager
def clearing_up() -> Iterator[None]:
    """Ends with status 143 on SIGTERM, and not before what runs has let go of its files."""
    if threading.current_thread() is not threading.main_thread():  # only this one may say what a signal does
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # clearing up takes no time
    if "multiprocessing.process" in sys.modules:
        from multiprocessing import active_children

        children = active_children()  # they write into the same folder
        for child in children:
            child.terminate()
        for child in children:
            child.join(_PATIENCE)
    raise SystemExit(exits.TERMINATED)
