"""Calls of tools that no table of the session offers, and that the host or the server itself does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.hits import place
from analyzer.rules.payloads import short
from analyzer.rules.results import failing
from analyzer.trace import Trace

# What Codex, Claude Code, servers of MCP and their SDKs say instead of running it.
_SAYS = (
    r"(?i)\bunsupported (?:custom tool )?call\b|\b(?:unknown|no such|unrecogni[sz]ed|unsupported) (?:tool|function)\b"
    r"|\b(?:tool|function)\b.{0,120}\b(?:not found|does not exist|is not (?:available|registered|defined)|is unknown)\b"
)
_AT_ONCE = 200  # characters; further down such words may be what a tool found


def unknown_to_host(trace: Trace, told: pl.Series) -> Iterator[dict[str, Any]]:
    """Hits, in the order of the calls, but for those that are `told` already."""
    failed = failing(trace)
    if failed.is_empty():
        return
    said = pl.coalesce("error", "text").str.slice(0, _AT_ONCE)
    refused = failed.select("call", "event", "pointer", "call_id", said=said).filter(
        pl.col("said").str.contains(_SAYS), ~pl.col("call").is_in(told.implode())
    )
    if refused.is_empty():
        return
    calls = trace.calls.filter(pl.col("kind").is_in(["function", "custom", "mcp"]), pl.col("name").is_not_null())
    rows = (
        refused.join(calls.select("call", "session", "tool", "name"), on="call")
        .join(trace.offers.select("session", "tool").unique(), on=["session", "tool"], how="anti")
        # Words about another tool are what this one found.
        .filter(pl.col("said").str.contains(pl.col("name"), literal=True))
        .sort("call")
    )
    for row in rows.iter_rows(named=True):
        words = short(" ".join(row["said"].split()), 120)
        yield {
            "call": row["call"],
            "message": f"The tool {row['name']} is not known where it was to run: {words}.",
            "hint": "Tell the model which tools there are; a table in the log would show what it was offered.",
            "confidence": "likely",
            "keyword": "unknown to the host",
            "related": [place(row["event"], row["pointer"], "result", row["call_id"])],
        }
