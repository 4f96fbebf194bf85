"""Schema files as a trace of their own, so that the rules about advertised tools can look at them before any call."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from analyzer import frames
from analyzer.contracts.files import Definition, definitions, value_of
from analyzer.contracts.tables import is_tool_table
from analyzer.contracts.timeline import SchemaStore, offers_of, tools_of
from analyzer.errors import ContractFileError
from analyzer.trace import Settings, Trace

_KEYWORDS = frozenset(
    [
        "$schema",
        "$ref",
        "$defs",
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "items",
        "prefixItems",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
    ]
)
_TYPES = frozenset(["array", "boolean", "integer", "null", "number", "object", "string"])
_SHAPES = {"inputSchema": "mcp", "input_schema": "anthropic"}


def trace_of(
    paths: Sequence[Path], settings: Settings | None = None, *, meant: Collection[str] = ()
) -> tuple[Trace, list[ContractFileError]]:
    """The tools of contract files and folders as if each file had been advertised in a session named after it.

    A file that holds neither contracts nor a tool table, but a schema, is a tool named like the file; any object is one
    in files that are `meant`, in others one that looks like it.
    """
    found, problems = definitions(paths)
    by_file: dict[str, list[Definition]] = {}
    for each in found:
        by_file.setdefault(each.file, []).append(each)
    left = []
    for problem in problems:
        bare = _bare(problem, meant=problem.file in meant)
        if bare is None:
            left.append(problem)
        else:
            by_file.setdefault(bare.file, []).append(bare)
    store = SchemaStore(assert_formats=(settings or Settings()).assert_formats)
    rows = _Rows()
    for number, (file, entries) in enumerate(sorted(by_file.items())):
        rows.add(number, file, entries, store)
    return rows.trace(store, settings or Settings()), left


def _bare(problem: ContractFileError, *, meant: bool) -> Definition | None:
    """The schema that a file holds alone; None where it is none."""
    path = Path(problem.file or "")
    if path.is_dir():
        return None
    try:
        value = value_of(path)
    except ContractFileError:
        return None
    if not isinstance(value, dict | bool) or not (meant or path.name.endswith(".schema.json") or _like_schema(value)):
        return None
    name = path.name.removesuffix(".json").removesuffix(".schema")
    return Definition(name, None, "arguments", value, str(path), 1, "")


def _like_schema(value: Any) -> bool:
    """Whether an object says what a schema says: among schemas lie files of other programs, such as package.json."""
    if not isinstance(value, dict):
        return False
    named = value.get("type")
    types = named if isinstance(named, list) else [named]
    return not _KEYWORDS.isdisjoint(value) or all(isinstance(each, str) and each in _TYPES for each in types)


class _Rows:
    """Collects the frames file by file."""

    def __init__(self) -> None:
        self.sources: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.tables: list[dict[str, Any]] = []
        self.showings: list[dict[str, Any]] = []
        self.tools: list[pl.DataFrame] = [frames.TOOLS.to_frame()]

    def add(self, number: int, file: str, entries: list[Definition], store: SchemaStore) -> None:
        """One file: one source, one event, one table."""
        raw = Path(file).read_bytes()
        event = number << (frames.RECORD_BITS + frames.PART_BITS)
        digest = hashlib.sha256(raw).hexdigest()
        self.sources.append(
            {"source": number, "path": file, "format": "contracts", "sha256": digest, "bytes": len(raw), "records": 1}
        )
        self.events.append(
            {
                "event": event,
                "session": file,
                "source": number,
                "offset": 0,
                "length": len(raw),
                "line": 1,
                "pointer": "",
                "type": "contracts",
                "kind": "session",
                "seq": 0,
                "copy": None,
            }
        )
        value = value_of(Path(file))
        listed: Any = value
        pointer = ""
        if isinstance(value, dict) and isinstance(value.get("tools"), list) and "type" not in value:
            listed, pointer = value["tools"], "/tools"
        shape = next((_SHAPES[key] for key in _SHAPES if any(f"/{key}" in each.pointer for each in entries)), "openai")
        table = f"{number}"
        whole = is_tool_table(value) and bool(entries) and entries[0].pointer != ""
        text = msgspec.json.encode(listed if whole else _listed(entries)).decode()
        self.tables.append({"table": table, "shape": shape, "text": text})
        self.showings.append(
            {
                "event": event,
                "session": file,
                "channel": "registry",
                "scope": "all",
                "table": table,
                "pointer": pointer if whole else "",
                "seq": 0,
            }
        )
        if whole:
            self.tools.append(tools_of(pl.DataFrame([self.tables[-1]], schema=frames.TABLES), store))
        else:
            self.tools.append(_tools(table, entries, store))

    def trace(self, store: SchemaStore, settings: Settings) -> Trace:
        """The trace of all files."""
        tools = pl.concat(self.tools)
        placed = {"seq": pl.Int64}
        showings = pl.DataFrame(self.showings, schema={**frames.SHOWINGS, **placed})
        events = pl.DataFrame(self.events, schema={**frames.EVENTS, **placed, "copy": pl.String})
        named = set(tools["schema_id"].drop_nulls())
        schemas, facts = store.frames(named, advertised=named)
        sessions = events.select(
            "session",
            first_event="event",
            events=pl.lit(1, pl.Int64),
            order=pl.lit("file"),
            from_start=pl.lit(value=True),
        )
        return Trace(
            settings=settings,
            sources=pl.DataFrame(self.sources, schema=frames.SOURCES),
            events=events,
            tables=pl.DataFrame(self.tables, schema=frames.TABLES),
            showings=showings,
            sessions=pl.concat([frames.SESSIONS.to_frame(), sessions], how="diagonal"),
            tools=tools,
            schemas=schemas,
            schema_facts=facts,
            offers=offers_of(showings, tools),
        )


def _listed(entries: list[Definition]) -> list[dict[str, Any]]:
    """The entries as the tool table that they would make."""
    tools: dict[tuple[str | None, str], dict[str, Any]] = {}
    for each in entries:
        tool = tools.setdefault((each.server, each.tool), {"type": "function", "name": each.tool})
        tool["parameters" if each.role == "arguments" else "output_schema"] = each.schema
    return list(tools.values())


def _tools(table: str, entries: list[Definition], store: SchemaStore) -> pl.DataFrame:
    """TOOLS of a map of names, or of a schema alone."""
    rows = []
    places: dict[tuple[str | None, str], int] = {}
    for each in entries:
        position = places.setdefault((each.server, each.tool), len(places))
        kind = "mcp" if each.server else "function"
        identity = store.add(each.schema, by_server=each.server is not None)
        rows.append(
            (
                *(table, position, f"{kind}:{each.server or ''}:{each.tool}", kind, each.server, each.tool),
                *(each.role, identity, None, False, False, "", each.pointer),
            )
        )
    return pl.DataFrame(rows, schema=frames.TOOLS, orient="row")
