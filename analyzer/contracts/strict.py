"""Why a schema is outside the subset that strict function calling takes (formats of the Responses API)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analyzer.contracts.walk import Place
from analyzer.pointer import join

MAX_PROPERTIES = 5_000
MAX_LEVELS = 10
MAX_ENUM_VALUES = 1_000
MAX_NAME_CHARACTERS = 120_000
MAX_ENUM_CHARACTERS = 15_000
#: Values of one enum from which its characters are counted.
LONG_ENUM = 250

#: Keywords the provider says it refuses.
REFUSED = frozenset({"allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"})
#: Keywords that constrain and stand in no list of the supported ones.
UNLISTED = frozenset(
    {
        "oneOf",
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "prefixItems",
        "unevaluatedItems",
        "contains",
        "minContains",
        "maxContains",
        "uniqueItems",
        "minLength",
        "maxLength",
    }
)
_OUTSIDE = REFUSED | UNLISTED
_COUNTED = _OUTSIDE | {"format", "properties", "$defs", "definitions", "enum", "const"}
FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


def strict_reasons(places: Iterable[Place]) -> Iterator[tuple[str, str]]:
    """Give each reason with its place, as `reason` or `reason:detail`.

    `root_not_object`, `root_anyof`, `object_open`, `property_optional:NAME`, `keyword:NAME` (refused), `unlisted:NAME`
    (in no list of supported keywords: less sure), `format:NAME`, and the limits `properties:N`, `levels:N`,
    `enum_values:N`, `enum_characters:N`, `name_characters:N`.
    """
    properties = values = characters = levels = 0
    for place in places:
        schema = place.schema
        if not isinstance(schema, dict):
            continue
        levels = max(levels, place.levels)
        if not place.pointer:
            yield from _root(schema)
        if _COUNTED.isdisjoint(schema) and type(schema.get("type")) is str and schema["type"] != "object":
            continue  # as most are
        if not _OUTSIDE.isdisjoint(schema):
            yield from ((join(place.pointer, name), f"keyword:{name}") for name in schema if name in REFUSED)
            yield from ((join(place.pointer, name), f"unlisted:{name}") for name in schema if name in UNLISTED)
        named = schema.get("format")
        if isinstance(named, str) and named not in FORMATS:
            yield join(place.pointer, "format"), f"format:{named}"
        yield from _object(place.pointer, schema)
        members = schema.get("properties")
        names = list(members) if isinstance(members, dict) else []
        definitions = [name for key in ("$defs", "definitions") for name in _names(schema.get(key))]
        choices = schema["enum"] if isinstance(schema.get("enum"), list) else []
        texts = [choice for choice in [*choices, schema.get("const")] if isinstance(choice, str)]
        properties += len(names)
        values += len(choices)
        characters += sum(map(len, (*names, *definitions, *texts)))
        if len(choices) > LONG_ENUM and sum(map(len, texts)) > MAX_ENUM_CHARACTERS:
            yield join(place.pointer, "enum"), f"enum_characters:{sum(map(len, texts))}"
    for reason, count, most in (
        ("properties", properties, MAX_PROPERTIES),
        ("levels", levels, MAX_LEVELS),
        ("enum_values", values, MAX_ENUM_VALUES),
        ("name_characters", characters, MAX_NAME_CHARACTERS),
    ):
        if count > most:
            yield "", f"{reason}:{count}"


def _root(schema: dict[str, object]) -> Iterator[tuple[str, str]]:
    if schema.get("type") != "object":
        yield "", "root_not_object"
    if "anyOf" in schema:
        yield "/anyOf", "root_anyof"


def _object(pointer: str, schema: dict[str, object]) -> Iterator[tuple[str, str]]:
    named = schema.get("type")
    if not (named == "object" or (isinstance(named, list) and "object" in named) or "properties" in schema):
        return
    if schema.get("additionalProperties") is not False:
        yield pointer, "object_open"
    required = schema.get("required")
    held = set(filter(lambda name: isinstance(name, str), required)) if isinstance(required, list) else set()
    for name in _names(schema.get("properties")):
        if name not in held:
            yield join(pointer, "properties", name), f"property_optional:{name}"


def _names(value: object) -> list[str]:
    return list(value) if isinstance(value, dict) else []
