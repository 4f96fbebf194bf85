"""Sessions too large to be looked at whole: which they are, and where their rows lie on disk.

A session is judged whole, in memory: its calls, answers and tables may be anywhere in it. One that weighs more than a
window is judged window by window, in `analyzer.auditing.windows`. Only what was spilled can hold such a session.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

WINDOW = 300_000
"""Events of one session that are looked at together, some 0.4 GB."""
HEAVY = 2_000
"""Bytes of texts that weigh as much as an event."""


def sizes_of(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a recorded frame as `session, event, events` (1 for an event, else 0) and `bytes` of their texts."""
    texts = [pl.col(column).str.len_bytes() for column, of in rows.schema.items() if of == pl.String()]
    events = pl.lit(int(name == "events"), pl.Int64)
    return rows.select("session", "event", events=events, bytes=pl.sum_horizontal(texts).cast(pl.Int64))


def large_sessions(frames: Iterable[tuple[str, pl.DataFrame]]) -> tuple[list[str | None], int]:
    """The sessions that weigh more than a window, of recorded frames by name that come piece by piece.

    And what the others weigh together.
    """
    sums = pl.col("events", "bytes").sum()
    weighed = [sizes_of(name, rows).group_by("session").agg(sums) for name, rows in frames if "event" in rows.columns]
    none = pl.DataFrame(schema={"session": pl.String, "events": pl.Int64, "bytes": pl.Int64})
    whole = pl.concat([none, *weighed]).group_by("session").agg(sums)
    whole = whole.select("session", weight=pl.max_horizontal("events", pl.col("bytes") // HEAVY))
    heavy = pl.col("weight") > WINDOW
    return whole.filter(heavy).sort("session")["session"].to_list(), int(whole.filter(~heavy)["weight"].sum())
