"""Tool tables as recorded: the few members that the frames do not carry, each table decoded once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import polars as pl

from analyzer.pointer import join
from analyzer.rules.payloads import decode
from analyzer.trace import Trace, shared


class Table(NamedTuple):
    """A table, its provider, and where it was shown first."""

    table: str
    shape: str
    tools: list[dict[str, Any]]
    session: str | None
    event: int
    channel: str
    pointer: str | None
    """Null where the table stands in a body that was kept as text."""
    sessions: int

    def at(self, index: int) -> str | None:
        """The pointer to one of its tools."""
        return None if self.pointer is None else join(self.pointer, index)


def tables(trace: Trace, *literals: str) -> Iterator[Table]:
    """The tables whose text holds one of the literals (all, without), in the order in which they were shown."""
    for row in shown_tables(trace, *literals):
        decoded = decode(row.pop("text"))
        if isinstance(decoded, list):
            yield Table(tools=[each if isinstance(each, dict) else {} for each in decoded], **row)


def shown_tables(trace: Trace, *literals: str) -> Iterator[dict[str, Any]]:
    """The same before their text is read: `text` in the place of `tools`."""
    chosen = trace.tables[["table", "shape", "text"]]
    if literals:
        text = pl.col("text")
        chosen = chosen.filter(pl.any_horizontal(text.str.contains(each, literal=True) for each in literals))
    if chosen.is_empty():
        return iter(())
    return first_shown(trace).join(chosen, on="table", maintain_order="left").iter_rows(named=True)


@shared
def first_shown(trace: Trace) -> pl.DataFrame:
    """The tables in the order in which they were shown, with their first showing and how many `sessions` saw them."""
    first = pl.col("session", "event", "channel", "pointer").first()
    return (
        trace.showings.filter(pl.col("table").is_not_null())
        .sort("event", "pointer")
        .group_by("table", maintain_order=True)
        .agg(first, pl.col("session").n_unique().cast(pl.Int64).alias("sessions"))
    )


class _Named(msgspec.Struct):
    name: Any = None


class _Definition(msgspec.Struct):
    """As much of a definition as its name takes."""

    name: Any = None
    function: _Named | None = None
    toolSpec: _Named | None = None  # noqa: N815 - the wire's word
    functionDeclarations: list[_Named] | None = None  # noqa: N815
    function_declarations: list[_Named] | None = None


def names_of(table: str) -> Iterator[tuple[str, str]]:
    """The names of the definitions in a table's text and where they stand in it; nothing else of them is read."""
    try:
        tools = msgspec.json.decode(table, type=list[_Definition])
    except msgspec.ValidationError:
        decoded = decode(table)
        for index, each in enumerate(decoded if isinstance(decoded, list) else ()):
            if isinstance(each, dict) and (name := name_of(each)) is not None:
                yield name, f"/{index}"
        return
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return
    for index, tool in enumerate(tools):
        inner = tool.function or tool.toolSpec
        named = [(tool.name or (inner.name if inner else None), f"/{index}")]
        for member in ("functionDeclarations", "function_declarations"):
            declared = getattr(tool, member) or ()
            named += [(each.name, f"/{index}/{member}/{at}") for at, each in enumerate(declared)]
        yield from ((name, at) for name, at in named if isinstance(name, str))


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
