"""Sessions and turns, from what the wire says of them."""

from __future__ import annotations

import polars as pl

from analyzer.frames import SESSIONS, TURNS

_ENDED = ("completed", "failed", "cancelled")


def sessions_of(events: pl.DataFrame, states: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """SESSIONS; events that belong to no session are left out."""
    named = pl.col("session").is_not_null()
    runs = _runs(events).filter(named)
    seen = runs.group_by("session").agg(first_event=pl.col("event").min(), events=pl.col("events").sum())
    seen = seen.join(events.filter(named & (pl.col("seq") == 0)).select("session", "order", start="type"), on="session")
    last = (
        "agent",
        "agent_name",
        "model",
        "max_subagents",
        "parallel",
        "text_format",
        "instructions",
        "parent",
        "protocol",
    )
    said = (
        states.sort("session", "seq")
        .group_by("session")
        .agg(
            *(pl.col(name).drop_nulls().last() for name in last),
            last_status=pl.col("status").drop_nulls().last(),
            begins=pl.col("begins").any(),
        )
    )
    wires = calls.group_by("session").agg(wires=pl.col("wire").unique().sort().str.join(","))
    starts = pl.col("start").str.contains(
        r"\.created$|^request\.create$|^POST /agents/sessions$|^initialize$|^server/discover$"
        r"|^session_meta$|^thread\.started$"
    )
    # A stream begins with every response, turns and subagents begin in the middle, and so does a fork.
    starts &= ~pl.col("start").str.contains(r"(?:^response|turn|subagent)\.created$")
    starts = (starts | pl.col("begins")) & pl.col("parent").is_null()
    return (
        seen.join(said, on="session", how="left", maintain_order="left")
        .join(wires, on="session", how="left", maintain_order="left")
        .with_columns(from_start=starts.fill_null(value=False), wires=pl.col("wires").fill_null(""))
        .select(list(SESSIONS))
        .sort("first_event")
    )


def turns_of(events: pl.DataFrame, states: pl.DataFrame) -> pl.DataFrame:
    """TURNS, numbered in the order in which their first events happened."""
    named = pl.col("turn").is_not_null() & pl.col("session").is_not_null()
    seen = _runs(events).filter(named).group_by("session", "turn").agg(since=pl.col("seq").min())
    ended = pl.col("status").is_in(_ENDED)
    said = (
        states.sort("session", "seq")
        .group_by("session", "turn")
        .agg(
            pl.col("agent").drop_nulls().last(),
            pl.col("subagent").drop_nulls().last(),
            pl.col("error").drop_nulls().last(),
            status=pl.col("status").drop_nulls().last(),
            until=pl.col("seq").filter(ended).first(),
            end_event=pl.col("event").filter(ended).first(),
        )
    )
    return (
        seen.join(said, on=["session", "turn"], how="left")
        .sort("session", "since", "turn")
        .with_columns(ordinal=pl.int_range(pl.len(), dtype=pl.Int64).over("session"))
        .select(list(TURNS))
    )


def _runs(events: pl.DataFrame) -> pl.DataFrame:
    """The first event of each run of events of one session and turn, none of which is of an earlier `seq`.

    `events` says how many the run has.
    """
    same = [pl.col(name).eq_missing(pl.col(name).shift(1)) for name in ("session", "turn")]
    begins = ~pl.all_horizontal(*same, pl.col("seq") > pl.col("seq").shift(1))
    runs = events.select("session", "turn", "event", "seq", row=pl.int_range(pl.len())).filter(
        begins.fill_null(value=True)
    )
    return runs.with_columns(events=pl.col("row").shift(-1, fill_value=events.height) - pl.col("row"))


def running_versions(calls: pl.DataFrame, states: pl.DataFrame) -> pl.Series:
    """`running`: the version of the program that brought its own tools, at each call; null where none is named."""
    version = pl.col("agent").str.extract(r"/([0-9]{1,9}(?:\.[0-9]{1,9}){1,5})$")
    said = states.select("session", "seq", running=version).filter(pl.col("running").is_not_null()).sort("seq")
    if said.is_empty():
        return pl.Series("running", [None], dtype=pl.String).new_from_index(0, calls.height)
    at = calls.select("call", "session", "seq").sort("seq")
    found = at.join_asof(said, on="seq", by="session", strategy="backward", check_sortedness=False)
    return found.sort("call")["running"]
