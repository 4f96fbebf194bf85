"""A required action stayed open for long.

What it says: how long the call waited for its result, against the configured bound.
Why it matters: the handler was offline or busy, and the user waited that long. Behind it the next calls queue up.
Bad:
    tool get_order {"type":"object"}
    clock 0
    turn
    call c1 get_order {}
    clock 900
    result c1 ok {}
    end
Good:
    tool get_order {"type":"object"}
    clock 0
    turn
    call c1 get_order {}
    clock 20
    result c1 ok {}
    end
Blind spots: without times nothing can be said. Times are the recorder's, so a slow recorder looks like a slow handler.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.debts import async_tools
from analyzer.rules.hits import NONE
from analyzer.rules.order import times_of
from analyzer.rules.pairs import pairs
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Client calls whose result came later than allowed after they were required."""
    found = pairs(trace)
    answered = found.filter((found["rank"] == 0) & found["action_event"].is_not_null())
    waited = times_of(trace, answered["event"]) - times_of(trace, answered["action_event"])
    waited = waited.dt.total_microseconds() / 1_000_000
    if not (waited > trace.settings.waited).any():
        return NONE
    long = answered.with_columns(waited=waited).filter(pl.col("waited") > trace.settings.waited)
    names = trace.calls.select("call", "name", "session")
    return (
        long.drop("session")
        .join(names, on="call", how="left")
        .join(async_tools(trace), on=["session", "tool"], how="anti")
        .sort("call")
        .select(
            "call",
            keyword=pl.lit("waited"),
            message=sentence(
                "The call {} of {} waited {} seconds for its result.",
                "call_id",
                pl.col("name").fill_null("a tool"),
                pl.col("waited").round().cast(pl.Int64),
            ),
            hint=pl.lit("See whether the handler was running; answer early with a failure rather than late."),
        )
    )
