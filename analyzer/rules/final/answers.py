"""The final answers with what was judged of them."""

from __future__ import annotations

import polars as pl

from analyzer.replay.final import final_answers
from analyzer.trace import Trace


def answers(trace: Trace) -> pl.DataFrame:
    """The final answers of the trace; columns as in `analyzer.replay.final.final_answers`."""
    return final_answers(trace.messages, trace.turns, trace.sessions).collect()


def judged_answers(trace: Trace) -> pl.DataFrame:
    """The final answers with their verdicts: the k-th of a session has the session's k-th verdict of role final."""
    verdicts = (
        trace.verdicts.filter(pl.col("role") == "final")
        .sort("session", "verdict")
        .with_columns(number=pl.int_range(pl.len()).over("session"))
        .select("session", "number", "verdict", "verdict_is", "payload")
    )
    return answers(trace).join(verdicts, on=["session", "number"], maintain_order="left")
