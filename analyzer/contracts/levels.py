"""How tight a schema is, level by level: what each object, string, number and array of a payload may be.

A level is all that speaks about one value: a subschema with its parts (`allOf`, `$ref`), under what stands around it.
Only what applies to a payload is looked at: unused definitions, `not` and `if` say nothing about how open a value is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analyzer.contracts.naming import number_class, string_class
from analyzer.contracts.references import REFERENCE_KEYWORDS, References
from analyzer.contracts.walk import LEADING, NotWalked, children
from analyzer.pointer import join

#: Members, keywords and required names looked at; a shared definition counts each time it is reached.
MAX_WORK = 500_000

_PARTS_MOST = 30
_PARTED = frozenset({"allOf", "$ref"})
_SAME = frozenset({"allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies"})
_BELOW = frozenset(
    {
        *("patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
    }
)
_STRING_BOUNDS = frozenset({"enum", "const", "pattern", "format", "maxLength"})
_NUMBER_BOUNDS = frozenset({"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_BOUNDED = frozenset({"string", "number", "integer", "array"})
_ITEMS = frozenset({"items", "prefixItems", "enum", "const"})
_BOUNDS = _STRING_BOUNDS | _NUMBER_BOUNDS | _ITEMS
# Keywords that say which values pass: a schema without any takes everything.
_ASSERTIONS = (_BOUNDS | _SAME | _BELOW) - {"format"} | {
    *("type", "not", "if", "properties", "required", "propertyNames", "dependentRequired", "uniqueItems", "multipleOf"),
    *("minLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"),
    *REFERENCE_KEYWORDS,
}
_TYPED = frozenset(
    {"type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if"}
)
_RANGES = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_LOW = frozenset(least for least, _ in _RANGES)


class _Around(NamedTuple):
    """What is known of a value before its subschema is read."""

    name: str = ""  # of the member it is, or is an item of
    required: bool = True
    holder_closed: bool = True  # the object that holds it
    closed: bool = False  # its own members, by a schema around
    needed: frozenset[str] = frozenset()  # its members that a schema around requires
    keywords: frozenset[str] = frozenset()  # that a schema around applies
    whole: bool = True  # this subschema is all that is said of the value


def levels(root: object, references: References, spots: dict[int, str]) -> Iterator[tuple[str, str, str]]:
    """Give the facts about open objects, optional members, unbounded values and vacuous schemas: place, fact, value.

    `spots` holds the pointer of each subschema by its identity, for those that a reference leads to.

    Raises:
        NotWalked: the schema takes more than `MAX_WORK`, when the facts before have been given.
    """
    stack: list[tuple[str, object, _Around]] = [("", root, _Around())]
    seen: set[tuple[int, _Around]] = set()
    nullable = _Nullable()
    work = 0
    while stack:
        pointer, schema, around = stack.pop()
        if not isinstance(schema, dict):
            if around.whole:
                yield pointer, "schema_vacuous", "anything" if schema else "nothing"
            continue
        if (id(schema), around) in seen:
            continue
        seen.add((id(schema), around))
        parts = _parts(schema, references)
        required = [names for part in parts if isinstance(names := part.get("required"), list)]
        properties = schema.get("properties")
        members = properties if isinstance(properties, dict) else {}
        work += 1 + len(pointer) // 50 + len(schema) + len(members) + len(around.needed) + sum(map(len, required))
        if work > MAX_WORK:
            raise NotWalked
        if around.whole:
            yield from _vacuous(pointer, schema)
        closed = around.closed or any(_closes(part) for part in parts)
        keywords = around.keywords.union(*(_BOUNDS.intersection(part) for part in parts))
        types = _types(schema)
        open_ = "" if closed or not _is_object(schema, types) else _openness(schema)
        if open_:
            yield pointer, "object_open", open_
        needed = around.needed.union(*map(_strings, required)) if required else around.needed
        for name, child in members.items():
            if name not in needed and child is not False and not nullable.of(child):
                yield join(pointer, "properties", name), "property_optional", name
        if not types.isdisjoint(_BOUNDED):
            yield from _unbounded(pointer, types, around, keywords)
        if LEADING.isdisjoint(schema):
            continue
        # An object that was called open is open once, whatever its parts add.
        same = around._replace(closed=closed or bool(open_), needed=needed, keywords=keywords, whole=False)
        followed = references.follow(schema)
        target = (spots.get(id(followed), join(pointer, "$ref")), followed) if followed is not None else None
        stack.extend(reversed(list(_below(pointer, schema, target, same, holder_closed=closed))))


def _below(
    pointer: str, schema: dict[str, object], target: tuple[str, object] | None, same: _Around, *, holder_closed: bool
) -> Iterator[tuple[str, object, _Around]]:
    """What else speaks about the value, then its members and items."""
    if target:
        yield *target, same
    for keyword, steps, child in children(schema):
        if keyword in _SAME:
            yield join(pointer, *steps), child, same
        elif keyword == "properties":
            name = str(steps[-1])
            yield join(pointer, *steps), child, _Around(name, name in same.needed, holder_closed)
        elif keyword in _BELOW and not isinstance(child, bool):
            yield join(pointer, *steps), child, _Around(same.name)


def _parts(schema: dict[str, object], references: References) -> list[dict[str, object]]:
    """The subschema and all that must hold with it."""
    if _PARTED.isdisjoint(schema):
        return [schema]
    parts: dict[int, dict[str, object]] = {}
    queue: list[object] = [schema]
    for part in queue:  # grows while it is walked
        if isinstance(part, dict) and id(part) not in parts and len(parts) < _PARTS_MOST:
            parts[id(part)] = part
            queue.extend(part["allOf"][:_PARTS_MOST] if isinstance(part.get("allOf"), list) else ())
            queue.append(references.follow(part))
    return list(parts.values())


def _closes(schema: dict[str, object]) -> bool:
    return schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False


def _openness(schema: dict[str, object]) -> str:
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            return "true" if schema[keyword] in (True, {}) else ""  # a map of one kind of values is no open object
    return "absent"


def _types(schema: object) -> set[str]:
    named = schema.get("type") if isinstance(schema, dict) else None
    return {named} if isinstance(named, str) else _strings(named)


def _strings(value: object) -> set[str]:
    return {item for item in _list(value) if isinstance(item, str)}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_object(schema: dict[str, object], types: set[str]) -> bool:
    return "object" in types or (not types and "properties" in schema)


class _Nullable:
    """Whether null passes; remembered, because a shared definition is asked about from many places."""

    def __init__(self) -> None:
        self._known: dict[int, bool] = {}

    def of(self, schema: object) -> bool:
        if not isinstance(schema, dict):
            return schema is True
        if id(schema) not in self._known:
            branches = [branch for word in ("anyOf", "oneOf") for branch in _list(schema.get(word))]
            self._known[id(schema)] = any(map(_names_null, [schema, *branches]))
        return self._known[id(schema)]


def _names_null(schema: object) -> bool:
    if not isinstance(schema, dict):
        return False
    constant = "const" in schema and schema["const"] is None
    return "null" in _types(schema) or schema.get("nullable") is True or constant or None in _list(schema.get("enum"))


def _unbounded(
    pointer: str, types: set[str], around: _Around, keywords: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    if "string" in types and not keywords & _STRING_BOUNDS:
        kind = string_class(around.name)
        if kind:
            missing = ["enum", "pattern"]
            missing += [] if around.holder_closed else ["closed"]
            missing += [] if around.required else ["required"]
            yield pointer, "string_unbounded", f"{kind}: {', '.join(missing)}"
    if types & {"number", "integer"} and not keywords & _NUMBER_BOUNDS:
        kind = number_class(around.name)
        if kind:
            yield pointer, "number_unbounded", kind
    if "array" in types and not keywords & _ITEMS:
        yield pointer, "array_without_items", ""


def _vacuous(pointer: str, schema: dict[str, object]) -> Iterator[tuple[str, str, str]]:
    if _impossible(schema):
        yield pointer, "schema_vacuous", "nothing"
    elif _TYPED.isdisjoint(schema):
        yield pointer, "schema_vacuous", "anything" if _ASSERTIONS.isdisjoint(schema) else "no_type"


def _impossible(schema: dict[str, object]) -> bool:
    if schema.get("enum") == [] or schema.get("type") == [] or schema.get("not", False) in (True, {}):
        return True
    types, only = _types(schema), [schema["const"]] if "const" in schema else schema.get("enum")
    if types and isinstance(only, list) and not any(_is_of(value, types) for value in only):
        return True
    if not _LOW.isdisjoint(schema) and len(types) == 1:
        for least, most in _RANGES:
            low, high = schema.get(least), schema.get(most)
            if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
                return True
    if schema.get("additionalProperties") is not False or schema.get("type") != "object":
        return False
    properties = schema.get("properties")
    declared = set(properties) if isinstance(properties, dict) else set()
    return "patternProperties" not in schema and not _strings(schema.get("required")) <= declared


def _is_of(value: object, types: set[str]) -> bool:
    if isinstance(value, float) and value.is_integer():
        return not types.isdisjoint(("integer", "number"))
    named = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    kind = named.get(type(value), "null")
    return kind in types or (kind == "integer" and "number" in types)
