"""Tool tables as recorded: the few members that the frames do not carry, each table decoded once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import polars as pl

from analyzer.rules.payloads import NO_JSON, decode
from analyzer.trace import Trace


class Table(NamedTuple):
    """A table, its provider, and where it was shown first."""

    table: str
    shape: str
    tools: list[dict[str, Any]]
    session: str | None
    event: int
    channel: str
    pointer: str
    sessions: int


def tables(trace: Trace, *literals: str) -> Iterator[Table]:
    """The tables whose text holds one of the literals (all, without), in the order in which they were shown."""
    text = pl.col("text")
    wanted = (
        pl.any_horizontal(text.str.contains(each, literal=True) for each in literals)
        if literals
        else pl.lit(value=True)
    )
    rows = (
        trace.showings.lazy()
        .filter(pl.col("table").is_not_null())
        .sort("event", "pointer")
        .group_by("table", maintain_order=True)
        .agg(pl.col("session", "event", "channel", "pointer").first(), pl.col("session").n_unique().alias("sessions"))
        .join(trace.tables.lazy().filter(wanted).select("table", "shape", "text"), on="table", maintain_order="left")
        .collect()
    )
    for row in rows.iter_rows(named=True):
        decoded = decode(row.pop("text"))
        if decoded is NO_JSON or not isinstance(decoded, list):
            continue
        tools = [each if isinstance(each, dict) else {} for each in decoded]
        yield Table(tools=tools, **row)


def name_of(tool: dict[str, Any]) -> str | None:
    """The name of a definition, wherever its provider puts it."""
    inner = tool.get("function") or tool.get("toolSpec")
    name = tool.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
    return name if isinstance(name, str) else None


def size(tool: dict[str, Any]) -> int:
    """The bytes of a definition as compact JSON."""
    return len(msgspec.json.encode(tool))


def allowed_tools(server: dict[str, Any]) -> list[str] | None:
    """The names that an MCP server entry allows, or None where it allows all."""
    allowed = server.get("allowed_tools")
    if isinstance(allowed, dict):
        allowed = allowed.get("tool_names")
    return [name for name in allowed if isinstance(name, str)] if isinstance(allowed, list) else None
