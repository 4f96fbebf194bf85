"""The model's table against the server's own listing of the same tool, where one file or session recorded both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS
from analyzer.rules.drift.versions import direction
from analyzer.rules.hits import place
from analyzer.rules.payloads import decode
from analyzer.trace import Trace

_PREFIX = "function::mcp__"
_FLATTENED = "^function::(mcp__.+)$"
_OTHER = "[^A-Za-z0-9_-]"  # what clients replace in the names of servers and tools


def other_wire_drift(trace: Trace) -> Iterator[dict[str, Any]]:
    """Hits for each flattened tool (`mcp__SERVER__TOOL`) whose arguments no version of the server's listing has."""
    if not trace.offers["tool"].str.starts_with(_PREFIX).any():
        return
    offers = (
        trace.offers.filter(
            pl.col("role") == "arguments", pl.col("schema_id").is_not_null(), pl.col("state") == "offered"
        )
        .with_columns(source=pl.col("event") // (1 << RECORD_BITS + PART_BITS))
        .sort("event", "tool")
    )
    shown = offers.with_columns(flat=pl.col("tool").str.extract(_FLATTENED)).filter(pl.col("flat").is_not_null())
    parts = pl.col("tool").str.extract_groups("^mcp:([^:]+):(.+)$").struct
    flat = pl.concat_str(
        [pl.lit("mcp__"), parts.field("1").str.replace_all(_OTHER, "_"), pl.lit("__"), parts.field("2")]
    )
    listed = offers.filter(pl.col("channel") == "listing").select(
        *("source", "schema_id", "event", "pointer", "tool"), flat=flat.str.replace_all(_OTHER, "_")
    )
    pairs = shown.join(listed, on=["source", "flat"], suffix="_listed", maintain_order="left_right")
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows())
    by = ["session", "tool", "schema_id"]
    for _, versions in pairs.group_by(by, maintain_order=True):
        row = versions.row(-1, named=True)
        a = decode(texts.get(row["schema_id"]))
        found = None
        for each in versions["schema_id_listed"].unique(maintain_order=True):
            b = decode(texts.get(each))
            found = direction(a, b, "arguments", second="the server's", strict=bool(row["strict"]))
            if found is None:
                break
        if found is None:  # one version of the listing is what the model was shown
            continue
        yield {
            **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
            "offer_event": row["event"],
            "offer_pointer": row["pointer"],
            "message": f"The arguments that the server lists are not those the model was shown: {found.words}.",
            "hint": "Pass the server's schema on as it is listed, and list again when the server says it changed.",
            "severity": None if found.breaks else "warning",
            "confidence": found.confidence or "likely",
            "keyword": found.relation,
            "schema_pointer": found.pointer,
            "related": [place(row["event_listed"], row["pointer_listed"], "listed by the server")],
        }
