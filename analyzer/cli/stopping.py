"""A run that is terminated or interrupted clears up: what it keeps on disk meanwhile goes with it."""

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
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # in the background it may be ignored
    if usual:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # clearing up takes no time
    _end_children()
    raise SystemExit(exits.TERMINATED)


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who asks again does not wait for them
    _end_children()
    raise KeyboardInterrupt


def _end_children() -> None:
    if "multiprocessing.process" in sys.modules:
        from multiprocessing import active_children

        children = active_children()  # they write into the same folder
        for child in children:
            child.terminate()
        for child in children:
            child.join(_PATIENCE)
