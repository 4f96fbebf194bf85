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

from analyzer.rules.hits import hits
from analyzer.trace import Trace

_HINT = "Send the published shape; check requests against the client library's types before they go out."
# Members of a function in the table of a create or update request.
_REQUIRED = ("name", "description", "parameters")
_FAULTS = ("member_type", "member_missing")


def check(trace: Trace) -> pl.LazyFrame:
    """The reader's faults, posted results without a required member, and functions without one."""
    return pl.concat([_faults(trace), _posts(trace), hits(_functions(trace))])


def _faults(trace: Trace) -> pl.LazyFrame:
    kinds = trace.events.lazy().select("event", "kind", "type")
    found = (
        trace.faults.lazy()
        # What is wrong with the envelope itself is CALL016's.
        .filter(pl.col("fault").is_in(list(_FAULTS)), ~pl.col("pointer").is_in(["/jsonrpc", "/id"]))
        .join(kinds, on="event", how="left", maintain_order="left")
        .sort("event", "pointer")
        .collect()
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


def _posts(trace: Trace) -> pl.LazyFrame:
    posted = trace.result_sightings.lazy().filter(pl.col("stage") == "post", pl.col("wire") == "openai-agents-api")
    absent = [
        posted.filter(pl.col(column).is_null()).select("session", "turn", "call_id", "event", member=pl.lit(member))
        for column, member in (("success", "success"), ("turn", "turn_id"))
    ]
    known = (
        trace.faults.lazy()
        .filter(pl.col("fault").is_in(list(_FAULTS)))
        .select("event", member=pl.col("pointer").str.strip_prefix("/"))
    )
    found = pl.concat(absent).join(known, on=["event", "member"], how="anti").sort("event", "member").collect()
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


def _functions(trace: Trace) -> Iterator[dict[str, Any]]:
    shown = (
        trace.showings.lazy()
        .filter(pl.col("channel").is_in(["create", "update"]), pl.col("table").is_not_null())
        .sort("event")
        .unique(["session", "table"], keep="first", maintain_order=True)
        .join(trace.tables.lazy().filter(pl.col("shape") == "openai"), on="table")
        .sort("event")
        .collect()
    )
    for row in shown.iter_rows(named=True):
        try:
            tools = msgspec.json.decode(row["text"])
        except (msgspec.DecodeError, RecursionError):
            continue
        for index, tool in enumerate(tools if isinstance(tools, list) else []):
            if not isinstance(tool, dict) or tool.get("type") != "function":
                continue
            missing = [name for name in _REQUIRED if name not in tool]
            if missing:
                yield {
                    "session": row["session"],
                    "event": row["event"],
                    "pointer": f"{row['pointer']}/{index}",
                    "keyword": "member_missing",
                    "instance_pointer": f"/{missing[0]}",
                    "message": f"The function {tool.get('name') or index} is requested "
                    f"without {' and '.join(missing)}.",
                    "hint": _HINT,
                }
