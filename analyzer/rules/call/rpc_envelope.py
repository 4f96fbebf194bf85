"""The JSON-RPC envelope of a message is broken.

Wire: MCP

What it says: a request id was used again while its first request was still open, a response holds both a result and an
error or neither of them, or the version or the id is not what the protocol wants.
Why it matters: an answer cannot be given to its request; clients hang, or take another call's answer.
Bad:
    {"jsonrpc":"2.0","id":7,"method":"tools/call"}, {"jsonrpc":"2.0","id":7,"method":"tools/call"}
Good:
    {"jsonrpc":"2.0","id":7,"method":"tools/call"}, {"jsonrpc":"2.0","id":7,"result":{}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
Blind spots: the two directions of a connection have ids of their own, which a log that does not say the direction
mixes. A response without a request is result-orphan.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.envelope import MCP, envelope_faults
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace

_KEYWORDS = {"jsonrpc": "version", "id": "id", "result": "neither"}
_HINT = "Let every request of a connection have an id of its own, and every response one of result and error."


def check(trace: Trace) -> pl.DataFrame:
    """Ids reused in flight, responses with both members, and what the reader found wrong with the envelope."""
    return pl.concat([_in_flight(trace), _both(trace), _envelope(trace)])


def _in_flight(trace: Trace) -> pl.DataFrame:
    by = ["session", "call_id"]
    answers = trace.results.select("result", answered="seq")
    found = (
        trace.calls.filter(pl.col("wire") == MCP, pl.col("call_id").is_not_null(), pl.len().over(by) > 1)
        .join(answers, on="result", how="left", maintain_order="left")
        .sort("seq", "call")
        .with_columns(
            was_open=pl.col("answered").shift(1).over(by),
            first=pl.col("event").shift(1).over(by),
            where=pl.col("pointer").shift(1).over(by),
        )
        .filter(
            pl.col("first").is_not_null(),
            (pl.col("was_open") > pl.col("seq")).fill_null(value=True),
        )
    )
    return hits(
        {
            "call": row["call"],
            "keyword": "id",
            "message": f"The request id {row['call_id']} is used again while its first request is still open.",
            "hint": _HINT,
            "related": [place(row["first"], row["where"], "open request", row["call_id"])],
        }
        for row in found.iter_rows(named=True)
    )


def _both(trace: Trace) -> pl.DataFrame:
    found = (
        trace.results.filter(pl.col("wire") == MCP, pl.col("error").is_not_null(), pl.col("text").is_not_null())
        .filter(pl.col("error") != pl.col("text"))
        .sort("result")
    )
    return hits(
        {
            "result": row["result"],
            "call": row["call"],
            "keyword": "both",
            "message": f"The response to {row['call_id']} holds both a result and an error.",
            "hint": _HINT,
        }
        for row in found.iter_rows(named=True)
    )


def _envelope(trace: Trace) -> pl.DataFrame:
    found = envelope_faults(trace)
    # A result of another type is LOG010's, and nothing is missing there.
    odd = trace.faults.filter(pl.col("fault") == "member_type", pl.col("pointer").str.ends_with("/result"))["event"]
    found = found.filter((pl.col("member") != "result") | ~pl.col("event").is_in(odd.implode()))
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": row["pointer"] if row["fault"] == "member_type" else "",
            "keyword": _KEYWORDS[row["member"]],
            "message": "A response holds neither a result nor an error."
            if row["member"] == "result"
            else f"The message's {row['member']} is not what the protocol wants: {row['detail'] or 'missing'}.",
            "hint": _HINT,
        }
        for row in found.sort("event", "pointer").iter_rows(named=True)
    )
