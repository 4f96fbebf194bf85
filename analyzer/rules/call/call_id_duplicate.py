"""One call id names two different calls.

What it says: within the scope in which the wire wants ids to be unique (a turn of the Agents API, a message list of
Anthropic, one reply elsewhere) an id stands on two calls: another item, another tool. The earlier one is given.
Why it matters: a result names its call by this id alone. One of the two calls gets the other's answer, or none.
Bad:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    result c1 ok {}
    event {"type":"agent.session.turn.item.added","event_id":"x1","session_id":"s1","turn_id":"t1","output_index":1,"item":{"type":"function_call","id":"fc_other","call_id":"c1","name":"close_order","arguments":{"id":"ord_1"},"status":"in_progress","turn_id":"t1"}}
    end
Good:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    again
    result c1 ok {}
    end
    turn
    call c1 get_order {"id":"ord_2"}
    result c1 ok {}
    end
Blind spots: on wires whose ids may begin anew with each reply, only one reply is looked at.
"""  # noqa: E501 - a wire line is one line

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace

# Where an id must be unique in the whole session (each subagent has a message list of its own), and where in a turn;
# elsewhere it must be in one reply.
_SESSION = ("anthropic-messages", "claude-code-jsonl", "managed-agents", "mcp-jsonrpc")
_TURN = ("openai-agents-api",)


def check(trace: Trace) -> pl.DataFrame:
    """Every call whose id another call of its scope had before."""
    wire = pl.col("wire")
    scope = (
        pl.when(wire.is_in(list(_SESSION)))
        .then(sentence("agent {}", pl.col("subagent").fill_null("")))
        .when(wire.is_in(list(_TURN)))
        .then(sentence("turn {}", pl.col("turn").fill_null("")))
        .otherwise(sentence("reply {}", "reply"))
    )
    calls = trace.calls.filter(trace.calls["call_id"].is_duplicated() & (trace.calls["call_id"] != ""))
    if calls.is_empty():
        return hits(())
    by = ["session", "wire", "scope", "call_id"]
    named = calls.select("call", "session", "wire", "call_id", "name", "event", "pointer", "seq", "result", scope=scope)
    again = (
        named.filter(pl.col("scope").is_not_null(), pl.len().over(by) > 1)
        .sort("seq", "call")
        .with_columns(
            ordinal=pl.int_range(pl.len()).over(by),
            first=pl.col("event").first().over(by),
            where=pl.col("pointer").first().over(by),
            was=pl.col("name").first().over(by),
            answer=pl.col("result").first().over(by),
        )
        .filter(pl.col("ordinal") > 0)
        .join(trace.results.select(answer="result", answered="seq"), on="answer", how="left", maintain_order="left")
        # An id that is used again while its first request is open breaks the envelope (rpc-envelope).
        .filter((pl.col("wire") != "mcp-jsonrpc") | (pl.col("answered") < pl.col("seq")))
    )
    return hits(
        {
            "call": row["call"],
            "keyword": "call_id",
            "message": f"The call id {row['call_id']} names two calls: {_both(row['was'], row['name'])}.",
            "hint": "Give every call an id of its own; until then a result cannot say which of them it answers.",
            "related": [place(row["first"], row["where"], "first call with this id", row["call_id"])],
        }
        for row in again.iter_rows(named=True)
    )


def _both(was: str | None, name: str | None) -> str:
    return f"first {was or 'a call'}, then {name or 'another'}" if was != name else f"both of {name or 'unnamed tools'}"
