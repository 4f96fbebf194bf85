"""A request or a posted input breaks the published shape.

What it says: which member of a session create or update request, or of a posted input, is missing or has another type
than the wire says. A member of a server's own event with another type is information: it was left out when reading.
Why it matters: the server refuses the request, or drops the member in silence, and the session goes on without it.
Bad:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {}
    line {"type":"agent.session.input.tool_result","turn_id":"t1","call_id":"c1","output":"{}"}
    end
Good:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {}
    result c1 ok {}
    end
Blind spots: outputs and arguments of a wrong type have rules of their own. Limits of length are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from analyzer.rules.envelope import envelope_faults
from analyzer.rules.hits import NONE, hits, joined
from analyzer.rules.sightings import staged
from analyzer.trace import Trace
from analyzer.visible import visible

_HINT = "Send the published shape; check requests against the client library's types before they go out."
# Members of a function in the table of a create or update request.
_REQUIRED = ("name", "description", "parameters")
_DECISION = "agent.session.input.mcp_approval_request_result"
_DECISIONS = ("approve", "deny", "cancel")
_FAULTS = ("member_type", "member_missing")


def check(trace: Trace) -> pl.DataFrame:
    """The reader's faults, posted results and decisions without a required member, and functions without one."""
    return joined(_faults(trace), _posts(trace), hits(_decisions(trace)), hits(_functions(trace)))


def _faults(trace: Trace) -> pl.DataFrame:
    if trace.faults.is_empty():
        return NONE
    kinds = trace.events.select("event", "kind", "type")
    found = (
        trace.faults
        # What is wrong with the envelope itself is CALL016's.
        .filter(pl.col("fault").is_in(list(_FAULTS)))
        .join(envelope_faults(trace), on=["event", "fault", "pointer"], how="anti", maintain_order="left")
        .join(kinds, on="event", how="left", maintain_order="left")
        .sort("event", "pointer")
    )
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": row["pointer"] if row["fault"] == "member_type" else "",
            "keyword": row["fault"],
            "instance_pointer": row["pointer"],
            "severity": None if row["kind"] in ("request", "input") else "info",
            "message": f"{row['type'] or 'A record'}: {row['pointer']} {_told(row['fault'], row['detail'])}.",
            "hint": _HINT,
        }
        for row in found.iter_rows(named=True)
    )


def _told(fault: str, detail: str | None) -> str:
    return "is missing" if fault == "member_missing" else f"has another type than the wire says ({detail})"


def _posts(trace: Trace) -> pl.DataFrame:
    posts = staged(trace, "result_sightings", "post")
    posted = posts.filter(
        (posts["success"].is_null() | posts["turn"].is_null()) & (posts["wire"] == "openai-agents-api")
    )
    if posted.is_empty():
        return NONE
    absent = [
        posted.filter(pl.col(column).is_null()).select("session", "turn", "call_id", "event", member=pl.lit(member))
        for column, member in (("success", "success"), ("turn", "turn_id"))
    ]
    known = trace.faults.filter(pl.col("fault").is_in(list(_FAULTS))).select(
        "event", member=pl.col("pointer").str.strip_prefix("/")
    )
    found = pl.concat(absent).join(known, on=["event", "member"], how="anti").sort("event", "member")
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "call_id": row["call_id"],
            "event": row["event"],
            "pointer": "",
            "keyword": "member_missing",
            "instance_pointer": f"/{row['member']}",
            "message": f"The posted result of {row['call_id'] or 'a call'} has no {row['member']}.",
            "hint": _HINT,
        }
        for row in found.iter_rows(named=True)
    )


def _decisions(trace: Trace) -> Iterator[dict[str, Any]]:
    decided = trace.approvals.filter(trace.approvals["stage"] == "decision")
    odd = decided.filter(
        pl.col("request_id").is_null() | ~pl.col("decision").is_in(_DECISIONS).fill_null(value=False)
    ).join(trace.events.filter(pl.col("type") == _DECISION).select("event"), on="event", how="semi")
    for row in odd.sort("event").iter_rows(named=True):
        named = visible(row["request_id"] or "a request", limit=60)
        if row["request_id"] is None:
            member, wrong = "request_id", "names no request_id"
        elif row["decision"] is None:
            member, wrong = "response/decision", "decides nothing"
        else:
            member, wrong = (
                "response/decision",
                f"is {visible(row['decision'], limit=40)}, which the wire does not know",
            )
        yield {
            "session": row["session"],
            "turn": row["turn"],
            "event": row["event"],
            "pointer": "",
            "keyword": "member_missing" if row["decision"] is None or member == "request_id" else "enum",
            "instance_pointer": f"/{member}",
            "message": f"The posted decision on {named} {wrong}.",
            "hint": _HINT,
        }


def _functions(trace: Trace) -> Iterator[dict[str, Any]]:
    asked = trace.showings.filter(pl.col("channel").is_in(["create", "update"]), pl.col("table").is_not_null())
    if asked.is_empty():
        return
    shown = (
        asked.sort("event")
        .unique(["session", "table"], keep="first", maintain_order=True)
        .join(trace.tables.filter(pl.col("shape") == "openai").select("table"), on="table", maintain_order="left")
    )
    wanted = trace.tables.filter(pl.col("table").is_in(shown["table"].implode()))
    lacking = {table: list(_lacking(text)) for table, text in wanted.select("table", "text").iter_rows()}
    for session, event, pointer, table in shown.select("session", "event", "pointer", "table").iter_rows():
        for index, name, missing in lacking[table]:
            yield {
                "session": session,
                "event": event,
                "pointer": f"{pointer}/{index}",
                "keyword": "member_missing",
                "instance_pointer": f"/{missing[0]}",
                "message": f"The function {name or index} is requested without {' and '.join(missing)}.",
                "hint": _HINT,
            }


def _lacking(table: str) -> Iterator[tuple[int, Any, list[str]]]:
    """The functions of a tool table that lack required members: place, name, what is missing."""
    try:
        tools = msgspec.json.decode(table)
    except (msgspec.DecodeError, RecursionError):
        return
    for index, tool in enumerate(tools if isinstance(tools, list) else []):
        if isinstance(tool, dict) and tool.get("type") == "function":
            missing = [name for name in _REQUIRED if name not in tool]
            if missing:
                yield index, tool.get("name"), missing
