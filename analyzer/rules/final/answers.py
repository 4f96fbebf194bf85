"""The final answers: the last message in phase final_answer of each completed root turn, or just the last."""

from __future__ import annotations

import polars as pl

from analyzer.replay import final as replay
from analyzer.trace import Trace


def final_answers(trace: Trace) -> pl.LazyFrame:
    """One row per final answer: `session, turn, event, pointer, seq, text, number` (from 0 in its session, by seq)."""
    return replay.final_answers(trace.messages, trace.turns, trace.sessions)


def judged_answers(trace: Trace) -> pl.LazyFrame:
    """The final answers with their verdicts: the k-th of a session has the session's k-th verdict of role final."""
    verdicts = (
        trace.verdicts.lazy()
        .filter(pl.col("role") == "final")
        .sort("session", "verdict")
        .with_columns(number=pl.int_range(pl.len()).over("session"))
        .select("session", "number", "verdict", "verdict_is", "payload")
    )
    return final_answers(trace).join(verdicts, on=["session", "number"], maintain_order="left")
