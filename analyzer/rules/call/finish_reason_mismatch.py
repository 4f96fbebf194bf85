"""The stop reason of a reply and its content disagree.

Wire: chat completions, Anthropic messages

What it says: the reply ends with "tool calls" and holds none, or holds calls and ends as a plain answer.
Why it matters: clients decide by the stop reason whether to run calls. Calls are then left lying, or nothing is run in
an endless loop.
Bad:
    finish_reason: stop, tool_calls [call_1]
Good:
    finish_reason: tool_calls, tool_calls [call_1]
    finish_reason: length, tool_calls [call_1 cut]
Blind spots: the stop reason is read from the status of the reply's message; where none is recorded nothing is said.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.trace import Trace

_CALLS = ("tool_calls", "tool_use", "function_call")
_ANSWER = ("stop", "end_turn", "stop_sequence")


def check(trace: Trace) -> pl.DataFrame:
    """Replies whose message ends in one way and whose calls say the other."""
    # The server runs its own tools before it stops: they are no reason to.
    live = pl.col("stage").is_in(["item", "done"]) & pl.col("owed_by").ne_missing("server")
    made = trace.call_sightings.filter(live).group_by("event").agg(pl.first("call"), count=pl.len())
    found = (
        trace.messages.filter(pl.col("role") == "assistant", pl.col("status").is_in([*_CALLS, *_ANSWER]))
        .select("session", "turn", "event", "status")
        .unique("event", keep="first", maintain_order=True)
        .join(made, on="event", how="left", maintain_order="left")
        .filter(pl.col("status").is_in(list(_CALLS)) == pl.col("count").is_null())
        .sort("event")
    )
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "call": row["call"],
            "event": row["event"],
            "pointer": "",
            "keyword": "finish",
            "message": f"The reply stops with {row['status']} and holds {_held(row['count'])}.",
            "hint": "Decide by the calls that are there, not by the stop reason.",
        }
        for row in found.iter_rows(named=True)
    )


def _held(count: int | None) -> str:
    return "no call" if count is None else "one call" if count == 1 else f"{count} calls"
