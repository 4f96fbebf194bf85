"""What readers found wrong with the envelopes of JSON-RPC messages: CALL016 tells it, and LOG010 leaves it."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace, shared

MCP = "mcp-jsonrpc"


@shared
def envelope_faults(trace: Trace) -> pl.DataFrame:
    """FAULTS of the version, the id, or the result that a response lacks, with `member` (jsonrpc, id, result)."""
    faults = trace.faults.filter(trace.faults["fault"].is_in(["member_type", "member_missing"]))
    if faults.is_empty():
        return faults.with_columns(member=pl.lit(None, pl.String))
    found = faults.with_columns(member=pl.col("pointer").str.extract("/([^/]*)$"))
    missing = (pl.col("fault") == "member_missing") & (pl.col("member") == "result")
    found = found.filter(pl.col("member").is_in(["jsonrpc", "id"]) | missing)
    # A message may stand inside a recorder's envelope; elsewhere such a name is another thing's.
    sessions = trace.sessions.filter(pl.col("wires").str.contains(MCP, literal=True))["session"]
    nested = pl.col("pointer").str.count_matches("/") > 1
    return found.filter(~nested | pl.col("session").is_in(sessions.implode()))
