"""Which steps of a session took long: the time from one event to the next."""

from __future__ import annotations

import polars as pl

MOST = 20  # of a session
_LEAST = 1.0  # seconds: what is shorter keeps nobody waiting


def slowest(events: pl.DataFrame) -> pl.DataFrame:
    """The longest steps of each session, at most `MOST`: `event` that ended it, `seconds`, `rank` from 1.

    A step begins with the event before that has a time. None is shorter than a second.
    """
    waited = pl.col("time").diff().over("session").dt.total_microseconds() / 1e6
    steps = (
        events.filter(pl.col("time").is_not_null())
        .sort("session", "seq", "event")
        .select("event", "session", seconds=waited)
        .filter(pl.col("seconds") >= _LEAST)
    )
    rank = pl.col("seconds").rank("ordinal", descending=True).over("session")
    return steps.with_columns(rank=rank).filter(pl.col("rank") <= MOST).drop("session")
