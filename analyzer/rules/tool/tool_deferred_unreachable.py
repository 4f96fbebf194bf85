"""A deferred tool can never be found.

What it says: a request's table defers a tool, and has no tool search to load it by.
Why it matters: the model never sees the tool, and nothing says so.
Bad:
    tool find {"type":"object","properties":{}} deferred
    update
    turn
Good:
    tool find {"type":"object","properties":{}} deferred
    hosted tool_search
    update
    turn
Blind spots: session snapshots never list the tool search, so only requests are looked at.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import listed
from analyzer.trace import Trace

_REQUESTS = ["create", "update", "request"]


def check(trace: Trace) -> pl.DataFrame:
    """Tables of requests with deferred tools and no search; the deferred tools of one table together."""
    if not trace.tools["deferred"].any():
        return NONE
    requests = trace.showings.filter(pl.col("channel").is_in(_REQUESTS)).sort("event", "pointer")
    places = requests.unique("table", keep="first", maintain_order=True).select(
        "table", request="event", of="session", by="channel", at="pointer"
    )
    named = trace.tables.filter(pl.col("text").str.contains('"tool_search', literal=True)).select("table")
    # On Anthropic's wire any tool of the client's may be the search: it returns references.
    own = (
        listed(trace).filter(pl.col("shape") == "anthropic", ~pl.col("deferred").fill_null(value=False)).select("table")
    )
    searches = pl.concat([named, own])
    return (
        listed(trace)
        .filter(pl.col("deferred"))
        .join(places, on="table")
        .join(searches, on="table", how="anti")
        .sort("request", "position")
        .group_by("table", maintain_order=True)
        .agg(pl.col("request", "of", "by", "at", "tool", "pointer").first(), pl.len().alias("count"))
        .select(
            "tool",
            session="of",
            event="request",
            pointer=pl.col("at") + pl.col("pointer"),
            channel="by",
            message=sentence("{} deferred tools, and no tool search in the same table to load them by.", "count"),
            hint=pl.lit("Add the tool search to the table, or do not defer."),
            keyword=pl.lit("deferred"),
        )
    )
