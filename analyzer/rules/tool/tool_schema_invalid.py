"""A tool was advertised with a schema that is none, or that its wire refuses.

What it says: the schema breaks the meta-schema of its dialect, a reference leads nowhere in the document, a pattern
is no regular expression, the root takes no object, or (Responses only) a list says nothing of its items.
Why it matters: nothing can be judged by such a schema. Some providers refuse the whole request for it, others drop
the part they do not understand, and then the model sees another contract than the executor.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"text"}}}
    turn
Good:
    tool get_order {"type":"object","properties":{"ids":{"type":"array"},"any":true,"next":{"$ref":"#"}}}
    tool ping {"type":"object"}
    turn
Blind spots: whether a schema says what its author meant. References out of the document are ref-remote.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace

_FACTS = ("meta_invalid", "pattern_invalid", "ref_unresolved", "root_not_object", "array_without_items")


def check(trace: Trace) -> pl.DataFrame:
    """Facts that make a schema unusable on the wire that carried it."""
    fact, value = pl.col("fact"), pl.col("value")
    rows = (
        found(trace, facts(trace, *_FACTS))
        .filter((fact != "array_without_items") | (pl.col("shape") == "responses"))
        .filter((fact != "root_not_object") | (pl.col("role") == "arguments"))
    )
    rootless = (fact == "root_not_object") & (value == "none")
    said = (
        pl.when(fact == "meta_invalid")
        .then(sentence("{} of the schema breaks the meta-schema: {}", where(), value.str.slice(0, 80)))
        .when(fact == "pattern_invalid")
        .then(sentence("{} of the schema is no regular expression: {}", where(), value.str.slice(0, 80)))
        .when(fact == "ref_unresolved")
        .then(sentence("{} of the schema refers to {}, which is not in the document", where(), value.str.slice(0, 80)))
        .when(rootless)
        .then(pl.lit("The root of the schema names no type where this wire wants an object"))
        .when(fact == "root_not_object")
        .then(sentence("The root of the schema takes {} where this wire wants an object", value))
        .otherwise(sentence("{} of the schema is a list without items, which this wire refuses", where()))
    )
    return at_schema(
        rows,
        message=said,
        hint="Repair the schema: until then no call of this tool can be judged by it.",
        confidence=pl.when(rootless).then(pl.lit("likely")),
    )
