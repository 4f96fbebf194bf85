"""Members of a tool's arguments may be left out without a word.

What it says: properties of this object are neither required nor nullable. In MCP, where that is the convention, it is
info.
Why it matters: an absent member does not tell "not wanted" from "forgotten". A required one that may be null does.
Bad:
    tool find {"type":"object","properties":{"q":{"type":"string"}},"additionalProperties":false}
    turn
Good:
    tool find {"type":"object","properties":{"q":{"type":["string","null"]}},"required":["q"]}
    turn
Blind spots: a default that the executor applies cannot be seen. Output schemas are left out.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace

_SHOWN = 5


def check(trace: Trace) -> pl.DataFrame:
    """Objects with optional properties, all of one object together."""
    optional = (
        facts(trace, "property_optional")
        .with_columns(schema_pointer=pl.col("schema_pointer").str.replace("/[^/]*$", ""))
        .group_by("schema_id", "fact", "schema_pointer")
        .agg(pl.col("value").sort())
        .with_columns(
            more=pl.col("value").list.len() > _SHOWN,
            value=pl.col("value").list.head(_SHOWN).list.join(", "),
            holder=pl.col("schema_pointer").str.strip_suffix("/properties"),
        )
    )
    return at_schema(
        found(trace, optional, pl.col("role") == "arguments"),
        message=sentence(
            "{} may lack members that may not be null: {}{}",
            where("holder"),
            pl.col("value"),
            pl.when(pl.col("more")).then(pl.lit(", ...")).otherwise(pl.lit("")),
        ),
        hint="List every property in required, and let the optional ones be null.",
        severity=pl.when(pl.col("tool").str.starts_with("mcp:")).then(pl.lit("info")),
    )
