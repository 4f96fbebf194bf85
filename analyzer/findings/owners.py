"""Whose hits are: what their call and result say of themselves where the rule left it open."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace

_OWN = ("session", "turn", "call_id", "tool", "event", "pointer")
_PLACED = ("call", "result", "verdict", "session", "turn", "call_id", "tool", "agent", "event", "pointer")
_PLACES = pl.DataFrame(schema={"first_event": pl.Int64, "seq": pl.Int64})
_BLOCK = 50_000  # hits whose owners are looked up together


def owned(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Hits with what their call and result say of themselves, where the rule left it open."""
    verdicts = rows_of(trace.verdicts, "verdict", hits["verdict"]).select(
        "verdict", verdict_call="call", verdict_result="result"
    )
    hits = hits.join(verdicts, on="verdict", how="left", maintain_order="left").with_columns(
        call=pl.coalesce("call", "verdict_call"), result=pl.coalesce("result", "verdict_result")
    )
    results = rows_of(trace.results, "result", hits["result"]).select(
        "result",
        *(pl.col(name).alias(f"result_{name}") for name in _OWN),
        of_call="call",
        beside=(pl.col("wire") == "mcp-jsonrpc") & pl.col("structured").is_not_null(),
    )
    hits = hits.join(results, on="result", how="left", maintain_order="left")
    # A verdict on an output is one on the structured output where there is one; the result stands at the other.
    structured = pl.col("result_pointer").str.replace("/content$", "/structuredContent")
    hits = hits.with_columns(
        call=pl.coalesce("call", "of_call"),
        result_pointer=pl.when("beside", pl.col("verdict_result").is_not_null())
        .then(structured)
        .otherwise("result_pointer"),
    )
    calls = rows_of(trace.calls, "call", hits["call"]).select(
        "call",
        "ordinal",
        *(pl.col(name).alias(f"call_{name}") for name in _OWN),
        call_agent=pl.coalesce("subagent", "agent"),
    )
    given = pl.col("event").is_not_null()
    return hits.join(calls, on="call", how="left", maintain_order="left").with_columns(
        **{name: pl.coalesce(name, f"call_{name}", f"result_{name}") for name in ("session", "call_id", "tool")},
        turn=pl.coalesce("turn", "call_turn", "result_turn"),
        agent=pl.coalesce("agent", "call_agent"),
        pointer=pl.when(given)
        .then(pl.col("pointer").fill_null(""))
        .otherwise(pl.coalesce("pointer", "result_pointer", "call_pointer")),
        event=pl.coalesce("event", "result_event", "call_event"),
    )


def placed(hits: pl.DataFrame, trace: Trace, rows: pl.Series | None = None) -> pl.DataFrame:
    """For each hit, or those of some rows, `first_event` (of its session) and `seq`: findings are ordered by these."""
    narrow = hits.select(_PLACED) if rows is None else hits.select(_PLACED)[rows]
    return pl.concat([_PLACES, *(_placed(block, trace) for block in narrow.iter_slices(_BLOCK))], rechunk=True)


def _placed(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    mine = owned(hits.with_row_index("hit"), trace).select("hit", "session", "event")
    return (
        mine.join(trace.events.select("event", "seq"), on="event", how="left", maintain_order="left")
        .join(trace.sessions.select("session", "first_event"), on="session", how="left", maintain_order="left")
        .sort("hit")
        .select("first_event", "seq")
    )


def rows_of(frame: pl.DataFrame, key: str, wanted: pl.Series) -> pl.DataFrame:
    """The few rows of a frame that the hits need."""
    if wanted.null_count() == wanted.len():
        return frame.clear()
    return frame.filter(pl.col(key).is_in(wanted.drop_nulls().implode()))
