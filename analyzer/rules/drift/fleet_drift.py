"""One tool goes by several schemas across the sessions.

What it says: sessions started with different schemas of one tool: how many, when each came first and last, and how
the last stands to the first, however small the steps between were. Where every agent has one of its own it is info.
Why it matters: prompts, tests and readers that were made for one version meet another, session by session.
Bad:
    tool find {"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}
    turn
    session s2
    tool find {"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q","n"]}
    turn
Good:
    tool find {"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}
    turn
    session s2
    tool find {"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}
    turn
Blind spots: which sessions come first is the order in which they were read.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.drift.versions import direction
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import decode
from analyzer.trace import Trace

_SHOWN = 5


def check(trace: Trace) -> pl.DataFrame:
    """Tools whose first schema is not the same in all sessions."""
    shown = trace.offers.filter(pl.col("state") == "offered", pl.col("schema_id").is_not_null())
    distinct = shown.select("tool", "role", "schema_id").unique()
    changing = distinct.filter(pl.struct("tool", "role").is_duplicated())
    if changing.is_empty():
        return hits(())
    versions = (
        trace.offers.filter(pl.col("state") == "offered", pl.col("schema_id").is_not_null())
        .sort("session", "tool", "role", "since")
        .unique(["session", "tool", "role"], keep="first", maintain_order=True)
        .join(trace.sessions.select("session", "first_event", "agent"), on="session", how="left")
        .sort("tool", "role", "first_event", "session")
        .group_by("tool", "role", "schema_id", maintain_order=True)
        .agg(
            pl.col("session", "event", "pointer", "channel").first(),
            pl.col("session").last().alias("last"),
            pl.len().alias("sessions"),
            pl.col("agent").unique().sort().alias("agents"),
        )
        .filter(pl.len().over("tool", "role") > 1)
    )
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows()) if len(versions) else {}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in versions.iter_rows(named=True):
        groups.setdefault((row["tool"], row["role"]), []).append(row)
    return hits(hit for rows in groups.values() if (hit := _told(rows, texts)) is not None)


def _told(rows: list[dict[str, Any]], texts: dict[str, str]) -> dict[str, Any] | None:
    first, last = rows[0], rows[-1]
    old, new = (decode(texts.get(row["schema_id"])) for row in (first, last))
    said = direction(old, new, first["role"], second="the last", wording=True)
    if said is None and len(rows) < 3:
        return None
    agents = [agent for row in rows for agent in row["agents"]]
    by_agent = None not in agents and len(agents) == len(set(agents))
    line = "; ".join(f"{row['session']} to {row['last']} ({row['sessions']})" for row in rows[:_SHOWN])
    change = said.words if said is not None else "the last promises what the first did"
    return {
        **{name: last[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
        "offer_event": last["event"],
        "offer_pointer": last["pointer"],
        "message": f"{len(rows)} schemas of one tool, by session: {line}. From the first to the last: {change}.",
        "hint": "Pin the contract, and roll a change out to all sessions or under a new name.",
        "severity": "info" if by_agent or said is None or said.wording_only else None,
        "keyword": first["role"],
        "related": [
            place(row["event"], row["pointer"], "advertised first") for row in rows[: min(_SHOWN, len(rows) - 1)]
        ],
    }
