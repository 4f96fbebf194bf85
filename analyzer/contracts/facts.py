"""What can be said of a schema by itself, each fact at its place.

Facts are made once per schema id, and the rules about tools only filter them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analyzer.contracts import dialects
from analyzer.contracts.levels import levels
from analyzer.contracts.references import REFERENCE_KEYWORDS, References
from analyzer.contracts.schemas import MAX_DEPTH, depth
from analyzer.contracts.strict import strict_reasons
from analyzer.contracts.verdicts.backtracking import explosive
from analyzer.contracts.verdicts.engine import schema_errors
from analyzer.contracts.walk import NotWalked, Place, walk
from analyzer.pointer import join

#: Every kind of fact, with what its `value` holds.
FACTS = (
    "meta_invalid",  # breaks the meta-schema here: the keyword that fails and what it expects
    "pattern_invalid",  # no regular expression: the pattern
    "ref_unresolved",  # a reference to a place the document does not have: the reference
    "ref_remote",  # a reference out of the document, never fetched: the reference
    "dialect_unknown",  # `$schema` names no dialect we know: what it names
    "root_not_object",  # the root takes no objects, or more than objects: its type, `boolean` or `none`
    "root_composed",  # the root is made of alternatives or parts: the keyword
    "array_without_items",  # an array of anything: empty
    "strict",  # outside the strict subset: the reason, see `strict_reasons`
    "object_open",  # members beside the declared ones are taken: `absent` or `true`
    "property_optional",  # neither required nor nullable: the name
    "string_unbounded",  # nothing bounds it: its class, a colon, the classes of tightening that are missing
    "number_unbounded",  # nothing bounds it: its class
    "schema_vacuous",  # `anything`, `nothing`, or `no_type`: bounds that only bind values of one type
    "pattern_explosive",  # exponential where the engine backtracks: the pattern
    "text",  # words a model reads, or may: the text
    "not_walked",  # too deep or too large to be looked at in full: why; the other facts are not all there are
)

#: Facts of one schema that are kept.
MAX_FACTS = 10_000

#: Patterns of one schema that are examined.
MAX_PATTERNS = 100

_ORDER = {fact: position for position, fact in enumerate(FACTS)}
# Strings that are no words: everything else may be read by a model, unknown members too.
_NO_WORDS = frozenset(
    {
        *("$anchor", "$dynamicAnchor", "$id", "$schema", "id", "type", "format", "pattern"),
        *("contentEncoding", "contentMediaType", *REFERENCE_KEYWORDS),
    }
)
_REFERRING = frozenset(REFERENCE_KEYWORDS)
_MATCHING = frozenset({"pattern", "patternProperties"})
_VALUES = ("default", "examples", "enum", "const")


class Fact(NamedTuple):
    """One fact about the place `pointer` of a schema: `fact` is one of `FACTS`, which also says what `value` is."""

    pointer: str
    fact: str
    value: str


def facts(schema: object, *, dialect: str = dialects.DEFAULT) -> list[Fact]:
    """Collect what can be said of a schema, sorted by place and kind; a fact stands once."""
    if depth(schema) > MAX_DEPTH:
        return [Fact("", "not_walked", f"nested deeper than {MAX_DEPTH} levels")]
    references = References(schema)
    try:
        places = list(walk(schema, references))
    except NotWalked:
        return [Fact("", "not_walked", "too many places")]
    found: set[tuple[str, str, str]] = set()
    try:
        for fact in _all(schema, dialect, references, places):
            found.add(fact)
            if len(found) >= MAX_FACTS:
                found.add(("", "not_walked", f"more than {MAX_FACTS} facts"))
                break
    except NotWalked:
        found.add(("", "not_walked", "takes too long to be looked at in full"))
    order = sorted((pointer, _ORDER[fact], value) for pointer, fact, value in found)
    return [Fact(pointer, FACTS[kind], value) for pointer, kind, value in order]


def _all(schema: object, dialect: str, references: References, places: list[Place]) -> Iterator[tuple[str, str, str]]:
    yield from _meta(schema, dialect)
    yield from _root(schema, references)
    for place in places:
        if isinstance(place.schema, dict) and not _REFERRING.isdisjoint(place.schema):
            yield from _references(place.pointer, place.schema, references)
    yield from _patterns(places)
    yield from levels(schema, references, {id(place.schema): place.pointer for place in reversed(places)})
    yield from ((pointer, "strict", reason) for pointer, reason in strict_reasons(places))
    for place in places:
        if isinstance(place.schema, dict):
            yield from _texts(place.pointer, place.schema)


def _meta(schema: object, dialect: str) -> Iterator[Fact]:
    for violation in schema_errors(schema, dialect):
        if violation.keyword == "format" and violation.expected == '"regex"':
            yield Fact(violation.instance_pointer, "pattern_invalid", violation.actual)
        elif violation.keyword == "propertyNames" and violation.member is not None:
            # What names members by a pattern is the only keyword whose names the meta-schemas look at.
            yield Fact(join(violation.instance_pointer, violation.member), "pattern_invalid", violation.actual)
        else:
            yield Fact(violation.instance_pointer, "meta_invalid", f"{violation.keyword} {violation.expected}")
    unknown = dialects.unknown_dialect(schema)
    if unknown is not None:
        yield Fact("/$schema", "dialect_unknown", unknown)


def _root(schema: object, references: References) -> Iterator[Fact]:
    followed = 0
    while isinstance(schema, dict) and "type" not in schema and "$ref" in schema and followed < 100:
        schema, followed = references.follow(schema), followed + 1
    if not isinstance(schema, dict):
        yield Fact("", "root_not_object", "boolean" if isinstance(schema, bool) else "none")
        return
    named = schema.get("type", "none")
    if named != "object":
        yield Fact("", "root_not_object", ",".join(map(str, named)) if isinstance(named, list) else str(named))
    for keyword in ("anyOf", "oneOf", "allOf", "not", "enum"):
        if keyword in schema:
            yield Fact(f"/{keyword}", "root_composed", keyword)


def _references(pointer: str, schema: dict[str, object], references: References) -> Iterator[Fact]:
    for keyword in REFERENCE_KEYWORDS:
        reference = schema.get(keyword)
        if not isinstance(reference, str) or references.follow(schema, keyword) is not None:
            continue
        if not references.outside(schema, keyword):
            yield Fact(join(pointer, keyword), "ref_unresolved", reference)
        elif references.absolute(schema, reference).partition("#")[0] not in dialects.META_SCHEMAS.values():
            yield Fact(join(pointer, keyword), "ref_remote", reference)


def _patterns(places: list[Place]) -> Iterator[Fact]:
    known: dict[str, bool] = {}
    for place in places:
        if not isinstance(place.schema, dict) or _MATCHING.isdisjoint(place.schema):
            continue
        named = place.schema.get("patternProperties")
        spots = (
            [(join(place.pointer, "patternProperties", name), name) for name in named]
            if isinstance(named, dict)
            else []
        )
        for pointer, pattern in [(join(place.pointer, "pattern"), place.schema.get("pattern")), *spots]:
            if not isinstance(pattern, str):
                continue
            if pattern not in known and len(known) >= MAX_PATTERNS:
                yield Fact("", "not_walked", f"more than {MAX_PATTERNS} patterns")
                return
            if pattern not in known:
                known[pattern] = explosive(pattern)
            if known[pattern]:
                yield Fact(pointer, "pattern_explosive", pattern)


def _texts(pointer: str, schema: dict[str, object]) -> Iterator[Fact]:
    for keyword, value in schema.items():
        if keyword in _VALUES and isinstance(value, list):
            for position, item in enumerate(value):
                if isinstance(item, str) and item:
                    yield Fact(join(pointer, keyword, position), "text", item)
        elif isinstance(value, str) and value and keyword not in _NO_WORDS:
            yield Fact(join(pointer, keyword), "text", value)
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if not name.isascii() or not name.isprintable():
            yield Fact(join(pointer, "properties", name), "text", name)
