"""The model's table against the server's own listing of the same tool, where one file or session recorded both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS
from analyzer.rules.drift.versions import Direction, direction
from analyzer.rules.hits import place
from analyzer.rules.payloads import decode
from analyzer.trace import Trace

_SHOWN = "^function::(.+)$"
_LISTED = "^mcp:([^:]*):(.+)$"
_MOST = 64  # versions of one listing that are compared, the latest: each costs some milliseconds
_OTHER = "[^A-Za-z0-9_-]"  # what clients replace in the names of servers and tools


def other_wire_drift(trace: Trace) -> Iterator[dict[str, Any]]:
    """Hits for each tool of a model's table whose arguments no version of the server's listing has.

    Clients call a server's tool `mcp__SERVER__TOOL`, `SERVER__TOOL`, `SERVER_TOOL` or `TOOL`; where two servers list
    what is spelled alike, nobody knows which is meant.
    """
    if not trace.offers["channel"].eq("listing").any():
        return
    offers = (
        trace.offers.filter(
            pl.col("role") == "arguments", pl.col("schema_id").is_not_null(), pl.col("state") == "offered"
        )
        .with_columns(source=pl.col("event") // (1 << RECORD_BITS + PART_BITS))
        .sort("event", "tool")
    )
    shown = offers.with_columns(flat=_flat(pl.col("tool").str.extract(_SHOWN))).filter(pl.col("flat").is_not_null())
    parts = pl.col("tool").str.extract_groups(_LISTED).struct
    server, name = parts.field("1"), parts.field("2")
    spelled = pl.concat_list(name, *(pl.concat_str(*spelling) for spelling in _spellings(server, name))).list.eval(
        _flat(pl.element())
    )
    listed = (
        offers.filter(pl.col("channel") == "listing")
        .select(
            "session", "source", "schema_id", "event", "pointer", "tool", flat=spelled.list.unique(maintain_order=True)
        )
        .explode("flat")
        .filter(pl.col("tool").n_unique().over("source", "flat") == 1)
    )
    pairs = shown.join(listed, on=["source", "flat"], suffix="_listed", maintain_order="left_right")
    # Where one session offers both, they are two tools.
    pairs = pairs.filter(pl.col("session") != pl.col("session_listed"))
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows())
    by = ["session", "tool", "schema_id"]
    known: dict[tuple[str, str, bool], Direction | None] = {}
    for _, versions in pairs.group_by(by, maintain_order=True):
        row = versions.row(-1, named=True)
        listings = versions["schema_id_listed"].unique(maintain_order=True).to_list()
        if row["schema_id"] in listings:
            continue
        found = None
        for each in listings[-_MOST:]:
            key = row["schema_id"], each, bool(row["strict"])
            if key not in known:
                a, b = (decode(texts.get(schema)) for schema in key[:2])
                known[key] = direction(a, b, "arguments", second="the server's", strict=key[2], shown=True)
            found = known[key]
            if found is None:
                break
        if found is None:  # one version of the listing is what the model was shown
            continue
        undecided = "hint" if len(listings) > _MOST else found.confidence
        yield {
            **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
            "offer_event": row["event"],
            "offer_pointer": row["pointer"],
            "message": f"The arguments that the server lists are not those the model was shown: {found.words}.",
            "hint": "Pass the server's schema on as it is listed, and list again when the server says it changed.",
            "severity": None if found.breaks and undecided != "hint" else "warning",
            "confidence": undecided or "likely",
            "keyword": found.relation,
            "schema_pointer": found.pointer,
            "related": [place(row["event_listed"], row["pointer_listed"], "listed by the server")],
        }


def _flat(name: pl.Expr) -> pl.Expr:
    return name.str.replace_all(_OTHER, "_")


def _spellings(server: pl.Expr, name: pl.Expr) -> Iterator[tuple[pl.Expr, ...]]:
    yield pl.lit("mcp__"), server, pl.lit("__"), name
    yield server, pl.lit("__"), name
    yield server, pl.lit("_"), name
