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
record that could be read here.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.trace import Trace


def check(trace: Trace) -> pl.LazyFrame:
    """Sessions whose last snapshot waits, unless its calls were answered after it."""
    last = (
        trace.session_states.lazy()
        .filter(pl.col("status").is_not_null(), pl.col("session").is_not_null())
        .sort("seq", "event")
        .unique("session", keep="last", maintain_order=True)
        .filter(pl.col("status") == "requires_action")
        .select("session", "seq", "event", "actions")
    )
    answered = (
        trace.results.lazy()
        .join(last.select("session", since="seq"), on="session")
        .filter(pl.col("seq") > pl.col("since"), pl.col("call").is_not_null())
        .group_by("session")
        .agg(answered=pl.col("call_id"))
    )
    waiting = (
        pl.when(pl.col("answered").is_null())
        .then("actions")
        .otherwise(pl.col("actions").list.set_difference(pl.col("answered")))
    )
    # Approvals are required actions too: a snapshot without pending calls still waits for somebody.
    stuck = (pl.col("waiting").list.len() > 0) | (pl.col("actions").list.len().fill_null(0) == 0)
    found = (
        last.join(answered, on="session", how="left", maintain_order="left")
        .with_columns(waiting=waiting)
        .filter(stuck)
        .sort("event")
        .collect()
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
