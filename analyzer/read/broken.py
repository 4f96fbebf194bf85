"""Failures of our own in an adapter: told where they happen, so that the rest of a log is still read."""

from __future__ import annotations

import traceback
from pathlib import Path

import polars as pl

from analyzer.errors import AnalyzerError
from analyzer.read.cursor import Place
from analyzer.read.recover import Fault
from analyzer.read.rows import NotAlone, Rows

BROKEN: tuple[type[BaseException], ...] = (Exception, pl.exceptions.PanicException)
"""Whatever an adapter breaks with; a panic inside Polars is no Exception. Tests see it as it is: for them, nothing."""
MEANT = (NotAlone, AnalyzerError, MemoryError)
"""What is no fault of an adapter."""


def fault_of(error: BaseException) -> str:
    """The failure in words: where it happened, and nothing of the log."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"a fault of the analyzer itself: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def left_out(rows: Rows, place: Place, what: str, error: BaseException) -> None:
    """Tell of a record whose adapter broke; what it had appended has been taken back."""
    where = (place.event, None, place.offset, place.length, place.line, place.pointer)
    rows.events.append((*where, None, None, None, "", "broken", None, None))
    rows.faults.append((place.event, None, *Fault("unreadable", "", f"{what}, {fault_of(error)}")))
