"""A session asks for a text format that its wire does not apply.

What it says: a JSON schema or JSON mode is declared as text format on an Agents API session, whose turns are not held
to it.
Why it matters: everybody reads the declaration and believes it; the answers are prose whenever the model likes.
Bad:
    event {"type":"agent.session.idle","session":{"id":"s1","agent":{"text":{"format":{"type":"json_schema"}}}}}
Good:
    event {"type":"agent.session.idle","session":{"id":"s1","agent":{"text":{"format":{"type":"text"}}}}}
Blind spots: instructions that ask for JSON are prompt-only-contract.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Sessions of the Agents API with a JSON text format; each once."""
    formats = trace.session_states["text_format"]
    declared = trace.session_states.filter(formats.str.contains(r'"type"\s*:\s*"json_(?:schema|object)"'))
    if declared.is_empty():
        return NONE
    here = trace.events.filter(pl.col("event").is_in(declared["event"].implode())).filter(
        pl.col("type").str.starts_with("agent.session.")
    )
    return (
        declared.join(here, on="event", how="semi", maintain_order="left")
        .sort("session", "seq", "event")
        .unique("session", keep="first", maintain_order=True)
        .select(
            "session",
            "event",
            pointer=pl.lit("/session/agent/text"),
            message=pl.lit("The session declares a JSON text format, and its wire does not hold answers to it."),
            hint=pl.lit("Give the schema as final schema (--final-schema), and have the host validate the answer."),
            keyword=pl.lit("text_format"),
        )
    )
