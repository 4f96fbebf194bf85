"""One name stands for two tools.

What it says: one table defines a name twice, or a name belongs to two servers, or to a server and a function (a
warning: clients that put a prefix before the name keep them apart).
Why it matters: which definition the model sees and which code runs is decided by the order of a list.
Bad:
    tool find {"type":"object","properties":{}}
    hosted twin {"type":"function","name":"find","parameters":{"type":"object"}}
    turn
Good:
    tool find {"type":"object","properties":{}}
    tool search {"type":"object","properties":{}}
    snapshot
    turn
Blind spots: names that differ by case only are not compared.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.contracts.tables import ANY_TOOL
from analyzer.rules.hits import NONE, hits, joined, place
from analyzer.rules.tool.tables import names_of, shown_tables
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Names defined twice in a list, and names that two owners share in a session."""
    found: dict[str, dict[str, Any]] = {}
    for table in shown_tables(trace):
        places: dict[str, list[str]] = {}
        for name, at in names_of(table["text"]):
            places.setdefault(name, []).append(at)
        for name, (first, *more) in places.items():
            if more and name not in found:
                owner = "mcp:" if table["shape"] == "mcp" else "function::"
                found[name] = {
                    "session": table["session"],
                    "event": table["event"],
                    "pointer": _inside(table["pointer"], more[0]),
                    "channel": table["channel"],
                    "tool": f"{owner}{name}" if owner != "mcp:" else None,
                    "message": f"The name {name} is defined {len(more) + 1} times in one list.",
                    "hint": "Keep one definition, or give them two names.",
                    "keyword": "list",
                    "related": [place(table["event"], _inside(table["pointer"], first), "defined first")],
                }
    return joined(hits(found[name] for name in sorted(found)), _clashes(trace))


def _inside(table: str | None, to: str) -> str | None:
    """Where a definition stands; nothing leads into a body that was kept as text."""
    return None if table is None else table + to


def _clashes(trace: Trace) -> pl.DataFrame:
    keys = trace.offers["tool"].unique()
    shared_names = keys.filter(keys.str.replace("^.*:", "").is_duplicated())
    if shared_names.is_empty():
        return NONE
    owners = (
        trace.offers.filter(
            pl.col("state") == "offered", pl.col("role") == "arguments", ~pl.col("tool").str.starts_with("hosted")
        )
        .filter(~pl.col("tool").str.starts_with("namespace"))
        .sort("event", "tool")
        .unique(["session", "tool"], keep="first", maintain_order=True)
        .with_columns(name=pl.col("tool").str.replace("^.*:", ""))
        .filter(pl.col("name") != ANY_TOOL)
        .group_by("session", "name", maintain_order=True)
        .agg(pl.col("tool", "event", "pointer"))
        .filter(pl.col("tool").list.len() > 1)
        .unique("tool", keep="first", maintain_order=True)
    )
    return hits(
        {
            "session": session,
            "event": events[-1],
            "pointer": pointers[-1],
            "tool": tools[-1],
            "message": f"The name {name} belongs to {len(tools)} tools: {', '.join(tools[:4])}.",
            "hint": "Put the server before the name wherever the model can see both.",
            "severity": "warning",
            "keyword": "owners",
            "related": [place(events[0], pointers[0], "offered first")],
        }
        for session, name, tools, events, pointers in owners.iter_rows()
    )
