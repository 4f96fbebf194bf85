"""A tool that the server runs was called, and its result is not there.

Wire: Anthropic messages, Responses

What it says: the call of a server's own tool has no result block, and the session went on.
Why it matters: the server answers such calls itself; a missing block means that the log or the history was cut, and a
request that resends this history is refused.
Bad:
    assistant: server_tool_use srv_1, text
    user: and now?
Good:
    assistant: server_tool_use srv_1 (pause_turn)
    assistant: web_search_tool_result srv_1, text
Blind spots: wires that show call and result as one item are judged by its status.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.debts import went_on
from analyzer.rules.hits import hits
from analyzer.trace import Trace

_SETTLED = ("completed", "failed", "incomplete", "cancelled")


def check(trace: Trace) -> pl.DataFrame:
    """Calls owed by the server without a result, after which the session went on."""
    calls = trace.calls.filter(
        pl.col("owed_by") == "server",
        pl.col("result").is_null(),
        ~pl.col("status").fill_null("").is_in(list(_SETTLED)),
        # On the Agents API an unfinished item is a missing record, not a missing answer.
        pl.col("wire") != "openai-agents-api",
    )
    open_calls = calls
    if open_calls.is_empty():
        return hits(())
    found = went_on(trace, open_calls).filter(pl.col("after")).sort("call")
    return hits(
        {
            "call": row["call"],
            "keyword": "result",
            "message": f"The server's own tool {row['name'] or row['kind']} was called and has no result, "
            "though the session went on.",
            "hint": "Resend the assistant's message whole, with every block the server put into it.",
        }
        for row in found.iter_rows(named=True)
    )
