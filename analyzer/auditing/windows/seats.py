"""The order of all events of a large session: where each of them happened, and which came twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from analyzer.findings.kept import anew
from analyzer.frames import RECORDED
from analyzer.read.spilled.spill import Large
from analyzer.replay.place import marks, ordered
from analyzer.rules.order import going_back, leaps, numbered
from analyzer.trace import Settings, Trace

Fetch = Callable[[int, int, int], bytes]


@dataclass(frozen=True)
class Seats:
    """The places of all events of a session."""

    events: pl.Series
    """All event numbers, sorted."""
    seq: pl.Series | None
    """The place of each; null where they happened in the order of their numbers."""
    order: str | None
    """What the order rests on, as in SESSIONS."""
    copies: pl.DataFrame
    """`event, copy` of the events that came before, and of those that may have come first (null)."""
    steps: pl.DataFrame
    """`event, step, leap, missing, lag` where numbers leap or go back, or times go back."""

    def places(self, events: pl.Series) -> pl.Series:
        """The `seq` of some events."""
        at = self.events.search_sorted(events).cast(pl.Int64)
        return (at if self.seq is None else self.seq.gather(at)).alias("seq")

    def seated(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A recorded frame with the `seq` of its events."""
        return frame.with_columns(self.places(frame["event"]))


def seats_of(
    whole: Large, events: pl.DataFrame, fetch: Fetch, sources: pl.DataFrame, skew: float
) -> tuple[Seats, pl.DataFrame]:
    """The seats of a session, and `event, seq, turn, time` of its events.

    `events` are `event, source, number, time, kind, id, turn` of all of them, the ids as hashes or
    `again_key`; `sources` are SOURCES, `skew` the seconds that times may go back.
    """
    placed = ordered(events.with_columns(session=_named(whole.session)))
    order = placed["order"][0]
    placed = placed.drop("session", "order", "kind")
    marks = _marks(whole, placed, fetch)
    placed = placed.drop("id")
    copy = placed.select("event").join(marks, on="event", how="left", maintain_order="left")["copy"]
    steps = _steps(placed.with_columns(copy), sources, skew)
    seq = None if order in ("file", "files", None) else placed["seq"]
    return Seats(placed["event"], seq, order, marks, steps), placed.select("event", "seq", "turn", "time")


def rows_of(whole: Large, events: pl.Series) -> pl.DataFrame:
    """The rows of EVENTS with these numbers, in their order."""
    found = [RECORDED["events"].to_frame()]
    if events.len():
        wanted = pl.col("event").is_in(events.implode())
        found += [anew(rows.filter(wanted)) for _, rows in whole.frames("events")]
    return pl.concat(found).sort("event")


def _marks(whole: Large, events: pl.DataFrame, fetch: Fetch) -> pl.DataFrame:
    """`event, copy` of the events that came before, and of those that may have come first (null)."""
    ids = events["id"].drop_nulls().sort()  # sorting takes a fraction of the memory that hashing does
    again = ids.filter(ids == ids.shift()).unique()
    twice = events.filter(pl.col("id").is_in(again.implode())).select("event", "seq")
    rows = rows_of(whole, twice["event"]).join(twice, on="event", how="left", maintain_order="left")
    found = marks(events.with_columns(session=_named(whole.session)), rows, fetch)
    return pl.concat([found, twice.join(found, on="event", how="anti").select("event", copy=pl.lit(None, pl.String))])


def _steps(events: pl.DataFrame, sources: pl.DataFrame, skew: float) -> pl.DataFrame:
    """`event, step, leap, missing, lag` of the events whose number goes back or leaps, or whose time goes back."""
    alone = events.with_columns(session=_named(""))
    trace = Trace(settings=Settings(clock_skew=skew), sources=sources, events=alone)
    back = numbered(trace).filter(pl.col("step") < 0).select("event", "step")
    gaps = leaps(trace).select("event", "missing", leap="step")
    late = going_back(trace).select("event", "lag")
    return back.join(gaps, on="event", how="full", coalesce=True).join(late, on="event", how="full", coalesce=True)


def _named(session: str | None) -> pl.Expr:
    return pl.lit(session, pl.String).cast(pl.Categorical)
