"""The schema a tool is advertised with is not the one it is executed by.

What it says: the contract file (or code) and the advertised schema accept different values; or the executor refused
arguments that the advertised schema accepts and named the member; or one file recorded the model's table and the own
listing of the server whose tool it is (`TOOL`, `SERVER_TOOL`, `mcp__SERVER__TOOL`), and they differ. The message says
which side is wider, and whom that breaks.
Why it matters: the model keeps to the contract that it was shown and is refused all the same, or it is allowed what
the tool was never built for. No retry helps.
Bad:
    tool find {"type":"object","properties":{"limit":{"type":["integer","null"]}},"required":["limit"]}
    call c1 find {"limit":null}
    result c1 failed limit: expected number, received null
Good:
    tool find {"type":"object","properties":{"limit":{"type":"integer","description":"How many."}},"required":["limit"]}
    contract find {"required":["limit"],"properties":{"limit":{"type":"integer"}},"type":"object"}
    call c1 find {"limit":5}
    result c1 failed limit exceeded: at most 5 searches per day
Blind spots: a refusal is evidence only in the words of a validator. Schemas that differ where neither a proof nor a
recorded call decides are told as a hint. In a session that is judged in windows only calls of one window decide.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.drift.declared import contract_drift
from analyzer.rules.drift.other_wire import other_wire_drift
from analyzer.rules.drift.wordings import worded
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import layers
from analyzer.rules.results import failing
from analyzer.trace import Trace
from analyzer.visible import visible


def check(trace: Trace) -> pl.DataFrame:
    """Tools whose contract file differs, or whose executor says so: once per session, tool and what differs."""
    declared = contract_drift(trace)
    known = {(hit["session"], hit["tool"]) for role, hit in declared if role == "arguments"}
    refused = [hit for session, hit in _refusals(trace) if (session, hit["tool"]) not in known]
    return hits([*(hit for _, hit in declared), *refused])


def check_across(trace: Trace) -> pl.DataFrame:
    """Tools of a model's table that the server lists otherwise, where one file recorded both wires."""
    return hits(other_wire_drift(trace))


def _refusals(trace: Trace) -> list[tuple[str, dict[str, Any]]]:
    failed = failing(trace).with_columns(said=pl.when(pl.col("error") != "").then("error").otherwise("text"))
    failed = failed.filter(worded(pl.col("said")))
    if failed.is_empty():
        return []
    valid = trace.verdicts.filter(
        pl.col("call").is_in(failed["call"].drop_nulls().implode()),
        pl.col("role") == "arguments",
        pl.col("side") == "advertised",
        pl.col("verdict_is") == "valid",
    )
    if valid.is_empty():
        return []
    from analyzer.rules.drift.refusal import refusal  # its wordings take longer to compile than most audits need them

    calls = trace.calls.select("call", "call_id", "event", "pointer", arguments="text")
    rows = (
        failed.join(valid.select("call", "verdict", "schema_id", "offer_event", "offer_pointer", "channel"), on="call")
        .join(calls, on="call", suffix="_of_call")
        .sort("call")
    )
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        _, arguments = layers(row["arguments"] or "{}")
        refused = refusal(row["said"], arguments)
        if refused is None:
            continue
        key = (row["session"], row["tool"], row["schema_id"], refused.place, refused.constraint)
        if key in found:
            continue
        member = visible(refused.place, limit=80) or "the arguments"
        found[key] = {
            **{
                name: row[name]
                for name in ("result", "call", "tool", "schema_id", "offer_event", "offer_pointer", "channel")
            },
            "message": f"The executor refuses {member} ({refused.constraint}), and the advertised schema accepts it.",
            "hint": "Advertise what the executor enforces: generate both from one definition.",
            "confidence": "likely",
            "keyword": refused.constraint,
            "instance_pointer": refused.place,
            "related": [place(row["event_of_call"], row["pointer_of_call"], "the call", row["call_id_of_call"])],
        }
    return [(key[0], hit) for key, hit in found.items()]
