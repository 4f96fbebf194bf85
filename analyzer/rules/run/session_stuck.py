"""The recording ends while the session waits for an action.

What it says: the last snapshot of the session says that an action is required, and how many calls it waits for.
Why it matters: nobody answers it. The handler is gone, or it answered somewhere else; the user sees nothing at all.
Bad:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {}
Good:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {}
    result c1 ok {}
    end
    idle
Blind spots: a recording that was stopped a moment too early looks the same. A server that failed to start leaves no
record that could be read here. Where a session lies in several files whose order is not proved nothing is said.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.sightings import staged
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Sessions whose last snapshot waits, unless its calls were answered after it."""
    states = trace.session_states.select("session", "seq", "event", "status", "pending")
    last = (
        states.filter(states["status"].is_not_null() & states["session"].is_not_null())
        .sort("seq", "event")
        .unique("session", keep="last", maintain_order=True)
        .filter(pl.col("status") == "requires_action")
        .join(trace.sessions.select("session", "order"), on="session", how="left", maintain_order="left")
        # Across files whose order is not proved, no snapshot is known to be the last.
        .filter((pl.col("order") != "files").fill_null(value=True))
        .select("session", "seq", "event", "pending")
    )
    if last.is_empty():
        return hits(())
    actions = staged(trace, "call_sightings", "action")
    listed = last.join(actions.select("event", "call", "call_id", "turn"), on="event")
    results = trace.results.filter(pl.col("call").is_in(listed["call"].drop_nulls().implode()))
    answered = results.select("call", answered="seq").drop_nulls().group_by("call").agg(pl.max("answered"))
    ended = trace.turns.select("session", "turn", ended="until")
    # A turn that ended after the snapshot waits for nothing any more.
    settled = pl.max_horizontal("answered", "ended")
    calls = (
        listed.join(answered, on="call", how="left")
        .join(ended, on=["session", "turn"], how="left")
        .sort("event", "call")
        .group_by("event", maintain_order=True)
        .agg(listed=pl.len(), waiting=pl.col("call_id").filter((settled <= pl.col("seq")).fill_null(value=True)))
    )
    # Approvals and connections are required actions too: what is no call still waits for somebody.
    decided = trace.approvals.filter(pl.col("stage") == "decision").select("session", decided="seq")
    later = decided.join(last, on="session").filter(pl.col("decided") > pl.col("seq")).group_by("event").len("later")
    others = pl.col("pending").fill_null(1) - pl.col("listed").fill_null(0) - pl.col("later").fill_null(0) > 0
    found = (
        last.join(calls, on="event", how="left", maintain_order="left")
        .join(later, on="event", how="left", maintain_order="left")
        .filter(others | (pl.col("waiting").list.len() > 0))
        .sort("event")
    )
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": "",
            "keyword": "requires_action",
            "message": f"The recording ends while the session waits for {_what(row['waiting'])}.",
            "hint": "Answer the action, or cancel the turn; see whether the handler was running.",
        }
        for row in found.iter_rows(named=True)
    )


def _what(waiting: list[str] | None) -> str:
    if not waiting:
        return "an approval or a connection"
    return f"the result of {waiting[0]}" if len(waiting) == 1 else f"{len(waiting)} results"
