"""Records are missing from the log.

What it says: a gap in the numbers of the events, calls and messages that were begun and never shown as finished in a
turn that completed, a recording that begins in the middle of its session, results of calls that it does not hold,
replies that ended with calls in a session that shows none, or a last page that says there are more. Once per session
and kind, with the count.
Why it matters: what is missing cannot be audited, and what hangs on it (a call, a table, a result) looks wrong.
Bad:
    tool get_order {"type":"object"}
    turn
    item c1 get_order {}
    end
Good:
    tool get_order {"type":"object"}
    turn
    item c1 get_order {}
    done c1
    end
Blind spots: logs without numbers show no gap. Recorders that leave out events on purpose (deltas) leave gaps too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import polars as pl

from analyzer.rules.debts import orphans
from analyzer.rules.hits import hits
from analyzer.rules.order import leaps, record_of
from analyzer.rules.sightings import staged
from analyzer.trace import Trace, of_rows
from analyzer.visible import visible

_NOTHING = pl.DataFrame(schema={"session": pl.String, "turn": pl.String, "event": pl.Int64, "name": pl.String})
# Session, event, kind, message.
_Missing = Iterator[tuple[str | None, int, str, str]]


def check(trace: Trace) -> pl.DataFrame:
    """Gaps, unfinished items, missing beginnings, missing pages and calls that were not captured."""
    late = _late(trace)
    begun, paged = chain(_gaps(trace), _unfinished(trace), _begun_late(late)), chain(_pages(trace), _uncaptured(trace))
    kinds = chain(begun, _calls(trace, late), paged)
    return hits(
        {
            "session": session,
            "event": event,
            "pointer": "",
            "keyword": kind,
            "message": message,
            "hint": "Fetch what is missing (items pages, the other files of the session) and audit them together.",
        }
        for session, event, kind, message in kinds
    )


def _gaps(trace: Trace) -> _Missing:
    for session, event, number, step, missing in _added(leaps(trace)).iter_rows():
        last = number - step
        yield session, event, "gap", f"{missing} numbers are missing, the first after {last}: the next is {number}."


@of_rows
def _added(gaps: pl.DataFrame) -> pl.DataFrame:
    by_session = gaps.sort("event").group_by("session", maintain_order=True)
    # Numbers of a hostile log leap so far that the sum of the gaps is no number of 64 bits.
    return by_session.agg(pl.first("event", "number", "step"), pl.col("missing").cast(pl.Int128).sum())


def _unfinished(trace: Trace) -> _Missing:
    begun = pl.concat([_begun_calls(trace), _begun_messages(trace)])
    if begun.is_empty():
        return
    completed = trace.turns.filter(pl.col("status") == "completed").select("session", "turn")
    added = trace.events.filter(pl.col("event").is_in(begun["event"].implode())).filter(
        pl.col("type").str.ends_with("item.added")
    )
    items = (
        begun.join(completed, on=["session", "turn"], how="semi")
        .filter(pl.col("event").is_in(added["event"].implode()))
        .sort("event")
        .group_by("session", maintain_order=True)
        .agg(pl.first("event", "name"), count=pl.len())
    )
    for session, event, name, count in items.iter_rows():
        more = f" and {count - 1} more" if count > 1 else ""
        said = f"Begun, and never shown as finished though the turn completed: {name or 'a call without an id'}{more}."
        yield session, event, "unfinished", said


def _begun_calls(trace: Trace) -> pl.DataFrame:
    """Calls of which the model's item was never shown as done: `session, turn, event, name`."""
    items, done = (staged(trace, "call_sightings", stage).select("call", "event") for stage in ("item", "done"))
    opened = items.filter(~items["call"].is_in(done["call"].implode()))
    if opened.is_empty():
        return _NOTHING
    last = opened.group_by("call").agg(pl.max("event"))
    calls = trace.calls.filter(pl.col("call").is_in(last["call"].drop_nulls().implode()))
    name = pl.coalesce("call_id", "item_id").alias("name")
    return calls.select("session", "turn", "call", name).join(last, on="call").select(list(_NOTHING.columns))


def _begun_messages(trace: Trace) -> pl.DataFrame:
    """The same of messages of the model that were shown in progress only."""
    messages = trace.messages
    begun = messages.filter((messages["status"] == "in_progress") & (messages["role"] == "assistant"))
    if begun.is_empty():
        return _NOTHING
    ended = messages.filter(messages["status"] != "in_progress").select("session", "item_id")
    left = begun.filter(pl.col("item_id").is_not_null()).join(ended, on=["session", "item_id"], how="anti")
    return left.select("session", "turn", "event", name="item_id").unique(["session", "name"], keep="last")


def _late(trace: Trace) -> pl.DataFrame:
    """The sessions that begin with an event, recorded without it: session, first_event."""
    late = trace.sessions.filter(~trace.sessions["from_start"] & trace.sessions["session"].is_not_null())
    late = late.select("session", "first_event")
    if late.is_empty():
        return late
    events = trace.events.filter(pl.col("session").is_in(late["session"].implode()))
    # Where the order of several files is a guess, the beginning may stand in any of them.
    begun = events.filter(pl.col("type").str.ends_with("session.created")).select("session").unique()
    # Other wires have no event that begins a session.
    stream = events.filter(pl.col("type").str.starts_with("agent.session.")).select("session").unique()
    return late.join(begun, on="session", how="anti").join(stream, on="session", how="semi").sort("first_event")


def _begun_late(late: pl.DataFrame) -> _Missing:
    for session, event in late.iter_rows():
        said = "The recording begins in the middle of the session: what came before is not known."
        yield session, event, "start", said


def _calls(trace: Trace, late: pl.DataFrame) -> _Missing:
    for session, event, name, count in _alone(orphans(trace), late).iter_rows():
        more = f" and {count - 1} more" if count > 1 else ""
        said = f"The session holds no call for its results {visible(name)}{more}, nor is its beginning recorded."
        yield session, event, "calls", said


@of_rows
def _alone(orphans: pl.DataFrame, late: pl.DataFrame) -> pl.DataFrame:
    # Where the beginning is recorded there is no such call (CALL005); where an event should begin it, that is told.
    rows = orphans.filter(~pl.col("told")).join(late, on="session", how="anti", maintain_order="left")
    return rows.group_by("session", maintain_order=True).agg(pl.first("event", "call_id"), count=pl.len())


def _pages(trace: Trace) -> _Missing:
    if not trace.holds("faults.fault=more_pages"):
        return
    paged = trace.events.filter(pl.col("pointer").str.contains("/data/", literal=True))
    last = paged.group_by("session").agg(last=record_of("event").max())
    pages = (
        trace.faults.filter(pl.col("fault") == "more_pages")
        .join(last, on="session", how="left", nulls_equal=True)
        .filter(pl.col("last").is_null() | (record_of("event") >= pl.col("last")))
        .sort("event")
        .group_by("session", maintain_order=True)
        .agg(pl.last("event"))
    )
    for session, event in pages.iter_rows():
        said = "The last page of a list says that there are more, and they are not in the log."
        yield session, event, "pages", said


def _uncaptured(trace: Trace) -> _Missing:
    told = trace.faults.filter(trace.faults["fault"] == "calls_uncaptured")
    if told.is_empty():
        return
    # What spans leave out may stand in their events, or in the spans of the tools.
    left = told.join(trace.calls.select("session").unique(), on="session", how="anti", nulls_equal=True)
    by_session = left.sort("event").group_by("session", maintain_order=True).agg(pl.first("event"), count=pl.len())
    for session, event, count in by_session.iter_rows():
        said = "A reply" if count == 1 else f"{count} replies"
        yield session, event, "calls", f"{said} ended with calls of tools, and the log holds none of them."
