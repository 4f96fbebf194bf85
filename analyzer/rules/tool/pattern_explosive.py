"""A pattern can take exponential time.

What it says: an engine that backtracks needs time exponential in the length of some text for this pattern. Here it is
evaluated under a limit; where the limit is hit the verdict is `pattern_undecided`.
Why it matters: one argument of fifty letters stops a gate that uses such an engine, and most do.
Bad:
    tool find {"type":"object","properties":{"q":{"type":"string","pattern":"^(a+)+$"}}}
    turn
Good:
    tool find {"type":"object","properties":{"q":{"type":"string","pattern":"^a+$"}}}
    turn
Blind spots: patterns of polynomial time are not told, nor those that no automaton can be made of.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Explosive patterns of advertised schemas."""
    return at_schema(
        found(trace, facts(trace, "pattern_explosive")),
        message=sentence("{} can take exponential time: {}", where(), pl.col("value").str.slice(0, 80)),
        hint="Write the pattern so that no text can be matched in two ways, and bound the length.",
    )
