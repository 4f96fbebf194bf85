"""The final answers: the last message in phase final_answer of each completed root turn, or just the last."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace


def final_answers(trace: Trace) -> pl.LazyFrame:
    """One row per final answer: `session, turn, event, pointer, seq, text, number` (from 0 within the session, by seq).

    A turn without a recorded end counts as completed where its session holds no turn states at all.
    """
    turns = trace.turns.lazy().filter(pl.col("status") == "completed", pl.col("subagent").is_null())
    stateless = (
        trace.sessions.lazy().join(trace.turns.lazy().select("session"), on="session", how="anti").select("session")
    )
    said = trace.messages.lazy().filter(pl.col("role") == "assistant", pl.col("text").is_not_null())
    known = pl.concat(
        [
            said.join(turns.select("session", "turn"), on=["session", "turn"], how="semi"),
            said.join(stateless, on="session", how="semi"),
        ]
    )
    phased = (pl.col("phase") == "final_answer").fill_null(value=False)
    return (
        known.with_columns(named=phased, any=phased.any().over("session", "turn"))
        .filter(pl.col("named") | ~pl.col("any"))
        .sort("session", "seq", "event", "pointer")
        .unique(["session", "turn"], keep="last", maintain_order=True)
        .with_columns(number=pl.int_range(pl.len()).over("session"))
        .select("session", "turn", "event", "pointer", "seq", "text", "number")
    )


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
