"""A call id is missing, empty, too long, or written in characters that the wire refuses.

What it says: what is wrong with the id, and the wire's limit. Calls and posted results alike.
Why it matters: the next request that carries the id is refused, or the result finds no call; a session that was recorded
with one provider then cannot be continued with another.
Bad:
    tool get_order {"type":"object"}
    turn
    event {"type":"agent.session.turn.item.added","event_id":"x1","session_id":"s1","turn_id":"t1","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"","name":"get_order","arguments":{},"status":"in_progress","turn_id":"t1"}}
    end
Good:
    tool get_order {"type":"object"}
    server docs
    turn
    call c1 get_order {}
    result c1 ok {}
    mcp m1 docs search {} ok found
    end
Blind spots: in a body that was kept as text a missing id is a hint. The Agents API states no limit of length or characters, so only missing and empty ids count there. Wires
that pair by position are not looked at, nor are the `function_call` of chat completions, which never had an id, and
calls that the provider could not read.
"""  # noqa: E501 - a wire line is one line

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.hits import NONE, hits, joined
from analyzer.rules.sightings import staged
from analyzer.trace import Trace
from analyzer.visible import visible

# Longest id and allowed characters, where the wire states them.
_LIMITS: dict[str, tuple[int | None, str | None]] = {
    "openai-agents-api": (None, None),
    "openai-responses": (64, None),
    "openai-chat": (None, None),
    "codex-rollout": (None, None),
    "anthropic-messages": (None, "^[a-zA-Z0-9_-]+$"),
    "claude-code-jsonl": (None, "^[a-zA-Z0-9_-]+$"),
}

_NO_ID = pl.col("call_id").is_null() | (pl.col("call_id").str.strip_chars() == "")
_PLAIN = "^[a-zA-Z0-9_-]{1,64}$"


def check(trace: Trace) -> pl.DataFrame:
    """Calls first, then required actions of known calls and results whose own id is missing or empty."""
    return joined(_calls(trace), _actions(trace), _results(trace))


def _calls(trace: Trace) -> pl.DataFrame:
    call_id = trace.calls["call_id"]
    # Whatever the wire: what is short and of plain characters is no bad id anywhere.
    odd = call_id.is_null() | ~call_id.str.contains(_PLAIN)
    if not odd.any():
        return NONE
    called = trace.calls.filter(odd).filter(
        pl.col("wire").is_in(list(_LIMITS)),
        pl.col("kind").is_in(["function", "custom"]),
        # What chat completions had before tools has no ids, nor has a call that the provider gave to nobody.
        call_id.filter(odd).is_not_null()
        | ~pl.col("pointer").str.contains("/function_call(?:/|$)") & pl.col("owed_by").ne_missing("nobody"),
    )
    found = (
        called.filter(pl.any_horizontal(_bad()))
        .sort("call")
        .select("call", "call_id", "wire", "event", "pointer", "name")
    )
    return hits(
        {
            "call": row["call"],
            "event": row["event"],
            "pointer": _item(row["pointer"]),
            "keyword": "call_id",
            "message": f"The call of {row['name'] or 'a tool'} {_wrong(row['call_id'], row['wire'])}.",
            "hint": "Keep the id that the model's provider gave; do not build ids out of names.",
            # In a body that was kept as text a `function_call`, which never had an id, looks the same.
            **({"severity": "warning", "confidence": "hint"} if _may_be_older(row) else {}),
        }
        for row in found.iter_rows(named=True)
    )


def _may_be_older(row: dict[str, Any]) -> bool:
    return row["call_id"] is None and row["wire"] == "openai-chat" and "/tool_calls/" not in (row["pointer"] or "")


def _actions(trace: Trace) -> pl.DataFrame:
    actions = staged(trace, "call_sightings", "action").filter(_NO_ID, pl.col("call").is_not_null())
    if actions.is_empty():
        return NONE
    known = trace.calls.filter(~_NO_ID).select("call", "name")
    found = actions.sort("seq", "event").unique("call", keep="first", maintain_order=True)
    rows = found.select("call", "call_id", "event", "pointer", "wire").join(known, on="call", maintain_order="left")
    return hits(
        {
            "call": row["call"],
            "event": row["event"],
            "pointer": _item(row["pointer"]),
            "keyword": "call_id",
            "message": f"The required action for {row['name'] or 'a tool'} {_wrong(row['call_id'], row['wire'])}.",
            "hint": "Answer it under the id of its call, and ask whoever lists the actions to name it.",
        }
        for row in rows.iter_rows(named=True)
    )


def _results(trace: Trace) -> pl.DataFrame:
    found = staged(trace, "result_sightings", "post").filter(_NO_ID, pl.col("wire") == "openai-agents-api")
    if found.is_empty():
        return NONE
    # Where the call itself has no id, its result cannot have one.
    called = trace.calls.filter(_NO_ID)["session"].unique()
    found = found.filter(~pl.col("session").is_in(called.implode()))
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "event": row["event"],
            "pointer": "",
            "keyword": "call_id",
            "message": f"The posted result {_wrong(row['call_id'], row['wire'])}, so it answers no call.",
            "hint": "Post the result with the call id and the turn id of its required action.",
        }
        for row in found.sort("event").iter_rows(named=True)
    )


def _item(pointer: str | None) -> str:
    """The item that the arguments at a pointer belong to."""
    return (pointer or "").rpartition("/")[0]


def _wrong(call_id: str | None, wire: str) -> str:
    if call_id is None:
        return "has no call id"
    if not call_id.strip():
        return "has an empty call id"
    longest, _ = _LIMITS[wire]
    if longest is not None and len(call_id) > longest:
        return f"has a call id of {len(call_id)} characters; the limit is {longest}"
    return f"has the call id {visible(call_id, limit=60)}, which holds characters that the wire refuses"


def _bad() -> list[pl.Expr]:
    call_id = pl.col("call_id")
    wrong = [call_id.is_null(), call_id.str.strip_chars() == ""]
    for wire, (longest, characters) in _LIMITS.items():
        if longest is not None:
            wrong.append((pl.col("wire") == wire) & (call_id.str.len_chars() > longest))
        if characters is not None:
            wrong.append((pl.col("wire") == wire) & ~call_id.str.contains(characters))
    return wrong
