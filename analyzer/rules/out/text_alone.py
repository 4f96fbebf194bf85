"""Results of MCP tools that declare an output schema and come as text alone: what the protocol says of them."""

from __future__ import annotations

import polars as pl

from analyzer.frames import GIVEN
from analyzer.trace import Trace, shared

#: The first version of the protocol that knows output schemas, and demands structured content wherever one is declared.
STRUCTURED_SINCE = "2025-06-18"


@shared
def text_alone(trace: Trace) -> pl.DataFrame:
    """Those whose text keeps the schema all the same: `result`, `verdict` and `protocol`, null where none is known."""
    results = trace.results.filter(
        pl.col("wire") == "mcp-jsonrpc", pl.col("structured").is_null(), pl.col("success").fill_null(value=True)
    )
    declared = trace.verdicts.filter(
        pl.col("role") == "output", ~pl.col("channel").is_in(list(GIVEN)), pl.col("verdict_is") == "valid"
    )
    return (
        results.select("result", "session")
        .join(declared.select("result", "verdict").unique("result"), on="result", maintain_order="left")
        .join(trace.sessions.select("session", "protocol"), on="session", how="left", maintain_order="left")
        .drop("session")
    )
