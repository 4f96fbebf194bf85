"""Sessions too large for memory: each is read up to a limit, and what is left out is told.

A session is judged whole, in memory: its calls, answers and tables may be anywhere in it. So it ends where it would
pass the limit, whatever else is in the log and however it is split. Only what was spilled can hold such a session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from analyzer.frames import FAULTS
from analyzer.visible import visible

MOST_EVENTS = 1_000_000
"""Events of one session that are judged: some 2 GB."""
MOST_BYTES = 640 << 20
"""Bytes of its texts, which take five times as much; more than a recording holds before it spills."""
FAULT = "session_too_large"


class Cut(NamedTuple):
    """A session of which only the first events are judged."""

    session: str | None
    last: int
    """Its last event that is."""
    told: str
    """What is left out, and why."""

    def problem(self) -> str:
        """The same, with the session."""
        return f"the session {visible(self.session or '(unrecorded)', limit=200)} is too large: {self.told}"

    def fault(self) -> pl.DataFrame:
        """The same as FAULTS, at the last event."""
        return pl.DataFrame([(self.last, self.session, FAULT, "", self.told, None)], schema=FAULTS, orient="row")


def cuts_of(frames: Iterable[tuple[str, pl.DataFrame]]) -> list[Cut]:
    """The sessions that are too large, of recorded frames by name that come piece by piece."""
    weighed = pl.concat([_NONE, *(_weighed(name, rows) for name, rows in frames if "event" in rows.columns)])
    whole = weighed.group_by("session").agg(pl.col("events", "bytes").sum())
    heavy = whole.filter((pl.col("events") > MOST_EVENTS) | (pl.col("bytes") > MOST_BYTES)).sort("session")
    return [_cut(session, weighed) for session in heavy["session"]]


def without(frame: pl.DataFrame, cuts: Iterable[Cut]) -> pl.DataFrame:
    """The frame without the rows of events that are left out."""
    if "event" in frame.columns:
        for cut in cuts:
            frame = frame.filter(pl.col("session").ne_missing(pl.lit(cut.session)) | (pl.col("event") <= cut.last))
    return frame


_NONE = pl.DataFrame(schema={"session": pl.String, "event": pl.Int64, "events": pl.Int64, "bytes": pl.Int64})


def _weighed(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    texts = [pl.col(column).str.len_bytes() for column, of in rows.schema.items() if of == pl.String()]
    return rows.select(
        "session",
        "event",
        events=pl.lit(int(name == "events"), pl.Int64),
        bytes=pl.sum_horizontal(texts).cast(pl.Int64),
    )


def _cut(session: str | None, weighed: pl.DataFrame) -> Cut:
    mine = weighed.filter(pl.col("session").eq_missing(pl.lit(session, pl.String)))
    events = mine.group_by("event").agg(pl.col("events", "bytes").sum()).sort("event")
    within = (pl.col("events").cum_sum() <= MOST_EVENTS) & (pl.col("bytes").cum_sum() <= MOST_BYTES)
    kept = max(events.select(within.sum()).item(), 1)
    judged = int(events["events"].head(kept).sum())
    limit = f"the limit is {MOST_EVENTS:,} events or {MOST_BYTES:,} bytes of texts"
    told = f"only the first {judged:,} of its {int(events['events'].sum()):,} events are judged; {limit}"
    return Cut(session, events["event"][kept - 1], told)
