"""One pass over a large session: the order of its events, where it is cut, and what hangs together across the cuts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analyzer.auditing.windows.cuts import cuts_of
from analyzer.auditing.windows.links import Links, Windows, ghosts_of, links_of
from analyzer.auditing.windows.seats import Fetch, Seats, rows_of, seats_of
from analyzer.auditing.windows.seen import SMALL, Seen, hashed
from analyzer.auditing.windows.shelf import Shelf
from analyzer.frames import RECORDED, Frames
from analyzer.read.spilled.spill import Large
from analyzer.replay.state import sessions_of, turns_of

_STOPPED = ("failed", "cancelled")


@dataclass(frozen=True)
class Index:
    """What the windows of a session need to know of it."""

    seats: Seats
    windows: Windows
    links: Links
    ghosts: pl.DataFrame
    """`event, target`: events of which a window needs to know where they stand."""
    small: Frames
    """SMALL with `seq`, without rows of redelivered events."""
    tables: pl.DataFrame
    sessions: pl.DataFrame
    """SESSIONS of the whole session."""
    turns: pl.DataFrame
    ends: pl.DataFrame
    """`session, seq, time` of two events that bound all of them."""
    troubled: bool
    """Whether something went wrong or was cut off anywhere."""

    def last_status(self) -> pl.Series:
        """The event of the last state that names a status."""
        states = self.small["session_states"]
        return states.filter(pl.col("status").is_not_null()).sort("seq", "event").tail(1)["event"]


def index_of(whole: Large, fetch: Fetch, sources: pl.DataFrame, skew: float, folder: Path) -> Index:
    """The index of a session; `sources` are SOURCES, `skew` the seconds that times may go back.

    What takes room meanwhile is written into the folder.
    """
    seen = Seen(Shelf(folder))
    for name, rows in whole.frames():
        seen.take(name, rows)
    seats, events = seats_of(whole, seen.all_events(), fetch, sources, skew)
    redelivered = seats.copies.filter(pl.col("copy") == "redelivered")["event"].implode()
    small = {}
    for name in SMALL:
        rows = pl.concat([RECORDED[name].to_frame(), *seen.small[name]]).sort("event", maintain_order=True)
        small[name] = seats.seated(rows.filter(~pl.col("event").is_in(redelivered)))
    sessions, turns = _stated(whole, seats, small, events, seen)
    time_ends = _ends(whole, events)
    events = events.drop("time")
    keyed = seen.keyed(seats)
    weights = seen.weights(events)
    windows = Windows(seats, cuts_of(events, keyed, weights))
    lying = events.filter(pl.col("turn").is_not_null()).select("turn", "seq")
    lying = lying.select("turn", target=windows.owners(lying["seq"])).unique()
    del events
    turn_ends = turns.select(hashed("turn", 4), event="end_event").drop_nulls()
    turn_states = small["turn_states"]
    return Index(
        seats=seats,
        windows=windows,
        links=links_of(windows, keyed, weights),
        ghosts=ghosts_of(windows, small, lying, pl.concat([turn_ends, *seen.begun])),
        small=small,
        tables=pl.concat([RECORDED["tables"].to_frame(), *seen.tables]).sort("table"),
        sessions=sessions,
        turns=turns,
        ends=time_ends,
        troubled=seen.errors or small["summaries"].height > 0 or turn_states["status"].is_in(_STOPPED).any(),
    )


def _ends(whole: Large, events: pl.DataFrame) -> pl.DataFrame:
    times = events.select(pl.col("time").min().alias("since"), pl.col("time").max().alias("until"))
    last = pl.lit(events["seq"].max(), pl.Int64)
    sides = (times.select(seq=last, time=name) for name in ("since", "until"))
    return pl.concat(sides).select(pl.lit(whole.session, pl.String).alias("session"), "seq", "time")


def _stated(
    whole: Large, seats: Seats, small: Frames, events: pl.DataFrame, seen: Seen
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """SESSIONS and TURNS of the whole session."""
    session = pl.lit(whole.session, pl.String).alias("session")
    first = events.filter(pl.col("seq") == 0)["event"]
    start = rows_of(whole, first).with_columns(seq=pl.lit(0, pl.Int64), order=pl.lit(seats.order, pl.String))
    calls = pl.DataFrame({"wire": sorted(seen.wires)}, schema={"wire": pl.String}).with_columns(session)
    sessions = sessions_of(start, small["session_states"], calls).with_columns(
        first_event=pl.lit(seats.events.min(), pl.Int64), events=pl.lit(seats.events.len(), pl.Int64)
    )
    names = pl.concat(seen.turn_names).unique().with_columns(key=hashed("turn", 4))
    since = events.filter(pl.col("turn").is_not_null()).group_by(key="turn").agg(pl.col("seq").min())
    begun = since.join(names, on="key").sort("seq").with_columns(session, event=pl.lit(0, pl.Int64))
    return sessions, turns_of(begun, small["turn_states"])
