"""One event id stands on two events that differ.

What it says: an id that was used before came again with other content (random padding apart).
Why it matters: a consumer that drops repeats by id drops this event: the end of a call, or a whole result, is lost.
Bad:
    turn
    item c1 get_order {"id":"ord_204418"}
    event {"type":"agent.session.turn.item.added","event_id":"evt_4","session_id":"s1","turn_id":"t1","output_index":1,"item":{"type":"function_call","id":"fc_c2","call_id":"c2","name":"get_order","arguments":{"id":"ord_9"},"status":"in_progress","turn_id":"t1"}}
    end
Good:
    turn
    item c1 get_order {"id":"ord_204418"}
    again
    end
Blind spots: ids are compared within one session only.
"""  # noqa: E501 - a wire line is one line

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """One hit for each later event under a used id."""
    reused = trace.events.filter(pl.col("copy") == "reused").sort("event")
    if reused.is_empty():
        return hits(())
    firsts = trace.events.filter(pl.col("event_id").is_in(reused["event_id"].implode()), pl.col("copy").is_null())
    first = firsts.sort("event").unique(["session", "event_id"], keep="first", maintain_order=True)
    rows = reused.join(
        first.select("session", "event_id", first="event", was="type"),
        on=["session", "event_id"],
        how="left",
        nulls_equal=True,
    )
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "event": row["event"],
            "pointer": "/event_id" if (row["type"] or "").startswith("agent.") else "",
            "keyword": "event_id",
            "message": f"The event id {row['event_id']} of {row['type']} was used before by "
            f"{row['was'] or 'another event'}, and the contents differ.",
            "hint": "Do not drop the later event as a repeat; let the sender number its events anew.",
            "related": [place(row["first"], "", "first use")] if row["first"] is not None else None,
        }
        for row in rows.sort("event").iter_rows(named=True)
    )
