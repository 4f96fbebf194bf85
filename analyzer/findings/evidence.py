"""How much there was to judge by: of each tool in each session, what is recorded and what had a verdict.

A fault that is no longer found is gone only where there is no less of this than when it was found.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from analyzer.contracts.spelling import spelled
from analyzer.findings.assemble import bare

COUNTED = (
    "calls",
    "results",
    "advertised_arguments",  # with a verdict, and so the next
    "advertised_output",
    "executed_arguments",
    "executed_output",
    "final",
)
EVIDENCE = pl.Schema(
    {
        "session": pl.String(),
        "tool": pl.String(),  # as findings name it; null: of no tool; key: session, tool
        **dict.fromkeys(COUNTED, pl.Int64()),
    }
)


def evidence_of(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """EVIDENCE of CALLS, RESULTS, VERDICTS and CONTRACTS."""
    what = (
        pl.when(pl.col("role") == "final").then(pl.lit("final")).otherwise(pl.concat_str("side", "role", separator="_"))
    )
    judged = frames["verdicts"].filter(pl.col("verdict_is").is_in(["valid", "invalid"]))
    # What a contract says as the log does is judged once, and by both.
    contracts = spelled(frames["contracts"]).select("name", "role", "schema_id").unique()
    both = judged.filter(pl.col("side") == "advertised").with_columns(
        side=pl.lit("executed"), name=pl.col("tool").str.splitn(":", 3).struct.field("field_2")
    )
    both = both.join(contracts, on=["name", "role", "schema_id"], how="semi").select(judged.columns)
    whole = [
        *(frames[name].select("session", "tool", what=pl.lit(name)) for name in ("calls", "results")),
        *(rows.select("session", "tool", what=what) for rows in (judged, both)),
    ]
    counts = ((pl.col("what") == name).sum().alias(name) for name in COUNTED)
    return added(pl.concat(whole).group_by("session", "tool").agg(counts).with_columns(tool=bare("tool")))


def added(evidence: pl.DataFrame) -> pl.DataFrame:
    """EVIDENCE of several parts of the same sessions as that of the whole."""
    return (
        evidence.group_by("session", "tool")
        .agg(pl.col(COUNTED).sum())
        .select(pl.col(name).cast(of) for name, of in EVIDENCE.items())
        .sort("session", "tool", nulls_last=True)
    )
