"""A schema accepts anything, or nothing at all.

What it says: a place in the schema is `{}` or `true`, names no type beside bounds that bind only one, or cannot be
satisfied (an empty enum, a minimum above the maximum, a required member that is not allowed).
Why it matters: a schema that accepts anything checks nothing, and one that accepts nothing makes every call a
failure.
Bad:
    tool find {"type":"object","properties":{"filter":{}},"required":["filter"]}
    turn
Good:
    tool find {"type":"object","properties":{"filter":{"type":"object","additionalProperties":{"type":"string"}}}}
    tool ping {"type":"object","properties":{}}
    turn
Blind spots: contradictions that take more than one keyword's own bounds to see.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Vacuous places of advertised schemas."""
    what = {
        "anything": "accepts anything",
        "nothing": "accepts nothing at all",
        "no_type": "names no type, so that its bounds bind only values of one",
    }
    return at_schema(
        found(trace, facts(trace, "schema_vacuous")),
        message=sentence("{} of the schema {}", where(), pl.col("value").replace_strict(what, default="is vacuous")),
        hint="Say which type and which values are meant.",
    )
