"""A result was owed and none came.

What it says: which of five it is. The call was never started: no result came although the session went on, be it that
the next request was sent without one (error). Its turn was cancelled or failed with it, and the session went on
(warning; error where the wire keeps the hole in the history). The history that was resent leaves the call out, as
hosts do whose answer is the call itself, or no request is recorded at all (a hint). The recording ends while it waits
(information). Or no snapshot says whether it was owed at all (a hint).
Why it matters: the model goes on without the answer, guesses it, or the next request is refused for the hole.
Bad:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    end
    turn
    say Your order is on its way.
    end
Good:
    tool get_order {"type":"object"}
    tool print_label {"type":"object"} async
    turn
    item c0 get_order {"id":"ord_0"}
    done c0
    call c1 get_order {"id":"ord_1"}
    result c1 ok {}
    call c2 print_label {}
    end
    idle
Blind spots: a result that was posted from elsewhere and not recorded looks the same. Where a record of the log cannot
be read it is a hint: the result may stand in it. Asynchronous tools owe nothing by
a certain time and are not judged.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.debts import ACTIONS, async_tools, left_out, snapshots, unread, went_on
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace

_STOPPED = ("cancelled", "failed")


def check(trace: Trace) -> pl.DataFrame:
    """Client calls without a result, with what became of them."""
    waiting = trace.calls.filter(trace.calls["result"].is_null() & (trace.calls["owed_by"] == "client"))
    open_calls = _without(
        waiting.filter(
            # A call of these wires needs no id.
            pl.col("call_id").is_not_null() | pl.col("wire").is_in(["gemini", "ollama"]),
            # A request that was cancelled over MCP is not to be answered.
            (pl.col("wire") != "mcp-jsonrpc") | (pl.col("status") != "cancelled").fill_null(value=True),
            # A reply that was thrown away and made anew leaves no debt.
            pl.col("status").ne_missing("abandoned"),
        ),
        async_tools(trace),
        _awaiting_approval(trace).rename({"request_id": "call_id"}),
    ).sort("call")
    if open_calls.is_empty():
        return hits(())
    listed = snapshots(trace)["session"].unique()
    refusals = trace.result_sightings.filter(~trace.result_sightings["accepted"])
    refused = (
        refusals.sort("event")
        .unique(["session", "pair_id"], keep="first", maintain_order=True)
        .select("session", "pair_id", refused="event")
    )
    owed = (
        (pl.col("wire") != ACTIONS)
        | pl.col("action_seq").is_not_null()
        | ~pl.col("session").is_in(listed.implode()).fill_null(value=False)
    )
    found = (
        went_on(trace, open_calls.filter(owed))
        .join(refused, on=["session", "pair_id"], how="left", maintain_order="left")
        .with_columns(unread=unread(trace), left_out=pl.col("call").is_in(left_out(trace, open_calls).implode()))
    )
    return hits(_hit(row) for row in found.iter_rows(named=True))


def _awaiting_approval(trace: Trace) -> pl.DataFrame:
    """The requests for approval that nobody has decided: until then their calls, which they name, owe nothing."""
    decided = trace.approvals.filter(pl.col("stage") == "decision").select("session", "request_id")
    asked = trace.approvals.filter(pl.col("stage") == "request", pl.col("decision").is_null())
    return asked.select("session", "request_id").join(decided, on=["session", "request_id"], how="anti")


def _hit(row: dict[str, Any]) -> dict[str, Any]:
    actions = row["wire"] == ACTIONS
    name, call_id = row["name"] or "a tool", row["call_id"]
    which = f"call {call_id} of {name}" if call_id is not None else f"call of {name}"
    stopped = row["ended"] in _STOPPED
    moved = row["after"] if stopped or not actions else row["later"] or row["gone"] or row["ended"] == "completed"
    hit: dict[str, Any] = {
        "call": row["call"],
        "hint": "Answer every call that is owed a result, with a failure if need be, before the session goes on.",
        "related": [place(row["refused"], "", "refused result", call_id)] if row["refused"] is not None else None,
    }
    if actions and row["action_seq"] is None:
        how, hit["severity"], hit["confidence"] = "unknown", "info", "hint"
        told = "has no result, and no snapshot says whether one was owed"
    elif not moved and stopped:
        how, hit["severity"] = "cancelled", "info"
        told = f"has no result; its turn {_ended(row['ended'])} and nothing came after"
    elif not moved:
        how, hit["severity"] = "waiting", "info"
        told = "has no result yet: the recording ends while it waits"
    elif stopped:
        how, hit["severity"] = "cancelled", "warning" if actions else None
        told = f"has no result: its turn {_ended(row['ended'])} with it, and the session went on"
    elif row["left_out"]:
        how, hit["severity"], hit["confidence"] = "left out", "info", "hint"
        told = "has no result, and nothing that is recorded of what was sent on holds the call: it may have run"
    else:
        how, told = (
            "never started",
            "has no result although the session went on: it was never started, or its result got lost",
        )
    if row["unread"] and hit.get("severity") != "info":
        hit |= {"severity": "warning", "confidence": "hint"}
    if row["refused"] is not None:
        told += "; a result that was posted for it was refused"
    return {**hit, "keyword": how, "message": f"The {which} {told}."}


def _without(calls: pl.DataFrame, *excused: pl.DataFrame) -> pl.DataFrame:
    for each in excused:
        if each.height:
            calls = calls.join(each, on=each.columns, how="anti", maintain_order="left")
    return calls


def _ended(status: str) -> str:
    return "failed" if status == "failed" else f"was {status}"
