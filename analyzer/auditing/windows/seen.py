"""What is kept of the rows of a large session while they are gone through once."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from analyzer.auditing.windows.seats import Seats
from analyzer.auditing.windows.shelf import Shelf
from analyzer.findings.kept import anew
from analyzer.frames import RECORDED
from analyzer.read.spilled import large
from analyzer.read.spilled.large import sizes_of
from analyzer.replay.place import again_key

SHOWN = ("call_sightings", "result_sightings")
BIG = (*SHOWN, "messages")
"""Frames of which a window has its own rows and those that hang together with them."""
SMALL = ("session_states", "turn_states", "showings", "approvals", "gates", "summaries")
"""Frames that are held of the whole session."""
KEYS = ("pair", "item", "idempotency", "turn")
"""What showings hang together by, as hashes: what results share with their calls, items, keys of posts, turns."""
_KINDS = pl.Enum(["broken", "whole"])


class Keyed(NamedTuple):
    """Rows by what they hang together with."""

    shown: pl.DataFrame
    """The showings of calls and results: KEYS, `event`, `seq`, `call` (whether it is one), `posted`."""
    said: pl.DataFrame
    """The messages: `key` (equal ones share it), `item`, `turn`, `event`, `seq`, `other` (no user's), `assistant`."""


class Seen:
    """What is kept of the rows of a session while they are gone through, that of showings and messages on disk."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._events = [
            pl.DataFrame(
                schema={
                    **{name: RECORDED["events"][name] for name in ("event", "source", "number", "time")},
                    "kind": _KINDS,
                    "id": pl.UInt64,
                    "turn": pl.UInt64,
                }
            )
        ]
        self.tables: list[pl.DataFrame] = []
        self.small: dict[str, list[pl.DataFrame]] = {name: [] for name in SMALL}
        self.turn_names: list[pl.DataFrame] = [pl.DataFrame(schema={"turn": pl.String})]
        self.wires: set[str] = set()
        self.errors = False
        self.begun = [pl.DataFrame(schema={"turn": pl.UInt64, "event": pl.Int64})]
        shelf.put("sizes", pl.DataFrame(schema={"event": pl.Int64, "bytes": pl.Int64}))
        keys = dict.fromkeys(KEYS, pl.UInt64)
        kinds = {"call": pl.Boolean, "posted": pl.Boolean}
        shelf.put("shown", pl.DataFrame(schema={"event": pl.Int64, **keys, **kinds}))
        said = {"event": pl.Int64, "key": pl.UInt64, "item": pl.UInt64, "turn": pl.UInt64}
        shelf.put("said", pl.DataFrame(schema={**said, "other": pl.Boolean, "assistant": pl.Boolean}))

    def all_events(self) -> pl.DataFrame:
        """`event, source, number, time, kind, id, turn` of all events; they are not held any longer."""
        events = pl.concat(self._events)
        self._events.clear()
        return events

    def take(self, name: str, rows: pl.DataFrame) -> None:
        """Take some rows of a recorded frame."""
        if name == "tables":
            self.tables.append(rows)
        elif name == "events":
            self._take_events(rows)
        elif name in SMALL:
            self.small[name].append(_alike(anew(rows)) if name == "session_states" else anew(rows))
        if name in BIG:
            self._shelf.put("sizes", sizes_of(name, rows).group_by("event").agg(pl.col("bytes").sum()))
            if name == "messages":
                self._shelf.put("said", rows.select("event", **_message_keys()))
            else:
                self.wires.update(rows["wire"].drop_nulls().unique() if name == "call_sightings" else ())
                kinds = {
                    "call": pl.lit(name == "call_sightings"),
                    "posted": ~pl.col("stage").is_in(["echo", "history"]),
                }
                self._shelf.put("shown", rows.select("event", **keys_of_rows(name), **kinds))

    def _take_events(self, rows: pl.DataFrame) -> None:
        self.errors |= (rows["kind"] == "error").any()
        kind = pl.when(pl.col("kind") == "broken").then(pl.lit("broken")).otherwise(pl.lit("whole"))
        columns = ("event", "source", "number", "time")
        self._events.append(
            rows.select(
                *columns,
                kind=kind.cast(_KINDS),
                id=pl.coalesce(hashed("event_id", 5), again_key()),
                turn=hashed("turn", 4),
            )
        )
        self.turn_names.append(anew(rows.select("turn").drop_nulls().unique()))
        begun = rows.filter(pl.col("type").str.ends_with("turn.created"))
        self.begun.append(begun.select(hashed("turn", 4), "event").drop_nulls())

    def weights(self, events: pl.DataFrame) -> pl.Series:
        """What the events weigh up to each, in the order in which they happened."""
        sizes = self._shelf.whole("sizes").group_by("event").agg(pl.col("bytes").sum())
        found = events.select("event").join(sizes, on="event", how="left", maintain_order="left")["bytes"]
        # Texts are held twice while they are judged; a call or a result that breaks is held as a finding, too.
        weight = 1 + pl.col("bytes").is_not_null() + 2 * pl.col("bytes").fill_null(0) / large.HEAVY
        return events.select("seq", found).sort("seq").select(weight.cum_sum()).to_series()

    def keyed(self, seats: Seats) -> Keyed:
        """The rows by what they hang together with."""
        return Keyed(*(seats.seated(self._shelf.whole(name)) for name in ("shown", "said")))


def _alike(states: pl.DataFrame) -> pl.DataFrame:
    """SESSION_STATES whose equal instructions are held once: each state says them again."""
    texts = states.select("instructions", same="instructions").unique("instructions")
    same = states.select("instructions").join(
        texts, on="instructions", how="left", nulls_equal=True, maintain_order="left"
    )
    return states.with_columns(same["same"].alias("instructions"))


def keys_of_rows(name: str) -> dict[str, pl.Expr]:
    """KEYS of the rows of a frame of showings."""
    # What names no id is known by its turn alone.
    pair = pl.coalesce(hashed("pair_id", 1), pl.col("turn").hash(6))
    key = hashed("key", 3) if name == "result_sightings" else pl.lit(None, pl.UInt64)
    return {"pair": pair, "item": hashed("item_id", 2), "idempotency": key, "turn": hashed("turn", 4)}


def _message_keys() -> dict[str, pl.Expr]:
    role = pl.col("role")
    return {
        "key": pl.struct("item_id", "text").hash(),
        "item": hashed("item_id", 2),
        "turn": hashed("turn", 4),
        "other": (role != "user").fill_null(value=False),
        "assistant": (role == "assistant").fill_null(value=False),
    }


def hashed(column: str, seed: int) -> pl.Expr:
    """A text as a number, null where it is null; equal in all pieces."""
    return pl.when(pl.col(column).is_not_null()).then(pl.col(column).hash(seed))
