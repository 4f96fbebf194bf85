"""An event or item has a type that the reader does not know.

What it says: the type, and how often it came in this session. The record is kept and can be queried.
Why it matters: newer servers write new types; whatever such an event means was not taken into account.
Bad:
    turn
    event {"type":"agent.session.budget_reached","event_id":"x1","session_id":"s1"}
    end
Good:
    turn
    say Done.
    end
Blind spots: a known type that has changed its meaning is not noticed, nor are new members of known types.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """One hit for each session and type."""
    events = trace.events.filter(pl.col("kind") == "unknown", pl.col("copy").is_null()).select(
        "session",
        "event",
        pointer=pl.lit(""),
        what=pl.when(pl.col("type").fill_null("") == "")
        .then(pl.lit("a record without a type"))
        .otherwise(sentence("an event of type '{}'", "type")),
    )
    items = trace.faults.filter(pl.col("fault") == "unknown_item").select(
        "session", "event", "pointer", what=pl.col("detail").fill_null("an item")
    )
    return (
        pl.concat([events, items])
        .sort("event", "pointer")
        .group_by("session", "what", maintain_order=True)
        .agg(pl.first("event", "pointer"), count=pl.len())
        .select(
            "session",
            "event",
            "pointer",
            keyword="what",
            message=sentence("The reader does not know {}; kept, {} in this session.", "what", "count"),
            hint=pl.lit("Look at one of them; if it matters to calls or results, the reader must learn it."),
        )
    )
