"""Schemas at random, in any dialect, and payloads that nearly keep them: what differential tests draw from.

Only what all validators are bound to read alike is made: patterns of the common subset, divisors that doubles hold
exactly, no text outside ASCII under a pattern.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

from analyzer.contracts.dialects import DRAFT4, DRAFT6, DRAFT7, DRAFT2019, DRAFT2020, META_SCHEMAS

Json = Any

NAMES = ("a", "b", "c", "ab", "x-1")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
#: Patterns of the subset that is the same everywhere, each with texts of which some match.
PATTERNS = {
    "^a": ("a", "ab", "ba"),
    "b$": ("b", "ab", "ba"),
    "^[a-c]{2}$": ("ab", "abc", "dd"),
    "^(?:x|y)-[0-9]+$": ("x-1", "y-22", "x-"),
    "^$|b": ("", "b", "a"),
    "[^a-z]": ("A", "a", "a1"),
}
SCALARS: tuple[Json, ...] = (None, True, False, 0, 1, -1, 2, 3, 4, 0.5, 1.0, -1.5, 2.0, 1e3, 10**20, 2**53 + 1)
TEXTS = ("", "a", "b", "ab", "abc", "x-1", "y-22", "A", "é", "𝄞𝄞", "\u0000")
OLD = (DRAFT4, DRAFT6, DRAFT7)
_DEEPEST = 3


class Case(NamedTuple):
    """A schema, what it is written in, and payloads."""

    dialect: str
    schema: dict[str, Json]
    payloads: list[Json]


def cases(dialect: str) -> st.SearchStrategy[Case]:
    """Cases of one dialect; each choice is Hypothesis's own, so that what is found is made small."""
    return st.randoms(use_true_random=False).map(lambda rng: case(rng, dialect))


def case(rng: random.Random, dialect: str, *, payloads: int = 4) -> Case:
    """One schema with payloads: near it, near it with one thing changed, and any."""
    schema = _Maker(rng, dialect).document()
    near = [nearly(rng, schema, schema) for _ in range(payloads - 1)]
    near = [changed(rng, each) if rng.random() < 0.4 else each for each in near]
    return Case(dialect, schema, [*near, anything(rng)])


def anything(rng: random.Random, level: int = 0) -> Json:
    """Any small JSON value."""
    kind = rng.random()
    if level < _DEEPEST and kind < 0.25:
        return [anything(rng, level + 1) for _ in range(rng.randrange(4))]
    if level < _DEEPEST and kind < 0.6:
        return {name: anything(rng, level + 1) for name in rng.sample(NAMES, rng.randrange(4))}
    return rng.choice(TEXTS) if kind < 0.8 else rng.choice(SCALARS)


def changed(rng: random.Random, value: Json) -> Json:
    """The value with one thing in it changed."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(sorted(value))
        rest = {each: inner for each, inner in value.items() if each != name}
        return rest if rng.random() < 0.3 else {**rest, rng.choice((name, *NAMES)): changed(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], *([] if rng.random() < 0.3 else [changed(rng, value[at])]), *value[at + 1 :]]
    return anything(rng, _DEEPEST - 1)


def nearly(rng: random.Random, schema: Json, root: dict[str, Json], level: int = 0) -> Json:
    """A value that a schema may well take."""
    if not isinstance(schema, dict) or level > 5:
        return anything(rng, level)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return rng.choice(schema["enum"])
    inner = list(_alternatives(schema, root))
    if inner and rng.random() < 0.6:
        return nearly(rng, rng.choice(inner), root, level + 1)
    types = schema.get("type", _implied(rng, schema))
    kind = rng.choice(types) if isinstance(types, list) else types
    if kind == "object":
        return _object(rng, schema, root, level)
    if kind == "array":
        return _array(rng, schema, root, level)
    if kind == "string":
        return rng.choice(PATTERNS.get(schema.get("pattern", ""), TEXTS))
    if kind in {"integer", "number"}:
        bounds = [schema[each] for each in ("minimum", "maximum", "multipleOf") if each in schema]
        return rng.choice(bounds or [0]) + rng.choice((0, 0, 1, -1, 0.5))
    return rng.choice((True, False)) if kind == "boolean" else None


def _implied(rng: random.Random, schema: dict[str, Json]) -> str:
    names = " ".join(schema).lower()
    hints = {
        "object": "propert|depend|required",
        "array": "item|contain",
        "string": "length|pattern",
        "number": "m.*um",
    }
    found = [kind for kind, words in hints.items() if re.search(words, names)]
    return rng.choice(found or TYPES)


def _alternatives(schema: dict[str, Json], root: dict[str, Json]) -> Iterator[Json]:
    for word in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(word, [])
    for word in ("if", "then", "else"):
        if word in schema:
            yield schema[word]
    reference = schema.get("$ref", "#" if "$dynamicRef" in schema or "$recursiveRef" in schema else None)
    if isinstance(reference, str):
        place, _, name = reference.removeprefix("#/").partition("/")
        yield root if reference == "#" else root.get(place, {}).get(name, True)


def _object(rng: random.Random, schema: dict[str, Json], root: dict[str, Json], level: int) -> dict[str, Json]:
    named = schema.get("properties", {})
    wanted = [name for name in named if rng.random() < 0.7] + schema.get("required", [])
    wanted += rng.sample(NAMES, rng.randrange(3)) if rng.random() < 0.5 else []
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
    by_pattern = next(iter(schema.get("patternProperties", {}).values()), rest)
    return {name: nearly(rng, named.get(name, by_pattern), root, level + 1) for name in dict.fromkeys(wanted)}


def _array(rng: random.Random, schema: dict[str, Json], root: dict[str, Json], level: int) -> list[Json]:
    items = schema.get("items", True)
    first = schema.get("prefixItems", items if isinstance(items, list) else [])
    rest = schema.get("additionalItems", True) if isinstance(items, list) else items
    rest = schema.get("contains", rest) if rng.random() < 0.4 else rest
    count = rng.choice((len(first), schema.get("minItems", 1), rng.randrange(5)))
    return [nearly(rng, first[at] if at < len(first) else rest, root, level + 1) for at in range(count)]


class _Maker:
    def __init__(self, rng: random.Random, dialect: str) -> None:
        self.rng, self.dialect = rng, dialect
        self.place = "$defs" if dialect in {DRAFT2019, DRAFT2020} else "definitions"
        self.names = [f"d{n}" for n in range(rng.randrange(3))]
        self.keywords = [getattr(self, name) for name in sorted(_keywords(dialect))]
        self.leaves = [self.type, self.enum, self.bounds, self.multiple, self.text, self.pattern, self.counts]

    def document(self) -> dict[str, Json]:
        """A whole schema; its definitions may name each other, it, and themselves."""
        made = self.schema(0)
        root = made if isinstance(made, dict) else {"not": {}} if made is False else {}
        root["$schema"] = META_SCHEMAS[self.dialect] + ("#" if self.dialect in OLD else "")
        if self.dialect == DRAFT2020:
            root["$dynamicAnchor"] = "root"
        if self.names:
            root[self.place] = {name: self.schema(1) for name in self.names}
        return root

    def schema(self, level: int) -> Json:
        if level and self.dialect != DRAFT4 and self.rng.random() < 0.12:
            return self.rng.random() < 0.6
        most = 1 if level >= _DEEPEST else 3
        made: dict[str, Json] = {}
        for keyword in self.rng.sample(
            self.keywords if level < 2 * _DEEPEST else self.leaves, self.rng.randint(1, most)
        ):
            made |= keyword(level + 1)
        return made

    def many(self, level: int, most: int = 3) -> list[Json]:
        return [self.schema(level) for _ in range(self.rng.randint(1, most))]

    def named(self, level: int) -> dict[str, Json]:
        return {name: self.schema(level) for name in self.rng.sample(NAMES, self.rng.randrange(4))}

    def some(self) -> list[str]:
        least = 1 if self.dialect == DRAFT4 else 0
        return self.rng.sample(NAMES, self.rng.randint(least, 2))

    def type(self, _: int) -> Json:
        if self.rng.random() < 0.6:
            return {"type": self.rng.choice(TYPES)}
        return {"type": self.rng.sample(TYPES, self.rng.randint(1, 4))}

    def enum(self, level: int) -> Json:
        choices = [anything(self.rng, min(level, 2)) for _ in range(self.rng.randint(1, 4))]
        return {"enum": [each for at, each in enumerate(choices) if all(not same(each, old) for old in choices[:at])]}

    def const(self, level: int) -> Json:
        return {"const": anything(self.rng, min(level, 2))}

    def bounds(self, _: int) -> Json:
        low, high = self.rng.choice((-2, 0, 0.5, 1, 1.0)), self.rng.choice((1, 2, 2.5, 3.0, 2**53))
        closed = self.rng.choice(({"minimum": low}, {"maximum": high}, {"minimum": low, "maximum": high}))
        if self.dialect == DRAFT4:
            marks = [f"exclusive{name.title()}" for name in closed if self.rng.random() < 0.5]
            return closed | {mark: self.rng.random() < 0.7 for mark in marks}
        return self.rng.choice((closed, {"exclusiveMinimum": low}, {"exclusiveMaximum": high}))

    def multiple(self, _: int) -> Json:
        return {"multipleOf": self.rng.choice((1, 2, 3, 0.5, 0.25, 2.0, 7))}

    def text(self, _: int) -> Json:
        low = self.rng.randrange(3)
        return self.rng.choice(({"minLength": low}, {"maxLength": low}, {"minLength": low, "maxLength": low + 1}))

    def pattern(self, _: int) -> Json:
        return {"pattern": self.rng.choice(sorted(PATTERNS))}

    def counts(self, _: int) -> Json:
        what, low = self.rng.choice(("Items", "Properties")), self.rng.randrange(3)
        return self.rng.choice(({f"min{what}": low}, {f"max{what}": low}, {f"min{what}": low, f"max{what}": low + 1}))

    def unique(self, _: int) -> Json:
        return {"uniqueItems": self.rng.random() < 0.8}

    def items(self, level: int) -> Json:
        return {"items": self.schema(level)}

    def tuples(self, level: int) -> Json:
        if self.dialect == DRAFT2020:
            rest = {"items": self.schema(level)}
            return {"prefixItems": self.many(level)} | (rest if self.rng.random() < 0.5 else {})
        rest = {"additionalItems": self.rng.random() < 0.5 if self.dialect == DRAFT4 else self.schema(level)}
        return {"items": self.many(level)} | (rest if self.rng.random() < 0.6 else {})

    def contains(self, level: int) -> Json:
        out: dict[str, Json] = {"contains": self.schema(level)}
        if self.dialect in {DRAFT2019, DRAFT2020}:
            out |= self.rng.choice(({}, {"minContains": 0}, {"minContains": 2}, {"maxContains": 1}))
        return out

    def properties(self, level: int) -> Json:
        return {"properties": self.named(level)}

    def closed(self, level: int) -> Json:
        rest = self.rng.choice((False, self.schema(level)))
        return {"properties": self.named(level), "additionalProperties": rest}

    def required(self, _: int) -> Json:
        return {"required": self.some()}

    def pattern_properties(self, level: int) -> Json:
        chosen = self.rng.sample(sorted(PATTERNS), self.rng.randint(1, 2))
        rest = {"additionalProperties": self.rng.choice((False, True))} if self.rng.random() < 0.4 else {}
        return {"patternProperties": {each: self.schema(level) for each in chosen}} | rest

    def property_names(self, level: int) -> Json:
        return {"propertyNames": self.rng.choice(({"pattern": "^a"}, {"maxLength": 1}, self.schema(level)))}

    def dependencies(self, level: int) -> Json:
        return {"dependencies": {name: self.rng.choice((self.some(), self.schema(level))) for name in self.some()}}

    def dependent(self, level: int) -> Json:
        required = {"dependentRequired": {name: self.some() for name in self.some()}}
        return self.rng.choice((required, {"dependentSchemas": self.named(level)}))

    def unevaluated(self, level: int) -> Json:
        beside = self.rng.choice((self.applied, self.properties, self.tuples, self.conditional, self.reference))
        word = self.rng.choice(("unevaluatedProperties", "unevaluatedItems"))
        return beside(level) | {word: self.rng.choice((False, self.schema(level)))}

    def applied(self, level: int) -> Json:
        return {self.rng.choice(("allOf", "anyOf", "oneOf")): self.many(level)}

    def negated(self, level: int) -> Json:
        return {"not": self.schema(level)}

    def conditional(self, level: int) -> Json:
        arms = self.rng.sample(("then", "else"), self.rng.randint(0, 2))
        return {word: self.schema(level) for word in ("if", *arms)}

    def reference(self, level: int) -> Json:
        if level > 1 and self.rng.random() < 0.15:
            own = {DRAFT2019: {"$recursiveRef": "#"}, DRAFT2020: {"$dynamicRef": "#root"}}
            return self.rng.choice(({"$ref": "#"}, own.get(self.dialect, {"$ref": "#"})))
        if self.rng.random() < 0.01:
            return {"$ref": "#/nowhere"}
        return {"$ref": f"#/{self.place}/{self.rng.choice(self.names)}"} if self.names else {}

    def notes(self, _: int) -> Json:
        words = {"title": "t", "default": 1, "format": "date", "contentEncoding": "base64", "examples": [1], "x-y": {}}
        word = self.rng.choice(sorted(words))
        return {word: words[word]}


def _keywords(dialect: str) -> set[str]:
    common = {"type", "enum", "bounds", "multiple", "text", "pattern", "counts", "unique", "items", "tuples"}
    common |= {"properties", "closed", "required", "pattern_properties", "applied", "negated", "reference", "notes"}
    if dialect in OLD:
        common.add("dependencies")
    if dialect != DRAFT4:
        common |= {"const", "contains", "property_names"}
    if dialect not in {DRAFT4, DRAFT6}:
        common.add("conditional")
    if dialect in {DRAFT2019, DRAFT2020}:
        common |= {"dependent", "unevaluated"}
    return common


def same(one: Json, other: Json) -> bool:
    """Equality as JSON Schema has it: numbers by value, and no boolean is a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
