"""A string that names something takes any text.

What it says: an identifier, a path, a query, a command or a URL (by the member's name) has no enum, pattern, format
or maximum length. The classes of tightening that are missing are listed.
Why it matters: "ord_1 and all open" is a valid order id by such a schema. A pattern turns it into an error at the
gate.
Bad:
    tool get_order {"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}
    turn
Good:
    tool get_order {"type":"object","properties":{"order_id":{"type":"string","pattern":"^ord_[0-9]{6}$"}}}
    tool note {"type":"object","properties":{"comment":{"type":"string"}}}
    turn
Blind spots: what a member is, is read from its name alone. `contracts tighten` proposes bounds from recorded calls.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Unbounded strings of advertised argument schemas."""
    kind = pl.col("value").str.extract("^([^:]*)")
    missing = pl.col("value").str.extract("^[^:]*: (.*)$").fill_null("a bound")
    return at_schema(
        found(trace, facts(trace, "string_unbounded"), pl.col("role") == "arguments"),
        message=sentence("{} takes any text where its name says {}; missing: {}", where(), kind, missing),
        hint="Give it an enum or a pattern with maxLength; `analyzer contracts tighten` proposes one from the calls.",
    )
