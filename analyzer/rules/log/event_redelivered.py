"""An event was delivered more than once.

What it says: how many events of the session came again with the same id and the same content, as after a reconnect;
where events have no ids, how many stand in records that were written again, byte for byte and with the same time. Of a
session that shows calls which another session made: with which, and how many of them have the same ids and arguments.
Why it matters: the copies are folded before anything else is looked at. A consumer that does not fold them runs a call
twice. Calls that are recorded in two sessions are not folded: they are judged and counted twice.
Bad:
    turn
    item c1 get_order {"id":"ord_204418"}
    again
    action c1 get_order {"id":"ord_204418"}
    result c1 ok {}
    end
Good:
    turn
    call c1 get_order {"id":"ord_204418"}
    result c1 ok {}
    end
Blind spots: without an id or a time finer than seconds, and in the pieces of a stream, what was recorded twice cannot
be told from what happened twice. Copies that differ in a byte are known by the ids of calls alone: not where calls have
none, hardly any arguments, or short ids that begin anew in each session and no time.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.replay.retries import shown_again
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """One hit for each session that has redelivered events."""
    copies = trace.events.filter(pl.col("copy") == "redelivered").sort("event")
    counted = copies.group_by("session", maintain_order=True).agg(pl.first("event", "event_id", "type"), count=pl.len())
    if counted.is_empty():
        return hits(())
    firsts = trace.events.filter(pl.col("event_id").is_in(counted["event_id"].implode()), pl.col("copy").is_null())
    first = firsts.sort("event").unique(["session", "event_id"], keep="first", maintain_order=True)
    rows = counted.join(
        first.select("session", "event_id", first="event"), on=["session", "event_id"], how="left", nulls_equal=True
    )
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": "",
            **(_by_id(row) if row["event_id"] is not None else _by_time(row)),
            "related": [place(row["first"], "", "first delivery")] if row["first"] is not None else None,
        }
        for row in rows.sort("event").iter_rows(named=True)
    )


def check_across(trace: Trace) -> pl.DataFrame:
    """One hit for each session and the earlier one that shows calls of it, too."""
    return hits(
        {
            **{name: row[name] for name in ("session", "event", "pointer")},
            "keyword": "session",
            "confidence": "likely",
            "message": f"{_calls(row['count'])} recorded in session {row['home']}, too, with the same "
            f"{'id' if row['count'] == 1 else 'ids'} and arguments; they are not folded, and count twice.",
            "hint": "Give a log that was written twice, or that stands beside an older copy of it, once; files that go "
            "on with one another, in the order in which they were written.",
            "related": [place(row["home_event"], row["home_pointer"], "first recorded", row["call_id"])],
        }
        for row in shown_again(trace.retries, trace.events).iter_rows(named=True)
    )


def _calls(count: int) -> str:
    return "One call is" if count == 1 else f"{count} calls are"


def _by_id(row: dict[str, Any]) -> dict[str, str]:
    return {
        "keyword": "event_id",
        "message": f"{_events(row['count'])} delivered again with the same content, "
        f"the first being {row['event_id']} ({row['type']}); the copies are folded.",
        "hint": "Consumers must drop repeats by event id before they act on a call.",
    }


def _by_time(row: dict[str, Any]) -> dict[str, str]:
    return {
        "keyword": "time",
        "message": f"{_events(row['count'])} recorded again, byte for byte and at the same time, the first being of "
        f"type {row['type']}; the copies are folded.",
        "hint": "Look at what collects the log: a batch that it sends twice stands in the log twice.",
    }


def _events(count: int) -> str:
    return "One event was" if count == 1 else f"{count} events were"
