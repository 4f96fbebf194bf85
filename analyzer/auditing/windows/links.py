"""What hangs together across the cuts of a large session: rows that a window sees besides its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from analyzer.auditing.windows.seats import Seats
from analyzer.auditing.windows.seen import KEYS, Keyed
from analyzer.frames import Frames
from analyzer.read.spilled import large

EDGE = 256
"""Events on both sides of a cut whose calls both windows see."""
LAST_STATES = 2
"""States before a window that it sees whole: a request says all of its settings, also by what it leaves out, and a
response may follow it."""
MOST_LINKED = 50_000
"""Rows of one id that are followed from window to window."""

_EMPTY = pl.DataFrame(schema={"event": pl.Int64, "target": pl.Int64})
_ROOM = 8  # turns up to this part of a window are seen whole by all windows they lie in, and as much at a cut
_LEAST = 2  # events on both sides of a cut, however much they weigh


@dataclass(frozen=True)
class Windows:
    """Where the windows of a session begin and end."""

    seats: Seats
    cuts: list[int]
    """The `seq` at which each begins, and the end."""

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def span(self, window: int) -> tuple[int, int]:
        """The first `seq` of a window, and the last."""
        return self.cuts[window], self.cuts[window + 1] - 1

    def owners(self, seq: pl.Series) -> pl.Series:
        """The windows that some places lie in."""
        return (pl.Series(self.cuts, dtype=pl.Int64).search_sorted(seq, side="right").cast(pl.Int64) - 1).alias("own")

    def owners_of(self, events: pl.Series) -> pl.Series:
        """The windows that some events lie in."""
        return self.owners(self.seats.places(events))

    def every(self) -> pl.DataFrame:
        """`target`: all of them."""
        return pl.DataFrame({"target": range(len(self))}, schema={"target": pl.Int64})


@dataclass(frozen=True)
class Links:
    """What windows see besides their own."""

    events: pl.DataFrame
    """`event, target`: events of which a window sees rows."""
    pairs: pl.DataFrame
    """`pair, target`: which showings these are."""
    turns: pl.DataFrame
    """`turn, target`: and those of turns that are seen whole."""
    unlinked: int
    """Ids on so many rows that they are not followed."""


def links_of(windows: Windows, keyed: Keyed, weights: pl.Series) -> Links:
    """The links of a session, of which `weights` say what its events weigh up to each."""
    shown, said = (frame.with_columns(windows.owners(frame["seq"])) for frame in keyed)
    lying = {name: [shown.select("event", "own", key=name).drop_nulls()] for name in KEYS[:3]}
    lying["item"].append(said.select("event", "own", key="item").drop_nulls())
    across = [_across(pl.concat(lying.pop(name)), MOST_LINKED) for name in KEYS[:3]]
    by_id, unlinked = pl.concat([ids for ids, _ in across]).unique(), sum(many for _, many in across)
    turns = _whole_turns(pl.concat([frame.select("turn", "seq", "own") for frame in (shown, said)]), weights)
    near = [_near(shown, cut, window, weights) for window, cut in enumerate(windows.cuts[1:-1], 1)]
    pairs = [
        *(shown.join(by_id.rename({"key": name}), on=name).select("pair", "target") for name in KEYS[:3]),
        shown.join(turns, on="turn").select("pair", "target"),
        *near,
        *_last_calls(windows, shown),
    ]
    often = shown.group_by("pair").len().filter(pl.col("len") > MOST_LINKED)
    whole = pl.concat([each.select("pair", pl.col("target").cast(pl.Int64)) for each in pairs]).unique()
    before = _before(shown, whole)
    whole = pl.concat([whole, before]).unique().join(often, on="pair", how="anti")
    found = [
        shown.join(whole, on="pair").select("event", "target"),
        *(frame.join(turns, on="turn").select("event", "target") for frame in (shown, said)),
        said.join(by_id.rename({"key": "item"}), on="item").select("event", "target"),
        *_messages(windows, shown, said),
    ]
    return Links(_beside(windows, found), whole, turns, unlinked)


def _across(rows: pl.DataFrame, most: int) -> tuple[pl.DataFrame, int]:
    """The ids that lie in several windows, each with these, and how many are on too many rows to be followed."""
    spread = rows.group_by("key").agg(
        least=pl.col("own").min(), most=pl.col("own").max(), rows=pl.col("event").n_unique()
    )
    spread = spread.filter(pl.col("least") < pl.col("most"))
    followed = spread.filter(pl.col("rows") <= most).select("key")
    return rows.join(followed, on="key", how="semi").select("key", target="own").unique(), (
        spread.height - followed.height
    )


def _whole_turns(rows: pl.DataFrame, weights: pl.Series) -> pl.DataFrame:
    """`turn, target`: the turns that all windows see whole in which they lie, for they weigh little."""
    lying = rows.drop_nulls().unique(["turn", "seq"])
    alone = weights - weights.shift(fill_value=0.0)
    lying = lying.with_columns(alone.gather(lying["seq"]).alias("weight"))
    spread = lying.group_by("turn").agg(least=pl.col("own").min(), most=pl.col("own").max(), weight=pl.sum("weight"))
    whole = spread.filter(pl.col("least") < pl.col("most"), pl.col("weight") <= large.WINDOW // _ROOM)
    return lying.join(whole, on="turn", how="semi").select("turn", target="own").unique()


def _near(shown: pl.DataFrame, cut: int, window: int, weights: pl.Series) -> pl.DataFrame:
    """What is shown right before a window is of interest in it, and the other way round."""
    room = large.WINDOW // _ROOM
    since = min(max(weights.search_sorted(weights[cut - 1] - room), cut - EDGE), cut - _LEAST)
    until = max(min(weights.search_sorted(weights[cut - 1] + room), cut + EDGE), cut + _LEAST)
    near = shown.filter(pl.col("seq").is_between(since, until - 1))
    other = pl.when(pl.col("seq") < cut).then(pl.lit(window, pl.Int64)).otherwise(pl.lit(window - 1, pl.Int64))
    return near.select("pair", target=other)


def _before(shown: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """`pair, target`: the last results and calls before the calls that a window knows: these part replies."""
    shown = shown.select("pair", "item", "seq", "own", "call", "posted", pl.col("turn").fill_null(0))
    begun = shown.filter("call").sort("seq")
    known = begun.join(pairs, on="pair").select("turn", "seq", "target")
    own = begun.unique(["turn", "own"], keep="first", maintain_order=True).select("turn", "seq", target="own")
    calls = pl.concat([known, own]).sort("seq")
    results = shown.filter(~pl.col("call")).sort("seq").select("turn", "pair", "seq", "posted")
    found = [
        calls.join_asof(
            marks, on="seq", by="turn", strategy="backward", allow_exact_matches=False, check_sortedness=False
        )
        for marks in (
            results.filter("posted"),
            results.unique(["turn", "pair"], keep="first", maintain_order=True),
            begun.unique(["turn", "pair", "item"], keep="first", maintain_order=True),
        )
    ]
    return pl.concat([each.select("pair", "target") for each in found]).drop_nulls()


def _last_calls(windows: Windows, shown: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The last call of the session, for all windows, and of each turn, for those that it lies in."""
    calls = shown.filter("call").sort("seq")
    lying = shown.select("turn", target="own").unique()
    # What has no item refers to a call shown elsewhere, unless it is the first of its id.
    for begun in (
        calls.unique(["turn", "pair"], keep="first", maintain_order=True),
        calls.filter(pl.col("item").is_not_null()).unique(["turn", "pair", "item"], keep="first", maintain_order=True),
    ):
        yield begun.tail(1).select("pair").join(windows.every(), how="cross")
        last = begun.group_by("turn").agg(pl.col("pair").last()).drop_nulls()
        yield last.join(lying, on="turn").select("pair", "target")


def _messages(windows: Windows, shown: pl.DataFrame, said: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The last messages, as calls; and the first and the last of equal ones, for all windows that have one."""
    said = said.sort("seq")
    lying = pl.concat([frame.select("turn", target="own") for frame in (shown, said)]).drop_nulls().unique()
    for which in ("other", "assistant"):
        mine = said.filter(which)
        yield mine.tail(1).select("event").join(windows.every(), how="cross")
        last = mine.group_by("turn").agg(pl.col("event").last()).drop_nulls()
        yield last.join(lying, on="turn").select("event", "target")
    ends = said.group_by("key").agg(first=pl.col("event").min(), last=pl.col("event").max())
    ends = ends.filter(pl.col("first") < pl.col("last"))
    alike = said.select("key", target="own").unique()
    for end in ("first", "last"):
        yield ends.select("key", event=end).join(alike, on="key").select("event", "target")


def _beside(windows: Windows, found: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """`event, target` without the windows' own events."""
    links = pl.concat([_EMPTY, *(frame.select("event", pl.col("target").cast(pl.Int64)) for frame in found)]).unique()
    own = windows.owners_of(links["event"])
    return links.filter(own != links["target"]).sort("event", "target")


def ghosts_of(windows: Windows, small: Frames, lying: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """`event, target`: events of which a window has to know where they stand.

    Those are tables, the last states before it, what else is held of the whole session, and the begin and end of turns.
    `lying` are `turn, target`, the windows that turns lie in, `turns` are `turn, event` of the latter.
    """
    shown = small["showings"].sort("scope", "seq", "event")
    again = pl.col("table").eq_missing(pl.col("table").shift(1)) & (pl.col("scope") != "add")
    first = ~(again & (pl.col("scope") == pl.col("scope").shift(1)).fill_null(value=False))
    everywhere = [
        shown.filter(first).select("event"),
        *(small[name].select("event") for name in ("approvals", "gates", "summaries")),
    ]
    found = [frame.unique().join(windows.every(), how="cross") for frame in everywhere]
    whole = shown.filter(pl.col("scope") == "all").select("event", "seq").sort("seq")
    # It is asked whether a request says them.
    states = small["session_states"].select("event", "seq").sort("seq", "event")
    for window in range(len(windows)):
        since, until = windows.span(window)
        before = [rows.filter(pl.col("seq") < since).tail(most) for rows, most in ((whole, 1), (states, LAST_STATES))]
        near = [*before, whole.filter(pl.col("seq") > until).head(1)]
        found.append(pl.concat(near).select("event", target=pl.lit(window, pl.Int64)))
    return _beside(windows, [*found, turns.join(lying, on="turn")])
