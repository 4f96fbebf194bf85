"""One reply holds several calls although parallel calls are switched off.

Wire: chat completions, Responses

What it says: how many calls the reply holds; the request had parallel calls switched off.
Why it matters: the client was written for one call at a time. It runs the first and drops the others, or runs in any
order what had to run in one.
Bad:
    request: parallel_tool_calls false
    reply: tool_calls [call_1, call_2]
Good:
    request: parallel_tool_calls false
    reply: tool_calls [call_1]
    request: parallel_tool_calls false, with the history so far
    reply: tool_calls [call_2]
Blind spots: the Agents API has no such switch. Calls that the server runs itself do not count.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.held import held
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """The second client call of every reply that was asked for under `parallel: false`."""
    if not trace.session_states.select((~pl.col("parallel")).any()).item():
        return hits(())
    states = held(trace, "parallel", pl.lit(value=True))
    by = ["session", "reply"]
    calls = (
        trace.calls.filter(pl.col("reply").is_not_null(), pl.col("kind").is_in(["function", "custom"]))
        .filter(pl.col("owed_by") != "server")
        .sort("seq", "call")
        .with_columns(
            count=pl.len().over(by),
            ordinal=pl.int_range(pl.len()).over(by),
            first=pl.col("event").first().over(by),
            where=pl.col("pointer").first().over(by),
            first_id=pl.col("call_id").first().over(by),
        )
        .filter(pl.col("ordinal") == 1)
    )
    found = (
        calls.join_asof(states, on="seq", by="session", strategy="backward", check_sortedness=False)
        .filter(~pl.col("parallel"))
        .sort("call")
    )
    return hits(
        {
            "call": row["call"],
            "keyword": "parallel",
            "message": f"One reply holds {row['count']} calls although parallel calls are switched off.",
            "hint": "Run the first call only and ask again, or let the client handle several calls.",
            "related": [place(row["first"], row["where"], "first call of the reply", row["first_id"])],
        }
        for row in found.iter_rows(named=True)
    )
