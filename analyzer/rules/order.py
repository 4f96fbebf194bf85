"""Which events of a session may be compared by their place, and what came first."""

from __future__ import annotations

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS
from analyzer.trace import Trace

_SOURCE = 1 << (RECORD_BITS + PART_BITS)
_RECORD = 1 << PART_BITS


def source_of(event: str) -> pl.Expr:
    """The number of the file that an event stands in."""
    return pl.col(event) // _SOURCE


def record_of(event: str) -> pl.Expr:
    """The number of the record that an event is part of."""
    return pl.col(event) // _RECORD


def comparable(trace: Trace, rows: pl.LazyFrame, left: str, right: str) -> pl.LazyFrame:
    """The rows whose two events have a proved order; that of two files of one session may be a guess."""
    guessed = trace.sessions.lazy().filter(pl.col("order") == "files").select("session", guessed=pl.lit(value=True))
    return (
        rows.join(guessed, on="session", how="left", maintain_order="left")
        .filter(pl.col("guessed").is_null() | (source_of(left) == source_of(right)))
        .drop("guessed")
    )


def in_order(trace: Trace, column: str) -> pl.DataFrame:
    """The events that have this column, as recorded, without copies; `key` is their session as a number.

    Numbers are grouped several times as fast as names.
    """
    return trace.events.filter(pl.col(column).is_not_null(), pl.col("copy").is_null()).select(
        *("session", "source", "event", column), key=pl.col("session").cast(pl.Categorical).to_physical()
    )


def times_of(trace: Trace, events: pl.Series) -> pl.Series:
    """The time of each of these events, null where none is recorded."""
    if trace.events.is_empty():
        return pl.Series("time", [None] * events.len(), dtype=trace.events.schema["time"])
    places = trace.events["event"].search_sorted(events.fill_null(-1))
    return trace.events["time"].gather(places.clip(0, trace.events.height - 1))
