"""Contract files against what was advertised: the pairs of schemas that differ, and the calls that show it."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.contracts.spelling import spelled
from analyzer.rules.drift.meant import meant
from analyzer.rules.drift.pin_drift import PINNED
from analyzer.rules.drift.versions import Direction, direction
from analyzer.rules.hits import place
from analyzer.rules.payloads import decode, layers
from analyzer.trace import Trace

_PAYLOADS = 200
_SHOWN = 5


def contract_drift(trace: Trace) -> list[tuple[str, dict[str, Any]]]:
    """Role and hit of every session's tool whose contract file does not promise what was advertised."""
    if trace.contracts.is_empty():
        return []
    pairs = _pairs(trace)
    if pairs.is_empty():
        return []
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows())
    apart = _disagreeing(trace, pairs)
    known: dict[tuple[str, str, str, bool, str], Direction | None] = {}
    found = []
    for row in pairs.iter_rows(named=True):
        role, strict = row["role"], bool(row["strict"])
        a, b = (decode(texts.get(row[side])) for side in ("schema_id", "executed"))
        whose = "code" if row["via"] == "code" else "contract file"
        second = f"the {whose.rpartition(' ')[2]}'s"
        key = (row["schema_id"], row["executed"], role, strict, second)
        if key not in known:
            known[key] = direction(a, b, role, second=second, strict=strict, shown=role == "arguments")
        said = known[key]
        if said is not None and said.confidence == "hint":  # a recorded payload may decide what no proof did
            payloads = _payloads(trace, row["session"], row["tool"], role)
            said = direction(a, b, role, second=second, strict=strict, shown=role == "arguments", payloads=payloads)
        if said is None:
            continue
        calls = apart.get((row["session"], row["tool"], role), [])
        on = f" They disagree on {len(calls)} recorded call{'s' if len(calls) > 1 else ''}." if calls else ""
        what, verb = ("arguments", "takes") if role == "arguments" else ("outputs", "gives")
        hit = {
            **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
            "offer_event": row["event"],
            "offer_pointer": row["pointer"],
            "contract_file": row["file"],
            "message": f"The {what} that the {whose} {verb} are not those advertised: {said.words}.{on}",
            "hint": "Advertise what the executor enforces: generate both from one definition.",
            "severity": None if said.breaks else "warning",
            "confidence": said.confidence,
            "keyword": said.relation,
            "schema_pointer": said.pointer,
            "related": calls[:_SHOWN] or None,
        }
        found.append((role, hit))
    return found


def _pairs(trace: Trace) -> pl.DataFrame:
    """Advertised schema and contract of one tool, where they are not the same text; the first offer of each."""
    files = spelled(trace.contracts.filter(~pl.col("file").str.contains(PINNED)))
    contracts = files.select("server", "name", "role", "file", via="channel", executed="schema_id")
    server = pl.col("tool").str.extract("^(?:mcp|namespace):([^:]*):")
    what = ["tool", "role", "schema_id"]
    versions = (
        trace.offers.filter(pl.col("state") == "offered", pl.col("schema_id").is_not_null()).select(what).unique()
    )
    both = (
        versions.with_columns(name=pl.col("tool").str.replace("^.*:", ""), at=server)
        .join(contracts, on=["name", "role"], maintain_order="left")
        .filter(pl.col("server").is_null() | (pl.col("server") == pl.col("at")))
    )
    differs = pl.col("schema_id") != pl.col("executed")
    apart = both.filter(differs | (pl.col("tool").n_unique().over("name", "role", "file") > 1))
    if apart.is_empty():
        return apart
    offered = trace.offers.filter(pl.col("state") == "offered").join(apart, on=what, maintain_order="left")
    return (
        meant(offered, "executed", "session")
        .filter(differs)
        .sort("event", "tool", "role", "file")
        .unique(["session", "tool", "role", "schema_id", "executed"], keep="first", maintain_order=True)
    )


def _payloads(trace: Trace, session: str, tool: str, role: str) -> list[Any]:
    """Recorded payloads of a tool, to look for a witness among."""
    frame = trace.calls if role == "arguments" else trace.results
    texts = frame.filter(pl.col("session") == session, pl.col("tool") == tool)["text"].drop_nulls().head(_PAYLOADS)
    return [value for text in texts for count, value in (layers(text),) if count]


def _disagreeing(trace: Trace, pairs: pl.DataFrame) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """The recorded calls that one side accepts and the other refuses, as places, by session, tool and role."""
    by = ["session", "tool", "role"]
    sides = (
        trace.verdicts.filter(pl.col("verdict_is").is_in(["valid", "invalid"]))
        .join(pairs.select(by).unique(), on=by, how="semi")
        .group_by(*by, "call")
        .agg(pl.col("side").n_unique(), pl.col("verdict_is").n_unique())
        .filter(pl.col("side") > 1, pl.col("verdict_is") > 1)
    )
    calls = sides.join(trace.calls.select("call", "event", "pointer", "call_id"), on="call").sort("call")
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for session, tool, role, event, pointer, call_id in calls.select(*by, "event", "pointer", "call_id").iter_rows():
        found.setdefault((session, tool, role), []).append(place(event, pointer, "judged differently", call_id))
    return found
