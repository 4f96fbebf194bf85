"""Records are missing from the log.

What it says: a gap in the numbers of the events, calls that were begun and never shown as finished in a turn that
completed, a recording that begins in the middle of its session, or a last page that says there are more. Once per
session and kind, with the count.
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

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.order import numbered, record_of
from analyzer.rules.sentence import sentence
from analyzer.rules.sightings import staged
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Gaps, unfinished items, missing beginnings and missing pages."""
    kinds = pl.concat([_gaps(trace), _unfinished(trace), _begun_late(trace), _pages(trace)])
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": "",
            "keyword": row["kind"],
            "message": row["message"],
            "hint": "Fetch what is missing (items pages, the other files of the session) and audit them together.",
        }
        for row in kinds.iter_rows(named=True)
    )


def _gaps(trace: Trace) -> pl.DataFrame:
    events = numbered(trace)
    # Numbers may count the session's events or those of the whole file: a gap is one only if it is one in both.
    jumped = events.filter(events["step"] > 1)
    there = events.select("event", there=pl.col("number").diff().over("source")).filter(
        pl.col("event").is_in(jumped["event"].implode())
    )
    return (
        jumped.join(there, on="event", how="left", maintain_order="left")
        .with_columns(missing=pl.min_horizontal("step", "there") - 1)
        .filter(pl.col("missing") > 0)
        .group_by("session", maintain_order=True)
        .agg(pl.first("event", "number"), pl.sum("missing"), first=pl.first("missing"))
        .select(
            "session",
            "event",
            kind=pl.lit("gap"),
            message=sentence(
                "{} numbers are missing, the first after {}: the next is {}.",
                "missing",
                pl.col("number") - pl.col("first") - 1,
                "number",
            ),
        )
    )


def _unfinished(trace: Trace) -> pl.DataFrame:
    done = staged(trace, "call_sightings", "done")
    items = staged(trace, "call_sightings", "item")
    opened = (
        items.filter(~items["call"].is_in(done["call"].implode())).group_by("call").agg(pl.max("event"))
        if items.height
        else items.select("call", "event")
    )
    added = (
        trace.events.filter(pl.col("event").is_in(opened["event"].implode())) if opened.height else trace.events.clear()
    )
    begun = opened.join(added.filter(pl.col("type").str.ends_with("item.added")), on="event", how="semi")
    completed = trace.turns.filter(pl.col("status") == "completed").select("session", "turn")
    return (
        trace.calls.filter(pl.col("call").is_in(begun["call"].implode()))
        .join(completed, on=["session", "turn"], how="semi")
        .sort("call")
        .group_by("session", maintain_order=True)
        .agg(pl.first("event", "call_id", "item_id"), count=pl.len())
        .select(
            "session",
            "event",
            kind=pl.lit("unfinished"),
            message=sentence(
                "Begun, and never shown as finished though the turn completed: {}{}.",
                pl.coalesce("call_id", "item_id", pl.lit("a call without an id")),
                pl.when(pl.col("count") > 1).then(sentence(" and {} more", pl.col("count") - 1)).otherwise(pl.lit("")),
            ),
        )
    )


def _begun_late(trace: Trace) -> pl.DataFrame:
    late = trace.sessions.filter(~pl.col("from_start"), pl.col("session").is_not_null())
    events = (
        trace.events.filter(pl.col("session").is_in(late["session"].implode())) if late.height else trace.events.clear()
    )
    # Where the order of several files is a guess, the beginning may stand in any of them.
    begun = events.filter(pl.col("type").str.ends_with("session.created")).select("session").unique()
    # Other wires have no event that begins a session.
    stream = events.filter(pl.col("type").str.starts_with("agent.session.")).select("session").unique()
    return (
        late.join(begun, on="session", how="anti")
        .join(stream, on="session", how="semi")
        .sort("first_event")
        .select(
            "session",
            event="first_event",
            kind=pl.lit("start"),
            message=pl.lit("The recording begins in the middle of the session: what came before is not known."),
        )
    )


def _pages(trace: Trace) -> pl.DataFrame:
    events = trace.events if trace.holds("faults.fault=more_pages") else trace.events.clear()
    paged = events.filter(pl.col("pointer").str.contains("/data/", literal=True))
    last = paged.group_by("session").agg(last=record_of("event").max())
    return (
        trace.faults.filter(pl.col("fault") == "more_pages")
        .join(last, on="session", how="left", nulls_equal=True)
        .filter(pl.col("last").is_null() | (record_of("event") >= pl.col("last")))
        .sort("event")
        .group_by("session", maintain_order=True)
        .agg(pl.last("event"))
        .select(
            "session",
            "event",
            kind=pl.lit("pages"),
            message=pl.lit("The last page of a list says that there are more, and they are not in the log."),
        )
    )
