"""An object of a tool's arguments takes members that nobody declared.

What it says: `additionalProperties` is absent or true at this level of the schema.
Why it matters: a member that the model makes up passes every check and reaches the executor, which ignores it or,
worse, passes it on. Closing the object turns the invention into an error that the model can repair.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    turn
Good:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}
    tool tag {"type":"object","additionalProperties":{"type":"string"}}
    turn
Blind spots: maps whose values have a schema are no open objects. Output schemas are left out: readers skip what they
do not know.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Levels of advertised argument schemas that are not closed."""
    how = pl.when(pl.col("value") == "true").then(pl.lit("says so")).otherwise(pl.lit("is not closed"))
    return at_schema(
        found(trace, facts(trace, "object_open"), pl.col("role") == "arguments"),
        message=sentence("{} of the schema takes members that it does not declare: it {}", where(), how),
        hint="Set additionalProperties to false.",
    )
