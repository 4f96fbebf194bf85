r"""A program that the model wrote was handed a failure in prose.

Wire: openai-responses
What it says: a call made by a program (programmatic tool calling) failed, and its output is words.
Why it matters: a program cannot read words. It takes the sentence for data, or stops where it could have gone on.
Bad:
    {"type":"function_call_output","call_id":"c1","output":"Sorry, there is no such order."}
Good:
    {"type":"function_call_output","call_id":"c1","output":"{\"error\":\"not_found\"}"}
Blind spots: calls count as a program's by their place between its start and its end in one turn, and in one window of a
session that is judged in windows.
"""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace

_FAILED = r"(?i)^\s*(?:error|sorry|failed|failure|exception|unable|could not|cannot|invalid|traceback|an error)\b"


def check(trace: Trace) -> pl.DataFrame:
    """Failures in words, of calls inside a program."""
    ended = trace.results.select("call", until="seq")
    programs = (
        trace.calls.filter(pl.col("kind") == "program")
        .join(ended, on="call", how="left", maintain_order="left")
        .select("session", since="seq", until=pl.col("until").fill_null(pl.lit(1 << 62)))
        .sort("since")
        .with_columns(pl.col("until").cum_max().over("session"))  # of those begun so far, the last to end
    )
    inside = (
        trace.calls.filter(pl.col("kind").is_in(["function", "mcp"]))
        .select("call", "session", "seq")
        .sort("seq")
        .join_asof(
            programs,
            left_on="seq",
            right_on="since",
            by="session",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("seq") < pl.col("until"))
        .select("call")
    )
    words = pl.coalesce("error", "text")
    failed = ~pl.col("success").fill_null(value=True) | pl.col("error").is_not_null() | words.str.contains(_FAILED)
    return (
        trace.results.filter(failed, ~words.str.contains(r"^\s*[{\[]"))
        .join(inside, on="call", how="semi", maintain_order="left")
        .select(
            "result",
            message=pl.lit("A program made this call, and the failure comes back to it as prose."),
            hint=pl.lit("Return failures as an object with a code that a program can branch on."),
            keyword=pl.lit("prose"),
        )
    )
