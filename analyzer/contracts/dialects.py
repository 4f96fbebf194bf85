"""Which JSON Schema a schema is written in, and the type systems that are not JSON Schema mapped into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

DRAFT4 = "draft-04"
DRAFT6 = "draft-06"
DRAFT7 = "draft-07"
DRAFT2019 = "2019-09"
DRAFT2020 = "2020-12"

#: Every dialect that can be judged, oldest first.
DIALECTS = (DRAFT4, DRAFT6, DRAFT7, DRAFT2019, DRAFT2020)

#: What a schema is written in when neither it nor its wire says so.
DEFAULT = DRAFT2020

#: The `$schema` of each dialect, as its authors spell it.
META_SCHEMAS = {
    DRAFT4: "http://json-schema.org/draft-04/schema",
    DRAFT6: "http://json-schema.org/draft-06/schema",
    DRAFT7: "http://json-schema.org/draft-07/schema",
    DRAFT2019: "https://json-schema.org/draft/2019-09/schema",
    DRAFT2020: "https://json-schema.org/draft/2020-12/schema",
}
_BY_NAME = {uri.partition("://")[2]: dialect for dialect, uri in META_SCHEMAS.items()}

#: The oldest dialect that knows a keyword, where draft-04 does not; the dialects before it read a mere note.
SINCE = {
    **dict.fromkeys(("const", "contains", "propertyNames"), DRAFT6),
    **dict.fromkeys(("else", "if", "then"), DRAFT7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "maxContains", "minContains"), DRAFT2019),
    **dict.fromkeys(("$anchor", "$recursiveAnchor", "$recursiveRef"), DRAFT2019),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), DRAFT2019),
    **dict.fromkeys(("$dynamicAnchor", "$dynamicRef", "prefixItems"), DRAFT2020),
}

# Types of Gemini's protobuf enumeration, which Vertex writes as a number.
_PROTO_TYPES = {1: "string", 2: "number", 3: "integer", 4: "boolean", 5: "array", 6: "object", 7: "null"}
# Google's own spelling in Python objects and in proto JSON against that of JSON Schema.
_GEMINI_NAMES = {
    "any_of": "anyOf",
    "max_items": "maxItems",
    "max_length": "maxLength",
    "max_properties": "maxProperties",
    "min_items": "minItems",
    "min_length": "minLength",
    "min_properties": "minProperties",
    "additional_properties": "additionalProperties",
    "type_": "type",
    "ref": "$ref",
    "defs": "$defs",
}
_KEPT = ("type", "properties", "items")
_UNSET: tuple[object, ...] = (0, "0", "", [], {})
_COUNTS = ("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties")

_BFCL_TYPES = {
    "dict": "object",
    "hashmap": "object",
    "hashtable": "object",
    "map": "object",
    "float": "number",
    "double": "number",
    "int": "integer",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
    "bigint": "integer",
    "bool": "boolean",
    "char": "string",
    "str": "string",
    "tuple": "array",
    "list": "array",
    "set": "array",
    "arraylist": "array",
    "queue": "array",
    "stack": "array",
    "any": None,
    "object": "object",
}

_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "$defs", "definitions")


def dialect_of(schema: object, *, default: str = DEFAULT) -> str:
    """Return the dialect a schema names in `$schema`; without a known name, the wire's default."""
    return _named(schema) or default


def unknown_to(dialect: str) -> frozenset[str]:
    """The keywords that newer dialects know and this one reads as notes."""
    age = DIALECTS.index(dialect)
    return frozenset(name for name, since in SINCE.items() if DIALECTS.index(since) > age)


def of_server(schema: object, text: bytes) -> str:
    """Return the dialect of a schema that an MCP server lists, `text` being its canonical spelling.

    Without `$schema` the protocol takes it for 2020-12; a tuple in the old way can only be meant as draft-07.
    """
    return dialect_of(schema, default=DRAFT7 if b'"items":[' in text and b'"prefixItems"' not in text else DEFAULT)


def unknown_dialect(schema: object) -> str | None:
    """Return a `$schema` that names no dialect we know, so that it can be recorded; None where all is well."""
    if not isinstance(schema, dict) or "$schema" not in schema or _named(schema):
        return None
    return str(schema["$schema"])


def _named(schema: object) -> str | None:
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(uri, str):
        return None
    # The scheme and an empty fragment vary from writer to writer and mean nothing.
    return _BY_NAME.get(uri.strip().removesuffix("#").partition("://")[2])


def from_gemini(schema: object) -> object:
    """Map a Gemini function schema (an OpenAPI subset) to JSON Schema.

    Upper-case and numbered types, `nullable`, snake case members and counts written as text are mapped; everything
    else stays. Returns a new value.
    """
    return _mapped(schema, _gemini)


def from_bfcl(schema: object) -> object:
    """Map the types of the Berkeley Function Calling Leaderboard (`dict`, `float`, `tuple`, `any`) to JSON Schema."""
    return _mapped(schema, _bfcl)


def is_gemini(schema: object) -> bool:
    """Say whether the root names its type as Gemini does (`OBJECT`, `type_`, a number), or members as its clients."""
    if not isinstance(schema, dict):
        return False
    named = schema.get("type", schema.get("type_"))
    return (
        not schema.keys().isdisjoint(("type_", "any_of", "property_ordering"))
        or isinstance(named, int)
        or (isinstance(named, str) and named != named.lower())
    )


def is_bfcl(schema: object) -> bool:
    """Say whether the root names its type as the Berkeley leaderboard does: `dict`."""
    return isinstance(schema, dict) and schema.get("type") == "dict"


def _gemini(node: dict[str, object]) -> dict[str, object]:
    # Clients that dump their models write what is not set as null, and those of protocol buffers as zero or empty.
    out = {_GEMINI_NAMES.get(name, name): value for name, value in node.items() if value is not None}
    if "type_" in node:
        out = {name: value for name, value in out.items() if name in _KEPT or value not in _UNSET}
    named = out.get("type")
    if isinstance(named, int) and not isinstance(named, bool):
        named = _PROTO_TYPES.get(named)
    elif isinstance(named, str):
        named = None if named == "TYPE_UNSPECIFIED" else named.lower()
    elif isinstance(named, list):
        named = [one.lower() if isinstance(one, str) else one for one in named]
    out["type"] = named
    for name in _COUNTS:
        count = out.get(name)
        if isinstance(count, str) and count.isdecimal() and len(count) < 20:
            out[name] = int(count)
    if out.pop("nullable", False) is True:
        out["type"] = _with_null(named)
        choices = out.get("enum")
        if isinstance(choices, list) and None not in choices:
            out["enum"] = [*choices, None]
        if named is None and isinstance(out.get("anyOf"), list):
            out["anyOf"] = [*_items(out["anyOf"]), {"type": "null"}]
    if out["type"] is None:
        del out["type"]
    return out


def _with_null(named: object) -> object:
    if named is None:
        return None
    types = list(named) if isinstance(named, list) else [named]
    return types if "null" in types else [*types, "null"]


def _bfcl(node: dict[str, object]) -> dict[str, object]:
    out = dict(node)
    named = out.get("type")
    if isinstance(named, str):
        mapped = _BFCL_TYPES.get(named.lower(), named.lower())
        if mapped is None:
            del out["type"]
        else:
            out["type"] = mapped
    return out


def _mapped(schema: object, change: Callable[[dict[str, object]], dict[str, object]]) -> object:
    """Rebuild a schema with `change` applied to every subschema; recursion would end on hostile depth."""
    holder: dict[str, object] = {"": schema}
    queue: list[tuple[dict[str, object] | list[object], str | int]] = [(holder, "")]
    while queue:
        owner, key = queue.pop()
        node = owner[key]  # type: ignore[index]
        if not isinstance(node, Mapping):
            continue
        out = change(dict(node))
        owner[key] = out  # type: ignore[index]
        for name in _MANY:
            if isinstance(out.get(name), list):
                many = _items(out[name])
                out[name] = many
                queue.extend((many, position) for position in range(len(many)))
        for name in _NAMED:
            named = out.get(name)
            if isinstance(named, Mapping):
                copy: dict[str, object] = dict(named)
                out[name] = copy
                queue.extend((copy, member) for member in copy)
        queue.extend((out, name) for name in _ONE if isinstance(out.get(name), Mapping))
    return holder[""]


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
