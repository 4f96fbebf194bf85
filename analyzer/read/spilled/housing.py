"""Events whose session no record near them names: set apart while reading, and given a session at the end."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS, Frames

SOURCE_OF = pl.col("event") // (1 << RECORD_BITS + PART_BITS)
"""The source of an event, which is a part of its number."""


def apart(frames: Frames) -> tuple[Frames, Frames]:
    """The frames of events with a session, and those of events without."""
    frames = {**frames, "faults": _beside(frames["faults"], frames["events"])}
    homeless = frames["events"].filter(pl.col("session").is_null() & ~pl.col("kind").is_in(["broken", "unknown"]))[
        "event"
    ]
    if homeless.is_empty():
        return frames, {name: frame.clear() for name, frame in frames.items()}
    lost = {
        name: frame.clear() if name == "tables" else frame.filter(pl.col("event").is_in(homeless.implode()))
        for name, frame in frames.items()
    }
    placed = {
        name: frame if name == "tables" else frame.filter(~pl.col("event").is_in(homeless.implode()))
        for name, frame in frames.items()
    }
    return placed, lost


def _beside(faults: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Faults with the session of their event: what is found before a record is understood knows none."""
    if not faults["session"].null_count():
        return faults
    own = events.select("event", own="session")
    return faults.join(own, on="event", how="left", maintain_order="left").select(
        pl.coalesce("session", "own").alias("session") if name == "session" else name for name in faults.columns
    )


def turns_of(frames: Frames) -> pl.DataFrame:
    """Which session a turn is of."""
    return (
        frames["events"]
        .lazy()
        .filter(pl.col("turn").is_not_null() & pl.col("session").is_not_null())
        .select("turn", "session")
        .unique()
        .sort("turn", "session")
        .collect()
    )


def firsts_of(frames: Frames) -> pl.DataFrame:
    """The session of the first event of each source."""
    return (
        frames["events"]
        .lazy()
        .filter(pl.col("session").is_not_null())
        .group_by("source")
        .agg(pl.col("session").sort_by("event").first(), pl.col("event").min())
        .sort("source")
        .collect()
    )


class Homes:
    """Where events without a session belong: to that of their turn, else to the first of their file.

    A page of items belongs to the session that has its turns. A bare input has got the session of the record before it
    while reading; here come only those that no such record was before.
    """

    def __init__(self, homeless: Iterable[pl.DataFrame], turns: pl.DataFrame, firsts: pl.DataFrame) -> None:
        """`homeless` are EVENTS without a session, `turns` and `firsts` what those functions gave of all others."""
        self._turns = turns.unique().filter(pl.col("turn").is_unique()).rename({"session": "of_turn"})
        near = [firsts.select("source", "session", "event")]
        near += [
            self._by_turn(events)
            .filter(pl.col("of_turn").is_not_null())
            .select("source", session="of_turn", event="event")
            .sort("event")
            .unique("source", keep="first", maintain_order=True)
            for events in homeless
        ]
        self._near = (
            pl.concat(near)
            .sort("source", "event")
            .unique("source", keep="first", maintain_order=True)
            .select("source", of_file="session")
        )

    def _by_turn(self, events: pl.DataFrame) -> pl.DataFrame:
        return events.join(self._turns, on="turn", how="left", maintain_order="left")

    def housed(self, homeless: Frames) -> Frames:
        """The frames with a session; where nothing tells it, one of their own."""
        events = self._by_turn(homeless["events"])
        own = pl.concat_str(pl.lit("(unrecorded "), (SOURCE_OF + 1).cast(pl.String), pl.lit(")"))
        found = events.join(self._near, on="source", how="left", maintain_order="left").select(
            "event", session=pl.coalesce("of_turn", "of_file", own)
        )
        return {
            name: frame
            if name == "tables"
            else frame.drop("session").join(found, on="event", how="left", maintain_order="left").select(frame.columns)
            for name, frame in homeless.items()
        }
