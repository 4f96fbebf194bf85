"""The schema a tool is advertised with is not the one it is executed by.

What it says: the contract file and the advertised schema accept different values, or the executor refused arguments
that the advertised schema accepts and named the member. The message says which side is wider, and whom that breaks.
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
recorded call decides are told as a hint.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.drift.refusal import refusal
from analyzer.rules.drift.versions import direction, told
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import FLAGGED_WIRES, NO_JSON, decode, layers
from analyzer.trace import Trace

_PAYLOADS = 200


def check(trace: Trace) -> pl.LazyFrame:
    """Tools whose contract file differs, and tools whose executor says that it does; each pair of schemas once."""
    declared = list(_by_contract(trace))
    known = {row["tool"] for row in declared if row.pop("arguments")}
    refused = [row for row in _by_refusal(trace) if row["tool"] not in known]
    return hits([*declared, *refused])


def _by_contract(trace: Trace) -> list[dict[str, Any]]:
    contracts = trace.contracts.lazy().select("server", "name", "role", "file", executed="schema_id")
    bare = pl.col("tool").str.replace("^.*:", "")
    server = pl.col("tool").str.extract("^(?:mcp|namespace):([^:]*):")
    offers = (
        trace.offers.lazy()
        .filter(pl.col("state") == "offered", pl.col("schema_id").is_not_null())
        .with_columns(name=bare, at=server)
        .join(contracts, on=["name", "role"], maintain_order="left")
        .filter(
            pl.col("server").is_null() | (pl.col("server") == pl.col("at")), pl.col("schema_id") != pl.col("executed")
        )
        .sort("event", "tool", "role", "file")
        .group_by("tool", "role", "schema_id", "executed", maintain_order=True)
        .agg(
            pl.col("session", "event", "pointer", "channel", "strict", "file").first(),
            pl.col("session").n_unique().alias("sessions"),
        )
        .collect()
    )
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows()) if len(offers) else {}
    found = []
    for row in offers.iter_rows(named=True):
        a, b = (decode(texts.get(row[side]) or "") for side in ("schema_id", "executed"))
        if a is NO_JSON or b is NO_JSON:
            continue
        calls = _disagreeing(trace, row["tool"], row["role"])
        said = direction(
            a, b, row["role"], strict=bool(row["strict"]), payloads=_payloads(trace, row["tool"], row["role"])
        )
        if said is None:
            continue
        many = (
            f" from those advertised in {row['sessions']} sessions" if row["sessions"] > 1 else " from those advertised"
        )
        on = f" They disagree on {len(calls)} recorded call{'s' if len(calls) > 1 else ''}." if calls else ""
        found.append(
            {
                **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
                "offer_event": row["event"],
                "offer_pointer": row["pointer"],
                "contract_file": row["file"],
                "message": f"{told(row['role'])} of the contract file differ{many}: {said.words}.{on}",
                "hint": "Advertise what the executor enforces: generate both from one definition.",
                "severity": None if said.breaks else "warning",
                "confidence": said.confidence,
                "keyword": said.relation,
                "schema_pointer": said.pointer,
                "related": calls[:5] or None,
                "arguments": row["role"] == "arguments",
            }
        )
    return found


def _payloads(trace: Trace, tool: str, role: str) -> list[Any]:
    """Recorded payloads of a tool, to look for a witness among."""
    frame = trace.calls if role == "arguments" else trace.results
    texts = (
        frame.lazy()
        .filter(pl.col("tool") == tool, pl.col("text").is_not_null())
        .select("text")
        .head(_PAYLOADS)
        .collect()
    )
    return [value for (text,) in texts.iter_rows() for count, value in (layers(text),) if count]


def _disagreeing(trace: Trace, tool: str, role: str) -> list[dict[str, Any]]:
    """The recorded calls that one side accepts and the other refuses, as places."""
    sides = (
        trace.verdicts.lazy()
        .filter(pl.col("tool") == tool, pl.col("role") == role, pl.col("verdict_is").is_in(["valid", "invalid"]))
        .group_by("call", maintain_order=True)
        .agg(pl.col("side").n_unique(), pl.col("verdict_is").n_unique())
        .filter(pl.col("side") > 1, pl.col("verdict_is") > 1)
    )
    calls = (
        trace.calls.lazy()
        .join(sides, on="call", how="semi")
        .sort("call")
        .select("event", "pointer", "call_id")
        .collect()
    )
    return [place(event, pointer, "judged differently", call_id) for event, pointer, call_id in calls.iter_rows()]


def _by_refusal(trace: Trace) -> list[dict[str, Any]]:
    valid = trace.verdicts.lazy().filter(
        pl.col("role") == "arguments", pl.col("side") == "advertised", pl.col("verdict_is") == "valid"
    )
    # Where the wire has no flag, words alone tell a failure.
    flagged, success = pl.col("wire").is_in(FLAGGED_WIRES), pl.col("success")
    failed = pl.when(flagged).then(~success).otherwise(~success.fill_null(value=False))
    calls = trace.calls.lazy().select("call", "call_id", "event", "pointer", arguments="text")
    rows = (
        trace.results.lazy()
        .filter(failed, pl.col("rank") == 0)
        .join(valid.select("call", "verdict", "schema_id", "offer_event", "offer_pointer", "channel"), on="call")
        .join(calls, on="call", suffix="_of_call")
        .sort("call")
        .collect()
    )
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        _, arguments = layers(row["arguments"] or "{}")
        refused = refusal(row["error"] or row["text"] or "", arguments)
        if refused is None:
            continue
        key = (row["tool"], row["schema_id"], refused.member, refused.constraint)
        if key in found:
            continue
        member = f"/{refused.member}" if refused.member else "the arguments"
        found[key] = {
            **{
                name: row[name]
                for name in ("result", "call", "tool", "schema_id", "offer_event", "offer_pointer", "channel")
            },
            "message": f"The executor refuses {member} ({refused.constraint}), and the advertised schema accepts it.",
            "hint": "Advertise what the executor enforces: generate both from one definition.",
            "confidence": "likely",
            "keyword": refused.constraint,
            "instance_pointer": f"/{refused.member}" if refused.member else "",
            "related": [place(row["event_of_call"], row["pointer_of_call"], "the call", row["call_id_of_call"])],
        }
    return list(found.values())
