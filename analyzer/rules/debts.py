"""Who owes a result: tools that need not be waited for, and what a log can prove about pending calls."""

from __future__ import annotations

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS
from analyzer.rules.order import record_of
from analyzer.rules.sightings import staged
from analyzer.trace import Trace, of_rows, shared

#: The wire on which only a required action is a debt.
ACTIONS = "openai-agents-api"
# Wires whose requests hold all that was said before.
_RESENT = ("openai-chat", "anthropic-messages", "gemini", "bedrock", "ollama")


@shared
def async_tools(trace: Trace) -> pl.DataFrame:
    """Session and key of the tools that are declared asynchronous: their calls may stay open."""
    return trace.offers.filter(trace.offers["async"]).select("session", "tool").unique()


def unread(trace: Trace) -> pl.Expr:
    """Whether a record of the file of `event` could not be read: what seems to be missing may stand in it."""
    broken = trace.sources.filter(pl.col("unreadable") > 0)["source"]
    return (pl.col("event") // (1 << RECORD_BITS + PART_BITS)).is_in(broken.implode())


@shared
def orphans(trace: Trace) -> pl.DataFrame:
    """The results without a call: session, turn, result, event, call_id, seq, unread, told.

    `call_id` as it was sent, or what pairs the two where it names no call. `told` where their session or turn is
    recorded from its beginning: else the call may stand in what is not recorded.
    """
    return _orphans(trace.results.filter(trace.results["call"].is_null()), trace)


@of_rows
def _orphans(alone: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    whole = trace.sessions.filter(trace.sessions["from_start"])["session"]
    begun = trace.events.filter(trace.events["type"].str.ends_with("turn.created"))
    turns = begun.select("session", "turn", begun=True).unique()
    return (
        alone.filter(pl.col("pair_id").str.strip_chars() != "")
        # An item of this wire that names no call is known by its own id alone (CALL003).
        .filter(pl.col("call_id").is_not_null() | (pl.col("wire") != ACTIONS))
        .select(
            *("session", "turn", "result", "event", "seq"),
            call_id=pl.coalesce("call_id", "pair_id"),
            unread=unread(trace),
        )
        .join(turns, on=["session", "turn"], how="left", maintain_order="left")
        .with_columns(told=pl.col("session").is_in(whole.implode()) | pl.col("begun").fill_null(value=False))
        .drop("begun")
        .sort("result")
    )


@shared
def snapshots(trace: Trace) -> pl.DataFrame:
    """The events that list what is pending: session, seq."""
    states = trace.session_states
    return states.filter(states["pending"].is_not_null()).select("session", "seq").sort("seq")


def no_longer_pending(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Those of the calls that a snapshot after their last listing as a required action leaves out: call, gone."""
    shown = staged(trace, "call_sightings", "action").select("session", "call", "seq")
    listed = shown.filter(pl.col("call").is_in(calls["call"].implode())).group_by("session", "call").agg(pl.max("seq"))
    here = snapshots(trace).filter(pl.col("session").is_in(calls["session"].unique().implode()))
    last = here.group_by("session").agg(last=pl.max("seq"))
    return listed.join(last, on="session").select("call", gone=pl.col("last") > pl.col("seq")).filter("gone")


def _sent_without(trace: Trace, calls: pl.DataFrame) -> pl.Series:
    """Those of the calls that the model was asked to go on without: a request holds them, or results of their reply."""
    here = pl.col("session").is_in(calls["session"].unique().implode())
    # A result that has the id of two calls answers either of them.
    answers = trace.result_sightings.select("session", "pair_id").unique()
    calls = calls.join(answers, on=["session", "pair_id"], how="anti", maintain_order="left")
    asked = trace.events.filter(trace.events["kind"] == "request").filter(here)
    requests = asked.select("session", record=record_of("event")).unique()
    if requests.is_empty():
        return pl.Series(dtype=pl.Int64)
    resent = staged(trace, "call_sightings", "history").filter(here, pl.col("wire") != ACTIONS)
    held = (
        resent.filter(pl.col("call").is_in(calls["call"].implode()))
        .select("call", "session", record=record_of("event"))
        .join(requests, on=["session", "record"], how="semi")
    )
    told = trace.result_sightings.filter(here, pl.col("stage").is_in(["message", "post", "history"]))
    sent = (
        told.select("session", "pair_id", "seq", record=record_of("event"))
        .join(requests, on=["session", "record"], how="semi")
        .group_by("session", "pair_id")  # one id may stand on very many calls and results
        .agg(pl.max("seq"))
    )
    answered = (
        trace.calls.filter(here)
        .select("session", "pair_id", "reply")
        .join(sent, on=["session", "pair_id"])
        .group_by("session", "reply")
        .agg(sent=pl.max("seq"))
    )
    siblings = calls.filter(pl.col("wire") != ACTIONS).join(answered, on=["session", "reply"])
    # Ids of replies are given twice by some: a result that was sent before the call says nothing of it.
    return pl.concat([held["call"], siblings.filter(pl.col("sent") > pl.col("seq"))["call"]]).unique()


def went_on(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """The calls, each with what shows that its session went on without a result.

    Adds `ended` (status of its turn, null while it is open), `gone` (a later snapshot no longer lists it), `later` (in
    its turn came another reply or a message of the assistant) and `after` (in its session came any reply or message, or
    a request that holds the call, or the results of its reply, without its own).
    """
    here = pl.col("session").is_in(calls["session"].unique().implode())
    turns = trace.turns.filter(here, pl.col("until").is_not_null()).select("session", "turn", ended="status")
    # A message that is written in several records begins with the first of them.
    begins = pl.when(pl.col("item_id").is_not_null()).then(pl.col("seq").min().over("session", "turn", "item_id"))
    said = trace.messages.filter(here).select("session", "turn", "role", pl.coalesce(begins, "seq").alias("seq"))
    # A reply begins with its first call, so one that begins after a call's last showing is another one.
    made = trace.calls.select("session", "turn", "reply", "seq").filter(here)
    replies = made.group_by("session", "turn", "reply").agg(pl.min("seq")).drop("reply")
    by_model = pl.col("seq").filter(pl.col("role") != "user")
    in_turn = (
        pl.concat([said, replies.select("session", "turn", pl.lit("reply").alias("role"), "seq")])
        .group_by("session", "turn")
        .agg(last_in_turn=by_model.max(), last=pl.max("seq"))
        .with_columns(last_in_session=pl.col("last").max().over("session"))
    )
    in_session = in_turn.select("session", "last_in_session").unique()
    # Where the order of several files is a guess, nothing is known to have come later.
    order = trace.sessions.filter(here).select("session", "order")
    proved = (pl.col("order") != "files").fill_null(value=True)
    return (
        calls.join(order, on="session", how="left", maintain_order="left")
        .join(turns, on=["session", "turn"], how="left", maintain_order="left")
        .join(no_longer_pending(trace, calls), on="call", how="left", maintain_order="left")
        .join(
            in_turn.select("session", "turn", "last_in_turn"),
            on=["session", "turn"],
            how="left",
            maintain_order="left",
            nulls_equal=True,
        )
        .join(in_session, on="session", how="left", maintain_order="left")
        .with_columns(
            gone=proved & pl.col("gone").fill_null(value=False),
            later=proved & (pl.col("last_in_turn") > pl.col("last_seq")).fill_null(value=False),
            after=(proved & (pl.col("last_in_session") > pl.col("last_seq")).fill_null(value=False))
            | pl.col("call").is_in(_sent_without(trace, calls).implode()),
        )
        .drop("last_in_turn", "last_in_session", "order")
    )


def left_out(trace: Trace, calls: pl.DataFrame) -> pl.Series:
    """Those of the calls that nothing of what was sent on holds, on wires where each request resends the history.

    A later request leaves their whole reply out, or of the session nothing but replies is recorded.
    """
    calls = calls.filter(pl.col("wire").is_in(_RESENT))
    if calls.is_empty():
        return pl.Series(dtype=pl.Int64)
    here = pl.col("session").is_in(calls["session"].unique().implode())
    asked = trace.events.filter(trace.events["kind"] == "request").filter(here)
    last = asked.group_by("session").agg(asked=pl.max("seq"))
    resent = staged(trace, "call_sightings", "history").filter(here)["call"].unique()
    made = trace.calls.filter(here, pl.col("call").is_in(resent.implode()))
    told = made.select("session", "reply").unique()
    gone = calls.join(told, on=["session", "reply"], how="anti").join(last, on="session")
    sent = pl.concat(
        [
            asked.select("session"),
            trace.result_sightings.filter(here).select("session"),
            trace.messages.filter(here, pl.col("role") != "assistant").select("session"),
        ]
    )
    alone = calls.join(sent.unique(), on="session", how="anti")
    return pl.concat([gone.filter(pl.col("asked") > pl.col("last_seq"))["call"], alone["call"]])
