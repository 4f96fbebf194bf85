"""Who owes a result: tools that need not be waited for, and what a log can prove about pending calls."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace

#: The wire on which only a required action is a debt.
ACTIONS = "openai-agents-api"


def async_tools(trace: Trace) -> pl.LazyFrame:
    """Session and key of the tools that are declared asynchronous: their calls may stay open."""
    return trace.offers.lazy().filter(pl.col("async")).select("session", "tool").unique()


def snapshots(trace: Trace) -> pl.LazyFrame:
    """The events that list what is pending: session, seq."""
    return trace.session_states.lazy().filter(pl.col("pending").is_not_null()).select("session", "seq").sort("seq")


def no_longer_pending(trace: Trace, calls: pl.LazyFrame) -> pl.LazyFrame:
    """Those of the calls that a snapshot after their last listing as a required action leaves out: call, gone."""
    shown = trace.call_sightings.lazy().filter(pl.col("stage") == "action").join(calls, on="call", how="semi")
    listed = shown.group_by("session", "call")
    last = snapshots(trace).group_by("session").agg(last=pl.max("seq"))
    return (
        listed.agg(pl.max("seq"))
        .join(last, on="session")
        .select("call", gone=pl.col("last") > pl.col("seq"))
        .filter("gone")
    )


def went_on(trace: Trace, calls: pl.LazyFrame) -> pl.LazyFrame:
    """The calls, each with what shows that its session went on without a result.

    Adds `ended` (status of its turn, null while it is open), `gone` (a later snapshot no longer lists it), `later` (in
    its turn came another reply or a message of the assistant) and `after` (in its session came any reply or message).
    """
    turns = trace.turns.lazy().filter(pl.col("until").is_not_null()).select("session", "turn", ended="status")
    gone = no_longer_pending(trace, calls)
    said = trace.messages.lazy().select("session", "turn", "role", "seq")
    # Replies are numbered, not ordered: a later one is another one that begins later.
    replies = (
        trace.calls.lazy().group_by("session", "turn", "reply").agg(pl.min("seq")).with_columns(role=pl.lit("reply"))
    )
    signs = pl.concat(
        [said.with_columns(reply=pl.lit(None, pl.Int64)), replies.select(*said.collect_schema(), "reply")]
    )
    mine = calls.select("session", "call", "last_seq", own_turn="turn", own_reply="reply").join(signs, on="session")
    past = mine.filter(
        pl.col("seq") > pl.col("last_seq"), (pl.col("reply") != pl.col("own_reply")).fill_null(value=True)
    )
    in_turn = pl.col("turn").eq_missing(pl.col("own_turn")) & (pl.col("role") != "user")
    moved = past.group_by("call").agg(later=in_turn.any(), after=pl.lit(value=True).any())
    return (
        calls.join(turns, on=["session", "turn"], how="left", maintain_order="left")
        .join(gone, on="call", how="left", maintain_order="left")
        .join(moved, on="call", how="left", maintain_order="left")
        .with_columns(pl.col("gone", "later", "after").fill_null(value=False))
    )
