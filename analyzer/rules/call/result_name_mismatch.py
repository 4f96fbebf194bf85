"""A result names another tool than its call.

Wire: Gemini, chat completions, Responses, MCP clients

What it says: the tool that the result names, and the tool that was called.
Why it matters: two results have been swapped, or the host ran another tool. Providers that pair by name give the answer
to the wrong call.
Bad:
    functionCall get_order
    functionResponse get_customer
Good:
    functionCall crm.get_order
    functionResponse get_order
Blind spots: most wires do not name the tool in the result. Names that differ by a prefix or a namespace count as equal.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.trace import Trace

_BARE = r"^.*(?:__|[.:/])"


def check(trace: Trace) -> pl.DataFrame:
    """Results whose own name, without prefixes, is not that of their call."""
    calls = trace.calls.select("call", called="name", at="event", where="pointer")
    bare, other = (pl.col(name).str.replace(_BARE, "") for name in ("name", "called"))
    found = (
        trace.results.filter(pl.col("name").is_not_null(), pl.col("call").is_not_null())
        .join(calls, on="call", maintain_order="left")
        .filter(bare != other)
        .sort("result")
        .select("result", "call", "call_id", "name", "called", "at", "where")
    )
    return hits(
        {
            "result": row["result"],
            "call": row["call"],
            "keyword": "name",
            "message": f"The result names {row['name']}, and its call is of {row['called']}.",
            "hint": "Carry the call's own name into the result; look for two results that were swapped.",
            "related": [place(row["at"], row["where"], "call", row["call_id"])],
        }
        for row in found.iter_rows(named=True)
    )
