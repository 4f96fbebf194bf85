"""The instructions ask for JSON, and nothing holds the answer to it.

What it says: instructions or a system message tell the agent in words to answer as JSON, while no text format, no
output or final schema and no tool for handing the answer in is configured.
Why it matters: a prompt is a wish. Sooner or later the answer comes in prose or in fences, and its reader breaks.
Bad:
    instructions Look the order up and respond with a JSON object that has status and eta.
    turn
    say {"status":"sent"}
    end
Good:
    instructions Look the order up and respond with a JSON object that has status and eta.
    tool submit_answer {"type":"object","properties":{"status":{"type":"string"},"eta":{"type":"string"}}}
    turn
    end
Blind spots: the wish is recognised by its usual English wordings. A final schema given on the command line is not seen
here.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.trace import Trace

_ASKS = (
    r"(?i)\b(?:respond|reply|answer|return|output|produce|emit|write)\b[^.\n]{0,60}\bJSON\b"
    r"|(?i)\b(?:as|in|only|valid|strict)\s+JSON\b"
)
_REFUSES = r"(?i)(?:\bnot|\bnever|n't|\bwithout|\binstead of|\bno)\b[^.\n]{0,40}\bJSON\b"
_HANDS_IN = r"(?i)(?:^|[^a-z])(?:submit|final|finish|answer|respond|report|emit|output|return|hand_?in|done|complete)"


def check(trace: Trace) -> pl.DataFrame:
    """Sessions whose instructions ask for JSON and that have no contract for it."""
    told = trace.messages.filter(trace.messages["role"].is_in(["system", "developer"]))
    said = pl.concat([trace.sessions.select("session", text="instructions"), told.select("session", "text")])
    said = said.filter(said["text"].str.contains("(?i)json"))
    if said.is_empty() or (trace.contracts["role"] != "arguments").any():
        return NONE
    asked = said.filter(pl.col("text").str.replace_all(_REFUSES, "").str.contains(_ASKS))
    asking = trace.sessions.join(asked, on="session", how="semi", maintain_order="left")
    held = pl.concat(
        [
            trace.offers.filter((pl.col("role") != "arguments") | pl.col("tool").str.contains(_HANDS_IN)).select(
                "session"
            ),
            trace.sessions.filter(pl.col("text_format").fill_null("").str.contains("json", literal=True)).select(
                "session"
            ),
        ]
    )
    return (
        asking.join(held.unique(), on="session", how="anti")
        .sort("first_event")
        .select(
            "session",
            event="first_event",
            pointer=pl.lit(""),
            keyword=pl.lit("instructions"),
            message=pl.lit("The instructions ask for JSON, and no format, schema or tool holds the answer to it."),
            hint=pl.lit("Give the answer a schema (text format, or a tool to hand it in), and judge it by that."),
        )
    )
