"""Calls of deferred tools that no search had loaded, on the wire that records its searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.arg.unoffered import resent
from analyzer.trace import Trace

_WIRE = "openai-responses"


def unloaded(trace: Trace) -> Iterator[dict[str, Any]]:
    """Hits, in the order of the calls: in sessions that are recorded whole, where nothing was searched before."""
    offers = trace.offers.filter(trace.offers["role"] == "arguments")
    deferred = offers.group_by("session", "tool").agg(pl.col("deferred").all()).filter("deferred")
    if deferred.is_empty():
        return
    whole = trace.sessions.filter("from_start", pl.col("wires") == _WIRE).select("session")
    # A client that resends a history may leave its searches out.
    without = trace.calls.filter(pl.col("call").is_in(resent(trace).implode())).select("session").unique()
    searched = (
        trace.calls.filter((pl.col("kind") == "search") | (pl.col("name") == "tool_search"))
        .group_by("session")
        .agg(searched=pl.col("seq").min())
    )
    rows = (
        trace.calls.filter(pl.col("kind") == "function")
        .join(deferred, on=["session", "tool"], how="semi")
        .join(whole, on="session", how="semi")
        .join(without, on="session", how="anti")
        .join(searched, on="session", how="left", maintain_order="left")
        .filter(pl.col("searched").is_null() | (pl.col("searched") > pl.col("seq")))
        .sort("call")
        .unique(["session", "tool"], keep="first", maintain_order=True)
    )
    for call, name in rows.select("call", "name").iter_rows():
        yield {
            "call": call,
            "message": f"The tool {name} is deferred, and no search had loaded it when the model called it.",
            "hint": "Refuse the call, and let the model search for the tool first.",
            "confidence": "likely",
            "keyword": "deferred",
        }
