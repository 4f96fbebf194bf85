"""Tool tables in every provider's shape, read into one.

Recognised are OpenAI's flat and nested functions, namespaces, custom and hosted tools; Anthropic's `input_schema`; MCP
listings; Gemini's function declarations; Bedrock's tool specifications; captures and plain lists of the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from analyzer.contracts.dialects import from_bfcl, from_gemini, is_bfcl, is_gemini
from analyzer.contracts.schemas import decode
from analyzer.pointer import join

#: The name that stands for every tool of an MCP server whose tools are not listed.
ANY_TOOL = "*"

_LISTS = ("tools", "functions", "dynamic_tools", "dynamicTools")
_HOLDERS = ("result", "toolConfig", "tool_config", "agent")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_SPECIFICATIONS = ("toolSpec", "tool_spec")
_ARGUMENTS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"),
    "paramsJsonSchema",
)
_OUTPUT = ("output_schema", "outputSchema", "response", "responseJsonSchema", "response_json_schema")
_WRAPPERS = ("json", "jsonSchema")  # Bedrock's and the AI SDK's, around the schema itself
_MOST_NESTING = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One advertised tool. Schemas are JSON Schema whatever the provider's own types; None where there is none."""

    name: str  #: `*` for all tools of an MCP server that are not listed
    kind: str  #: function, mcp, namespace, hosted (the provider runs it), search or custom (free text in and out)
    server: str | None = None  #: label of the MCP server, or name of the namespace
    description: str = ""
    arguments: object = None
    output: object = None
    strict: bool | None = None  #: None where the wire does not say
    deferred: bool = False
    async_: bool = False
    pointer: str = ""  #: of the definition, from the table
    arguments_pointer: str | None = None
    output_pointer: str | None = None


def parse_tool_table(tools: object, *, server: str | None = None) -> list[ToolDefinition]:
    """Read a tool table: a list of tools, an object that holds one, or a single definition.

    With `server` all of it is the listing of that MCP server. What is no tool definition is passed over; the order of
    the table is kept.
    """
    return list(_table(tools, _Place("", server, "mcp" if server is not None else None, 0)))


def is_tool_table(value: object) -> bool:
    """Say whether a JSON value has the outer shape of a tool table, so that it is not taken for something else."""
    if isinstance(value, list):
        return True
    if not isinstance(value, dict):
        return False
    holders = [value, *(held for key in _HOLDERS if isinstance(held := value.get(key), dict))]
    return (
        any(isinstance(holder.get(key), list) for holder in holders for key in _LISTS)
        or any(key in value for key in (*_DECLARATIONS, *_SPECIFICATIONS))
        or isinstance(value.get("function"), dict)
        or (isinstance(value.get("name"), str) and any(key in value for key in (*_ARGUMENTS, "type")))
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a definition stands and what the things around it say of it."""

    pointer: str
    server: str | None
    kind: str | None
    nesting: int
    deferred: bool = field(default=False, kw_only=True)

    def at(self, *steps: str | int) -> _Place:
        return _Place(join(self.pointer, *steps), self.server, self.kind, self.nesting + 1, deferred=self.deferred)

    def inside(self, kind: str, server: str | None, *, deferred: bool = False) -> _Place:
        return _Place(self.pointer, server, kind, self.nesting, deferred=deferred)


def _table(value: object, place: _Place) -> Iterator[ToolDefinition]:
    if place.nesting > _MOST_NESTING:
        return
    if isinstance(value, list):
        for position, entry in enumerate(value):
            yield from _entry(entry, place.at(position))
    elif isinstance(value, dict):
        for key in _LISTS:
            if "type" not in value and isinstance(value.get(key), list | dict):
                yield from _table(value[key], place.at(key))
                return
        for key in _HOLDERS:
            if isinstance(value.get(key), dict):
                yield from _table(value[key], place.at(key))
                return
        yield from _entry(value, place)


def _entry(entry: object, place: _Place) -> Iterator[ToolDefinition]:
    if isinstance(entry, str):
        yield from _spelled(entry, place)
    if not isinstance(entry, dict) or place.nesting > _MOST_NESTING:
        return
    for key in _SPECIFICATIONS:
        if isinstance(entry.get(key), dict):
            yield _definition(entry[key], place.at(key), "function")
            return
    declared = False
    for key in _DECLARATIONS:
        for position, each in enumerate(_list(entry.get(key))):
            declared = True
            if isinstance(each, dict):
                yield _definition(each, place.at(key, position), "function")
    if declared:
        return
    held = entry.get("tool")
    if isinstance(held, dict) and "paramsJsonSchema" in held:
        # A saved run keeps each definition beside the call that it is for.
        yield _definition(held, place.at("tool"), "function")
        return
    if isinstance(entry.get("function"), dict):
        # Chat completions nest the definition; `strict` stands inside, but some writers leave it outside.
        yield _definition({"strict": entry.get("strict"), **entry["function"]}, place.at("function"), "function")
        return
    yield from _typed(entry, place)


def _typed(entry: dict[str, object], place: _Place) -> Iterator[ToolDefinition]:
    named = entry.get("type")
    kind = named if isinstance(named, str) else None
    listed = isinstance(entry.get("tools"), list)
    if kind == "namespace":
        name = _text(entry.get("name"))
        for tool in _table(entry.get("tools"), place.at("tools").inside("namespace", name)):
            # Search wraps a bare function into a namespace of its own name: it is the same tool.
            yield replace(tool, kind="function", server=None) if tool.name == name else tool
    elif kind == "tool_search":
        tool = _definition({**entry, "name": kind}, place, "search")
        # Only the client's search has arguments that the client reads.
        yield tool if tool.arguments is not None else replace(tool, kind="hosted")
    elif kind in {"mcp", "mcp_list_tools", "mcp_toolset"}:
        server = _text(entry.get("server_label") or entry.get("mcp_server_name") or entry.get("name"))
        deferred = entry.get("defer_loading") is True
        if listed:
            yield from _table(entry["tools"], place.at("tools").inside("mcp", server, deferred=deferred))
        elif kind != "mcp_list_tools":
            yield ToolDefinition(name=ANY_TOOL, kind="mcp", server=server, deferred=deferred, pointer=place.pointer)
    elif kind in {None, "function", "custom"} or any(key in entry for key in _ARGUMENTS):
        if isinstance(entry.get("name"), str):
            free = kind == "custom" and not any(key in entry for key in _ARGUMENTS)
            # Without a type, MCP's own spelling is what tells its listings from everybody else's.
            listing = kind is None and "inputSchema" in entry
            yield _definition(entry, place, "custom" if free else "mcp" if listing else "function")
    else:
        name = _text(entry.get("name")) or kind
        yield ToolDefinition(
            name=name, kind="hosted", description=_text(entry.get("description")) or "", pointer=place.pointer
        )


def _spelled(entry: str, place: _Place) -> Iterator[ToolDefinition]:
    """A name alone, or a definition kept as JSON text."""
    try:
        value = decode(entry.encode("utf-8", "replace")) if entry.lstrip().startswith("{") else None
    except ValueError:
        value = None
    if isinstance(value, dict):
        # What is found inside the text has no pointer of its own: it is at the text.
        for each in _entry(value, _Place("", place.server, place.kind, place.nesting + 1)):
            yield replace(
                each,
                pointer=place.pointer,
                arguments_pointer=None if each.arguments_pointer is None else place.pointer,
                output_pointer=None if each.output_pointer is None else place.pointer,
            )
    elif entry:
        kind = place.kind or "function"
        yield ToolDefinition(name=entry, kind=kind, server=place.server, deferred=place.deferred, pointer=place.pointer)


def _definition(entry: dict[str, object], place: _Place, kind: str) -> ToolDefinition:
    arguments, arguments_pointer = _schema(entry, _ARGUMENTS, place.pointer)
    output, output_pointer = _schema(entry, _OUTPUT, place.pointer)
    strict = entry.get("strict")
    return ToolDefinition(
        name=_text(entry.get("name")) or "",
        kind=kind if kind == "custom" else place.kind or kind,
        server=place.server,
        description=_text(entry.get("description")) or "",
        arguments=arguments,
        output=output,
        strict=strict if isinstance(strict, bool) else None,
        deferred=place.deferred or entry.get("defer_loading") is True or entry.get("deferLoading") is True,
        async_=entry.get("async") is True,
        pointer=place.pointer,
        arguments_pointer=arguments_pointer,
        output_pointer=output_pointer,
    )


def _schema(entry: dict[str, object], keys: tuple[str, ...], pointer: str) -> tuple[object, str | None]:
    for key in keys:
        schema = entry.get(key)
        if schema is None:
            continue
        pointer = join(pointer, key)
        for wrapper in _WRAPPERS:
            if isinstance(schema, dict) and set(schema) == {wrapper}:
                schema, pointer = schema[wrapper], join(pointer, wrapper)
        if is_bfcl(schema):
            return from_bfcl(schema), pointer
        return (from_gemini(schema) if is_gemini(schema) else schema), pointer
    return None, None


def _list(value: object) -> list[object]:
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
