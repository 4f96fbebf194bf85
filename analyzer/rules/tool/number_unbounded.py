"""A number that counts or pays has no bounds.

What it says: an amount, a count or an identifier (by the member's name) has neither minimum nor maximum nor enum.
Why it matters: a refund of 187,300 instead of 1,873.00 passes.
Bad:
    tool refund {"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]}
    turn
Good:
    tool refund {"type":"object","properties":{"amount":{"type":"number","minimum":0,"maximum":500}}}
    turn
Blind spots: what a member is, is read from its name alone.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Unbounded numbers of advertised argument schemas."""
    return at_schema(
        found(trace, facts(trace, "number_unbounded"), pl.col("role") == "arguments"),
        message=sentence("{} takes any number where its name says {}", where(), pl.col("value")),
        hint="Set minimum and maximum to what the business allows.",
    )
