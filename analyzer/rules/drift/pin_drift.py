"""A tool is not what it was when it was pinned.

Wire: needs pins beside the log
What it says: the advertised schema differs from the pinned one (a contract file in a folder `pins`, or named
`*.pin.json`), or the pinned tool is gone and another one of the same shape came. Once per tool and schema, with the
sessions counted. What a pin replaced (`contracts pin --update` keeps its digest) is no drift beside the pin itself.
Why it matters: a pin is what somebody looked at and trusted. A server that changes a tool afterwards changes what was
trusted.
Bad:
    pins/find.json says {"required":["q"]}, a session advertises {"required":["q","reply_to"]}
Good:
    pins/find.json says {"required":["q"]}, a session advertises the same with its members in another order
Blind spots: descriptions of tools are no part of their schemas. A change of wording inside the schema is info.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.drift.meant import meant
from analyzer.rules.drift.versions import direction
from analyzer.rules.hits import hits
from analyzer.rules.payloads import NO_JSON, decode
from analyzer.trace import Trace

PINNED = r"(?:^|[/\\])pins[/\\]|\.pin\.json$"


def check(trace: Trace) -> pl.DataFrame:
    """Offers that differ from the pin of their name, and pins whose tool was renamed."""
    pins = trace.contracts.filter(pl.col("file").str.contains(PINNED)).sort("name", "role", "server", "file")
    if pins.is_empty():
        return hits(())
    offers = (
        trace.offers.filter(pl.col("state") == "offered", pl.col("schema_id").is_not_null())
        .with_columns(
            name=pl.col("tool").str.replace("^.*:", ""), at=pl.col("tool").str.extract("^(?:mcp|namespace):([^:]*):")
        )
        .sort("event", "tool", "role")
        .group_by("tool", "role", "schema_id", maintain_order=True)
        .agg(
            pl.col("name", "at", "session", "event", "pointer", "channel").first(),
            pl.col("session").n_unique().alias("n"),
        )
    )
    texts = {name: decode(text) for name, text in trace.schemas.select("schema_id", "text").iter_rows()}
    pinned = offers.join(
        pins.select("name", "role", "server", "file", "superseded", pin="schema_id"), on=["name", "role"]
    ).filter(pl.col("server").is_null() | (pl.col("server") == pl.col("at")))
    pinned = meant(pinned, "pin").sort("event", "tool", "role", maintain_order=True)
    found = [
        hit
        for _, rows in pinned.group_by("tool", "role", "file", maintain_order=True)
        for hit in _changes(rows.to_dicts(), texts)
    ]
    return hits([*found, *_renamed(offers, pins, texts)])


def _changes(rows: list[dict[str, Any]], texts: dict[str, Any]) -> list[dict[str, Any]]:
    """The versions of one tool that differ from its pin: where the pin is shown, what it replaced came before it."""
    told = [(row, _changed(row, texts) if row["schema_id"] != row["pin"] else None) for row in rows]
    shown = any(hit is None for _, hit in told)
    return [
        hit for row, hit in told if hit is not None and not (shown and row["schema_id"] in (row["superseded"] or ()))
    ]


def _changed(row: dict[str, Any], texts: dict[str, Any]) -> dict[str, Any] | None:
    said = direction(
        texts.get(row["pin"], NO_JSON),
        texts.get(row["schema_id"], NO_JSON),
        row["role"],
        second="the advertised one",
        wording=True,
    )
    if said is None:
        return None
    return {
        **_place(row),
        "message": f"The tool differs from its pin (sessions: {row['n']}): {said.words}.",
        "hint": "Look at the change with `analyzer contracts diff`, and pin again if it is meant.",
        "severity": "info" if said.wording_only else "warning" if said.confidence == "hint" else None,
        "confidence": said.confidence,
        "keyword": said.relation,
        "schema_pointer": said.pointer,
    }


def _renamed(offers: pl.DataFrame, pins: pl.DataFrame, texts: dict[str, Any]) -> list[dict[str, Any]]:
    from analyzer.contracts.comparison.rename import match_renamed

    offered = {row["name"]: row for row in offers.filter(pl.col("role") == "arguments").iter_rows(named=True)}
    pinned = {row["name"]: row for row in pins.filter(pl.col("role") == "arguments").iter_rows(named=True)}
    shapes = [{name: texts.get(row["schema_id"], {}) for name, row in each.items()} for each in (pinned, offered)]
    return [
        {
            **_place({**offered[rename.new], "file": pinned[rename.old]["file"]}),
            "message": f"The pinned tool {rename.old} is gone, and {rename.new} has its shape ({rename.score:.0%}).",
            "hint": "Pin the new name if the rename is meant.",
            "confidence": "likely",
            "keyword": "renamed",
        }
        for rename in match_renamed(*shapes)
    ]


def _place(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
        "offer_event": row["event"],
        "offer_pointer": row["pointer"],
        "contract_file": row["file"],
    }
