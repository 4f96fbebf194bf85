"""A result does not stand where the wire wants it, right behind its call.

Wire: chat completions, Anthropic messages

What it says: what stands between the call and its result. In chat completions only other results may; in Anthropic
messages the results are the first blocks of the very next message.
Why it matters: the ids match and the request is refused all the same, for as long as it holds this history.
Bad:
    assistant: tool_calls [call_1]
    system: Answer in English.
    tool: call_1 all well
    assistant: tool_use toolu_1
    user: [text "And then?", tool_result toolu_1]
Good:
    assistant: tool_calls [call_1, call_2]
    tool: call_2 none
    tool: call_1 all well
    system: Answer in English.
Blind spots: a request whose body was not recorded cannot be looked at. Wires without such an order are not judged.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.rules.order import record_of
from analyzer.trace import Trace

_WIRES = ("openai-chat", "anthropic-messages")


def check(trace: Trace) -> pl.DataFrame:
    """Pairs inside one request with a message between them, and results behind another block of their message."""
    return pl.concat([_apart(trace), _behind(trace)], how="diagonal")


def _behind(trace: Trace) -> pl.DataFrame:
    """Of each message the first result that stands behind a block that is none."""
    block = pl.col("pointer").str.extract(r"/messages/\d+/content/(\d+)(?:/|$)").cast(pl.Int64, strict=False)
    told = pl.col("stage").is_in(["history", "message"]) & (pl.col("wire") == "anthropic-messages")
    calls = trace.calls.select("session", "pair_id", "call", "owed_by").unique(["session", "pair_id"], keep="first")
    found = (
        trace.result_sightings.filter(told)
        .select("session", "pair_id", "event", "pointer", block=block)
        .join(calls, on=["session", "pair_id"], how="left", maintain_order="left")
        # Those of the server's own tools stand in the reply.
        .filter(pl.col("block").is_not_null(), pl.col("owed_by").ne_missing("server"))
        .sort("event", "block")
        .with_columns(nth=pl.int_range(pl.len()).over("event"))
        .filter(pl.col("block") > pl.col("nth"))
        .unique("event", keep="first", maintain_order=True)
        # A history is sent again and again: its first showing is the fault.
        .unique(["session", "pair_id"], keep="first", maintain_order=True)
    )
    return hits(
        {
            "session": row["session"],
            "call": row["call"],
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": "behind",
            "message": f"Another block stands before the result of call {row['pair_id']} in its message.",
            "hint": "Put the results first, and what else the user says behind them.",
        }
        for row in found.iter_rows(named=True)
    )


def _apart(trace: Trace) -> pl.DataFrame:
    index = pl.col("pointer").str.extract(r"/messages/(\d+)(?:/|$)").cast(pl.Int64, strict=False)
    # A result stands in a request for the first time as its message, later as history.
    history = pl.col("stage").is_in(["history", "message"]) & pl.col("wire").is_in(list(_WIRES))
    calls = trace.call_sightings.filter(history).select(
        "call", "pair_id", "wire", record=record_of("event"), called=index, at="event", where="pointer"
    )
    results = trace.result_sightings.filter(history).select(
        "session", "pair_id", "event", "pointer", record=record_of("event"), answered=index
    )
    # With one id used several times, a result belongs to the nearest call before it.
    pairs = (
        results.filter(pl.col("pair_id").is_not_null(), pl.col("answered").is_not_null())
        .sort("answered", "event")
        .join_asof(
            calls.filter(pl.col("called").is_not_null()).sort("called", "at"),
            left_on="answered",
            right_on="called",
            by=["record", "pair_id"],
            allow_exact_matches=False,
            check_sortedness=False,
        )
    )
    between = trace.messages.select("role", record=record_of("event"), placed=index).filter(
        pl.col("placed").is_not_null(), pl.col("role") != "tool"
    )
    found = (
        pairs.filter(pl.col("answered") > pl.col("called") + 1)
        .sort("called")
        .join_asof(
            between.sort("placed", "role"),
            left_on="called",
            right_on="placed",
            by="record",
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("placed") < pl.col("answered"))
        .sort("event", "pointer")
        .unique("call", keep="first", maintain_order=True)
    )
    return hits(
        {
            "session": row["session"],
            "call": row["call"],
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": "between",
            "message": f"A message of the {row['role'] or 'other side'} stands between the call {row['pair_id']} "
            "and its result.",
            "hint": "Put every result right behind its call, and other messages after the results.",
            "related": [place(row["at"], row["where"], "call", row["pair_id"])],
        }
        for row in found.iter_rows(named=True)
    )
