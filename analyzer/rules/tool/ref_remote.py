"""A schema points out of its own document.

What it says: a `$ref` leads to another document. It is never fetched: what it would say is unknown.
Why it matters: who controls that address controls the contract, and a validator without network judges nothing.
Bad:
    tool find {"type":"object","properties":{"q":{"$ref":"https://schemas.example/q.json"}}}
    turn
Good:
    tool find {"type":"object","properties":{"q":{"$ref":"#/$defs/q"}},"$defs":{"q":{"type":"string"}}}
    turn
Blind spots: references to the published meta-schemas are known by heart and are no finding.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.rules.tool.advertised import at_schema, facts, found, where
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """References out of the document."""
    return at_schema(
        found(trace, facts(trace, "ref_remote")),
        message=sentence("{} points to {}, which is not in the document", where(), pl.col("value").str.slice(0, 100)),
        hint="Copy the definition into $defs and refer to it there.",
    )
