"""A tool asks for strict calling with a schema outside the provider's strict subset.

Wire: openai-responses
What it says: `strict: true`, and the schema leaves an object open or a property optional, uses a keyword that strict
calling does not take, or goes beyond its limits.
Why it matters: the provider refuses the request, or quietly falls back to calling without any guarantee.
Bad:
    tools[0] = {"type":"function","name":"find","strict":true,"parameters":{"type":"object","properties":{"limit":{}}}}
Good:
    tools[0] = {"type":"function","name":"find","strict":null,"parameters":{"type":"object","properties":{"limit":{}}}}
Blind spots: what only the response calls strict is left alone. Keywords that stand in no published list are told as
likely. The Agents API has no strict flag.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found
from analyzer.trace import Trace

_WORDS = {
    "root_not_object": "the root is no object",
    "root_anyof": "the root is a choice",
    "object_open": "an object is open",
    "property_optional": "a property is not required",
    "keyword": "a keyword is refused",
    "unlisted": "a keyword is in no list of the supported ones",
    "format": "a format is not supported",
}


#: Channels of the Agents API, which has no such flag: it means nothing there.
_FLAGLESS = ("create", "session", "update")


_SAME = pl.concat_str("session", pl.lit(" "), "tool", pl.lit(" "), "schema_id")


def _left_open(trace: Trace) -> pl.Series:
    """The tools of which a request does not say whether they are strict: that they are is what the response made of it.

    It was accepted then, whatever the provider says of such schemas elsewhere.
    """
    unsaid = trace.offers.filter(pl.col("strict").is_null(), pl.col("schema_id").is_not_null())
    return unsaid.select(_SAME).unique().to_series()


def check(trace: Trace) -> pl.DataFrame:
    """Reasons against strict, for schemas that some offer wants strict."""
    if not trace.offers["strict"].any() and not trace.tools["strict"].any():
        return NONE
    reason = pl.col("value").str.split(":").list.first()
    detail = pl.col("value").str.extract("^[^:]*:(.*)$")
    words = reason.replace_strict(_WORDS, default=sentence("a limit is passed: {}", reason), return_dtype=pl.String)
    return at_schema(
        found(
            trace,
            facts(trace, "strict"),
            pl.col("strict") & ~pl.col("channel").is_in(_FLAGLESS),
            ~_SAME.is_in(_left_open(trace).implode()),
        ),
        message=sentence(
            "The tool is strict, and {} at {}",
            words + pl.when(detail.is_null()).then(pl.lit("")).otherwise(sentence(" ({})", detail)),
            pl.when(pl.col("schema_pointer") == "").then(pl.lit("the root")).otherwise("schema_pointer"),
        ),
        hint="Close every object, require every property (nullable instead of optional), and leave other keywords out.",
        confidence=pl.when(reason == "unlisted").then(pl.lit("likely")),
    )
