"""Results beside their calls: what several rules compare."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace, shared


@shared
def pairs(trace: Trace) -> pl.DataFrame:
    """One row for each result of a known call, with columns of both.

    Of the result: `session, result, call, rank, stage, other_turn, seq, event`. Of the call: `turn, tool, call_id,
    action_event`, and as `called, at, where` its seq, event and pointer.
    """
    calls = trace.calls.select(
        *("call", "turn", "tool", "call_id", "action_event"), called="seq", at="event", where="pointer"
    )
    results = trace.results.select("session", "result", "call", "rank", "stage", "other_turn", "seq", "event")
    return results.join(calls, on="call", maintain_order="left")
