"""What `compare` says against values: schemas are made, edited with a known direction, and both are fed."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.contracts.comparison.compare import compare
from analyzer.contracts.comparison.normalise import normalise

Json = Any
Edit = Callable[[random.Random, dict[str, Any]], bool]  # changes the schema in place, or says that it cannot

NAMES = ("id", "city", "limit", "tags", "note", "a/b")
WORDS = ("red", "green", "blue", "amber")
PATTERNS = ("^[a-z]+$", "^ord_[0-9]{3}$", "^[A-Z]{2}[0-9]*$")
SEEDS = st.integers(min_value=0, max_value=2**32)


def quick(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)


# -- schemas of the decidable part


def make(rng: random.Random, level: int = 0, *, recursive: bool = False) -> dict[str, Any]:
    kind = rng.choice(("string", "integer", "number", "array", "object", "choice", "enum", "nullable", "boolean"))
    if level == 0 or (level < 3 and rng.random() < 0.25):
        kind = "object"
    if level >= 3 and kind in ("array", "object", "choice"):
        kind = "string"
    if recursive and level == 1 and rng.random() < 0.5:
        return rng.choice(({"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"type": "null"}]}))
    if kind == "object":
        names = rng.sample(NAMES, rng.randint(1, 4))
        out: dict[str, Any] = {
            "type": "object",
            "properties": {n: make(rng, level + 1, recursive=recursive) for n in names},
        }
        required = [n for n in names if rng.random() < 0.5 and "$ref" not in str(out["properties"][n])]
        if required:
            out["required"] = required
        if rng.random() < 0.4:
            out["additionalProperties"] = rng.choice((False, False, {"type": "string"}))
        return out
    if kind == "array":
        out = {"type": "array", "items": make(rng, level + 1, recursive=recursive)}
        return out | rng.choice(({}, {"minItems": 1}, {"maxItems": 3}, {"minItems": 1, "maxItems": 4}))
    if kind == "choice":
        other = rng.choice(({"type": "integer"}, {"type": "array", "items": {"type": "string"}}, {"type": "boolean"}))
        return {"anyOf": [{"type": "string", "maxLength": 5}, other]}
    if kind == "enum":
        return {"type": "string", "enum": rng.sample(WORDS, rng.randint(2, 3))}
    if kind == "nullable":
        return {"type": ["string", "null"]}
    if kind == "string":
        pattern = {"type": "string", "pattern": rng.choice(PATTERNS)}
        return rng.choice(({"type": "string"}, {"type": "string", "minLength": 1, "maxLength": 8}, pattern))
    if kind in ("integer", "number"):
        return {"type": kind} | rng.choice(({}, {"minimum": 0}, {"minimum": 1, "maximum": 10}, {"multipleOf": 2}))
    return {"type": "boolean"}


def places(schema: Json) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    for below in schema.get("properties", {}).values():
        yield from places(below)
    for below in schema.get("anyOf", []):
        yield from places(below)
    yield from places(schema.get("items"))
    yield from places(schema.get("additionalProperties"))


# -- edits, each narrowing; what they turn a schema from and into is the widening


def require(rng: random.Random, s: dict[str, Any]) -> bool:
    optional = sorted(set(s.get("properties", {})) - set(s.get("required", [])))
    optional = [name for name in optional if "$ref" not in str(s["properties"][name])]
    if optional:
        s["required"] = [*s.get("required", []), rng.choice(optional)]
    return bool(optional)


def close(_: random.Random, s: dict[str, Any]) -> bool:
    if s.get("type") != "object" or s.get("additionalProperties") is False:
        return False
    s["additionalProperties"] = False
    return True


def drop_value(rng: random.Random, s: dict[str, Any]) -> bool:
    if len(s.get("enum", [])) < 2:
        return False
    s["enum"] = rng.sample(s["enum"], len(s["enum"]) - 1)
    return True


def drop_type(rng: random.Random, s: dict[str, Any]) -> bool:
    if s.get("type") == "number":
        s["type"] = "integer"
        return True
    if isinstance(s.get("type"), list) and len(s["type"]) > 1:
        s["type"] = rng.sample(s["type"], len(s["type"]) - 1)
        return True
    return False


def drop_branch(rng: random.Random, s: dict[str, Any]) -> bool:
    if len(s.get("anyOf", [])) < 2:
        return False
    s["anyOf"] = rng.sample(s["anyOf"], 1)
    return True


def drop_member_of_closed(rng: random.Random, s: dict[str, Any]) -> bool:
    optional = sorted(set(s.get("properties", {})) - set(s.get("required", [])))
    if s.get("additionalProperties") is not False or not optional:
        return False
    del s["properties"][rng.choice(optional)]
    return True


def add_member_to_open(_: random.Random, s: dict[str, Any]) -> bool:
    if s.get("type") != "object" or "additionalProperties" in s:
        return False
    s["properties"] = {**s.get("properties", {}), "fresh": {"type": "integer"}}
    return True


def bound(keyword: str, kinds: tuple[str, ...], step: int, start: int) -> Edit:
    def edit(_: random.Random, s: dict[str, Any]) -> bool:
        if s.get("type") not in kinds or "enum" in s:
            return False
        s[keyword] = s[keyword] + step if keyword in s else start
        return bool(s[keyword] >= 0)

    return edit


def add_pattern(_: random.Random, s: dict[str, Any]) -> bool:
    if s.get("type") != "string" or "pattern" in s or "enum" in s:
        return False
    s["pattern"] = "^[a-z]"
    return True


def add_enum(_: random.Random, s: dict[str, Any]) -> bool:
    if s != {"type": "string"}:
        return False
    s["enum"] = ["red", "x1"]
    return True


def add_multiple(_: random.Random, s: dict[str, Any]) -> bool:
    if s.get("type") not in ("integer", "number"):
        return False
    s["multipleOf"] = s.get("multipleOf", 1) * 3
    return True


def add_unique(_: random.Random, s: dict[str, Any]) -> bool:
    if s.get("type") != "array" or "uniqueItems" in s:
        return False
    s["uniqueItems"] = True
    return True


NARROWING: dict[str, Edit] = {
    "require": require,
    "close": close,
    "drop_value": drop_value,
    "drop_type": drop_type,
    "drop_branch": drop_branch,
    "drop_member_of_closed": drop_member_of_closed,
    "add_member_to_open": add_member_to_open,
    "minLength": bound("minLength", ("string",), 1, 2),
    "maxLength": bound("maxLength", ("string",), -1, 6),
    "minimum": bound("minimum", ("integer", "number"), 1, 1),
    "maximum": bound("maximum", ("integer", "number"), -1, 20),
    "minItems": bound("minItems", ("array",), 1, 1),
    "maxItems": bound("maxItems", ("array",), -1, 5),
    "add_pattern": add_pattern,
    "add_enum": add_enum,
    "add_multiple": add_multiple,
    "add_unique": add_unique,
}


def edited(rng: random.Random, schema: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """One narrowing edit at a random place of a copy."""
    for name in rng.sample(sorted(NARROWING), len(NARROWING)):
        out = copy.deepcopy(schema)
        spots = list(places(out))
        for spot in rng.sample(spots, len(spots)):
            if NARROWING[name](rng, spot):
                return name, out
    return None


# -- values, made without the code under test


def value(rng: random.Random, schema: Json, root: Json, level: int = 0) -> Json:
    if rng.random() < 0.06 or not isinstance(schema, dict) or level > 6:
        return copy.deepcopy(
            rng.choice((None, True, 0, -3, 2.5, 7, "", "abc", "ord_123", [], ["a", "a"], {}, {"id": "q"}))
        )
    if "$ref" in schema:
        return value(rng, root, root, level + 1)
    if "anyOf" in schema:
        return value(rng, rng.choice(schema["anyOf"]), root, level)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type", "object")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        names = [n for n in schema.get("properties", {}) if n in schema.get("required", []) or rng.random() < 0.5]
        out = {n: value(rng, schema["properties"][n], root, level + 1) for n in names}
        if rng.random() < 0.2:
            out[rng.choice((*NAMES, "fresh"))] = value(rng, rng.choice(({}, {"type": "string"})), root, level + 1)
        return out
    if kind == "array":
        size = rng.randint(schema.get("minItems", 0), max(schema.get("maxItems", 4), schema.get("minItems", 0)))
        return [value(rng, schema.get("items", {}), root, level + 1) for _ in range(size)]
    if kind == "string":
        low = schema.get("minLength", 0)
        plain = "".join(rng.choice("abcdxyz") for _ in range(rng.randint(low, max(schema.get("maxLength", 9), low))))
        return rng.choice((plain, plain, "ord_123", "AB12", "red", "x1"))
    if kind in ("integer", "number"):
        return rng.choice((rng.randint(-2, 22), rng.randint(0, 4) * 6, rng.randint(0, 9) + rng.choice((0, 0.5))))
    return rng.choice((True, False)) if kind == "boolean" else None


def accepts(schema: Json) -> Callable[[Json], bool]:
    return jsonschema_rs.Draft202012Validator(schema, offline=True).is_valid


def assert_no_counterexample(rng: random.Random, small: Json, large: Json, tries: int) -> None:
    in_small, in_large = accepts(small), accepts(large)
    for _ in range(tries):
        one = value(rng, *rng.choice(((small, small), (large, large))))
        assert not in_small(one) or in_large(one), (small, large, one)


def assert_claims_hold(rng: random.Random, a: Json, b: Json, tries: int = 25) -> str:
    """Compare, hold every claim to values, and return the relation."""
    found = compare(a, b)
    if found.relation in ("wider", "equal"):
        assert_no_counterexample(rng, a, b, tries)
    if found.relation in ("narrower", "equal"):
        assert_no_counterexample(rng, b, a, tries)
    for witness, own, other in ((found.witness_a, a, b), (found.witness_b, b, a)):
        if witness is not None:
            assert accepts(own)(witness.value)
            assert not accepts(other)(witness.value)
    if found.relation == "incomparable":
        assert found.witness_a is not None
        assert found.witness_b is not None
    return found.relation


def run_edits(examples: int, tries: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @quick(examples)
    @given(SEEDS)
    def edits(seed: int) -> None:
        rng = random.Random(seed)
        schema = make(rng, recursive=rng.random() < 0.2)
        edit = edited(rng, schema)
        if edit is None:
            return
        name, smaller = edit
        for kind, a, b in (("narrower", schema, smaller), ("wider", smaller, schema)):
            relation = assert_claims_hold(rng, a, b, tries)
            assert relation in (kind, "equal", "unknown"), (name, a, b)
            counts[relation] += 1
            counts["edits"] += 1
            if relation == "unknown":
                counts[f"unknown {name}"] += 1

    edits()
    return counts


def test_edits_of_known_direction_are_decided_and_never_wrongly() -> None:
    counts = run_edits(examples=160, tries=20)
    assert counts["wider"] >= 100
    assert counts["narrower"] >= 100
    assert counts["unknown"] <= 0.3 * counts["edits"], counts


@pytest.mark.long
def test_edits_of_known_direction_at_length() -> None:
    counts = run_edits(examples=5_000, tries=100)
    assert counts["unknown"] <= 0.3 * counts["edits"], counts


# -- any keywords, any values


def wild(rng: random.Random, level: int = 0) -> Json:
    """A schema of any keywords, decidable or not; the values in play are few, so that they meet."""
    if level > 2 or rng.random() < 0.25:
        return copy.deepcopy(
            rng.choice(
                (
                    True,
                    False,
                    {},
                    {"type": "string"},
                    {"type": ["integer", "null"]},
                    {"minimum": 1},
                    {"type": "number", "exclusiveMaximum": 5},
                    {"multipleOf": 1.5},
                    {"minLength": 2},
                    {"pattern": "^a"},
                    {"enum": ["abc", 1, None]},
                    {"const": 1.0},
                    {"enum": [True, [1], {"id": "q"}]},
                    {"type": "array", "uniqueItems": True},
                    {"required": ["id"]},
                    {"$ref": "#/$defs/d"},
                )
            )
        )

    def below() -> Json:
        return wild(rng, level + 1)

    makers: dict[str, Callable[[], Json]] = {
        "type": lambda: rng.choice(("object", "array", "string", ["object", "null"], ["array", "integer"])),
        "properties": lambda: {name: below() for name in rng.sample(("id", "fresh", "note"), 2)},
        "required": lambda: rng.sample(("id", "fresh"), rng.randint(1, 2)),
        "additionalProperties": below,
        "patternProperties": lambda: {rng.choice(("^i", "e")): below()},
        "propertyNames": lambda: rng.choice(({"maxLength": 2}, {"pattern": "^[a-m]"}, {"enum": ["id", "fresh"]})),
        "minProperties": lambda: rng.randint(0, 2),
        "maxProperties": lambda: rng.randint(0, 2),
        "dependentRequired": lambda: {"id": ["fresh"]},
        "dependentSchemas": lambda: {"id": below()},
        "items": below,
        "prefixItems": lambda: [below() for _ in range(rng.randint(1, 2))],
        "minItems": lambda: rng.randint(0, 2),
        "maxItems": lambda: rng.randint(0, 2),
        "contains": below,
        "minContains": lambda: rng.randint(0, 2),
        "uniqueItems": lambda: True,
        "allOf": lambda: [below() for _ in range(rng.randint(1, 2))],
        "anyOf": lambda: [below() for _ in range(rng.randint(1, 3))],
        "oneOf": lambda: [below() for _ in range(rng.randint(1, 3))],
        "not": below,
        "if": below,
        "then": below,
        "else": below,
        "unevaluatedProperties": lambda: rng.choice((False, {"type": "string"})),
        "unevaluatedItems": lambda: rng.choice((False, {"type": "string"})),
        "maximum": lambda: rng.randint(0, 3),
        "maxLength": lambda: rng.randint(0, 3),
        "enum": lambda: rng.sample(("abc", "", 1, 2.5, None, True), 3),
    }
    return {name: makers[name]() for name in sorted(rng.sample(sorted(makers), rng.randint(1, 4)))}


def document(rng: random.Random) -> Json:
    root = wild(rng)
    if isinstance(root, dict):
        root["$defs"] = {
            "d": {"type": "object", "properties": {"id": rng.choice(({"$ref": "#/$defs/d"}, {"$ref": "#"}))}}
        }
    return root


def tweaked(rng: random.Random, schema: Json) -> Json:
    """The same schema with one keyword somewhere added, dropped or replaced."""
    out = copy.deepcopy(schema)
    spots = [out] if isinstance(out, dict) else []
    for spot in spots:
        for member in list(spot.values()):
            spots += [m for m in (member if isinstance(member, list) else [member]) if isinstance(m, dict)]
    spots = [
        s for s in spots if s.keys() & {"type", "allOf", "anyOf", "oneOf", "not", "if", "items", "contains"}
    ] or spots
    if not spots:
        return wild(rng)
    spot = rng.choice(spots)
    other = wild(rng, 1)
    if spot is not out or rng.random() < 0.7:
        if rng.random() < 0.4 and spot:
            del spot[rng.choice(sorted(spot))]
        elif isinstance(other, dict):
            spot.update(other)
    return out


def some_value(rng: random.Random, level: int = 0) -> Json:
    if level > 2 or rng.random() < 0.5:
        return rng.choice((None, True, False, 0, 1, 1.5, 2.5, 3, "", "a", "ab", "abc", "x"))
    if rng.random() < 0.6:
        return {n: some_value(rng, level + 1) for n in rng.sample(("id", "fresh", "note", "e1"), rng.randint(0, 3))}
    return [some_value(rng, level + 1) for _ in range(rng.randint(0, 3))]


def run_wild(examples: int, tries: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @quick(examples)
    @given(SEEDS)
    def pairs(seed: int) -> None:
        rng = random.Random(seed)
        a = document(rng)
        b = tweaked(rng, a) if rng.random() < 0.8 else document(rng)
        try:
            in_a, in_b = accepts(a), accepts(b)
        except ValueError:
            counts["invalid"] += compare(a, b).relation in ("equal", "unknown")
            return
        relation = assert_claims_hold(rng, a, b, tries=0)
        counts[relation] += 1
        spelled = accepts(normalise(a))
        for _ in range(tries):
            one = some_value(rng)
            assert in_a(one) == spelled(one), (a, one)
            assert relation not in ("wider", "equal") or not in_a(one) or in_b(one), (a, b, one)
            assert relation not in ("narrower", "equal") or not in_b(one) or in_a(one), (a, b, one)

    pairs()
    return counts


def test_no_claim_about_any_keywords_is_refuted_by_a_value() -> None:
    counts = run_wild(examples=120, tries=40)
    assert counts["wider"] + counts["narrower"] + counts["equal"] > 20, counts


@pytest.mark.long
def test_no_claim_about_any_keywords_is_refuted_at_length() -> None:
    run_wild(examples=10_000, tries=400)
