"""The final answer's object breaks the final schema.

Wire: needs a final schema beside the log
What it says: the last answer of a completed turn was judged by the schema given for it, and failed.
Why it matters: the final object is what the rest of the system is waiting for. It is a contract of its own: every
tool may have kept to its schema, and the answer still be wrong.
Bad:
    {"refund": "yes"}   under {"type":"object","properties":{"refund":{"type":"boolean"}}}
Good:
    {"refund": true}
Blind spots: without a final schema nothing is judged. Turns that failed or were cancelled owe no answer.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.failures import failure_words
from analyzer.rules.final.answers import judged_answers
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Final answers that are JSON and were judged invalid."""
    return (
        judged_answers(trace)
        .filter(pl.col("verdict_is") == "invalid", pl.col("payload").ne_missing("not_json"))
        .join(failure_words(trace), on="verdict", how="left", maintain_order="left")
        .select(
            "session",
            "event",
            "pointer",
            "turn",
            "verdict",
            message=sentence(
                "The final answer breaks the final schema: {}.", pl.col("words").fill_null("no reason is recorded")
            ),
            hint=pl.lit("Validate the answer before it is handed on, and send the failures back to the model once."),
        )
    )
