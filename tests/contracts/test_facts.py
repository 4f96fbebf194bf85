"""What is said of a schema by itself: every kind of fact, what it must not say, and that it ends on any input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.contracts.facts import FACTS, MAX_FACTS, facts
from analyzer.contracts.naming import number_class, string_class

CLOSED = {"type": "object", "additionalProperties": False}


def said(schema: object, kind: str, *, dialect: str = "2020-12") -> list[tuple[str, str]]:
    return [(fact.pointer, fact.value) for fact in facts(schema, dialect=dialect) if fact.fact == kind]


def wrapped(member: object) -> dict[str, object]:
    return {**CLOSED, "properties": {"order_id": member}, "required": ["order_id"]}


def test_a_tight_schema_has_no_facts() -> None:
    schema = {
        **CLOSED,
        "properties": {
            "order_id": {"type": "string", "pattern": "^ORD-[0-9]{4}$"},
            "limit": {"type": ["integer", "null"], "minimum": 1},
        },
        "required": ["order_id", "limit"],
    }
    assert facts(schema) == []


def test_facts_are_sorted_unique_and_of_known_kinds() -> None:
    schema = {"type": "object", "properties": {"b": {}, "a": {"type": "strin"}}, "allOf": [{"$ref": "#/x"}]}
    found = facts(schema)
    assert len(found) == len(set(found))
    assert [fact.pointer for fact in found] == sorted(fact.pointer for fact in found)
    assert {fact.fact for fact in found} <= set(FACTS)


@pytest.mark.parametrize(
    ("schema", "kind", "expected"),
    [
        ({"type": "strin"}, "meta_invalid", [("/type", "enum")]),
        ({"properties": {"a": {"minimum": "1"}}}, "meta_invalid", [("/properties/a/minimum", "type")]),
        ({"required": "a"}, "meta_invalid", [("/required", "type")]),
        ({"type": "object"}, "meta_invalid", []),
        (True, "meta_invalid", []),
        ({"properties": {"a": {"$ref": "#"}}}, "meta_invalid", []),
        ([], "meta_invalid", [("", "type")]),
    ],
)
def test_meta_schema_errors_have_their_place(schema: object, kind: str, expected: list[tuple[str, str]]) -> None:
    assert [(pointer, value.split()[0]) for pointer, value in said(schema, kind)] == expected


def test_the_dialect_decides_what_is_invalid() -> None:
    schema = {"minimum": 1, "exclusiveMinimum": True}
    assert said(schema, "meta_invalid", dialect="draft-04") == []
    assert said(schema, "meta_invalid") == [("/exclusiveMinimum", 'type "number"')]
    assert said({"$schema": "https://example.test/mine"}, "dialect_unknown") == [
        ("/$schema", "https://example.test/mine")
    ]


def test_patterns_that_are_none() -> None:
    assert said(wrapped({"pattern": "("}), "pattern_invalid") == [("/properties/order_id/pattern", '"("')]
    assert said(wrapped({"pattern": "^\\p{L}(?<n>a)$"}), "pattern_invalid") == []


@pytest.mark.parametrize(
    ("schema", "unresolved", "remote"),
    [
        ({"$ref": "#/$defs/gone"}, ["/$ref"], []),
        ({"$ref": "#gone"}, ["/$ref"], []),
        ({"$ref": "#/$defs/a", "$defs": {"a": True}}, [], []),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}}, [], []),
        ({"$ref": "#here", "definitions": {"a": {"$id": "#here"}}}, [], []),
        ({"$id": "https://example.test/s", "$ref": "https://example.test/s#/$defs/a", "$defs": {"a": {}}}, [], []),
        ({"$id": "https://example.test/s", "$ref": "t", "$defs": {"a": {"$id": "t"}}}, [], []),
        ({"allOf": [{"$id": "t", "$ref": "#/$defs/a", "$defs": {"a": {}}}]}, [], []),
        ({"allOf": [{"$id": "t", "$ref": "#/$defs/a"}], "$defs": {"a": {}}}, ["/allOf/0/$ref"], []),
        ({"$ref": "https://example.test/x.json"}, [], ["/$ref"]),
        ({"$ref": "other.json#/a"}, [], ["/$ref"]),
        ({"$ref": "file:///etc/passwd"}, [], ["/$ref"]),
        ({"$ref": "http://["}, [], ["/$ref"]),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, [], []),
        ({"properties": {"$ref": {"type": "string"}}}, [], []),
        ({"$ref": "#/x/y", "x": {"y": {"$ref": "#/nowhere"}}}, ["/x/y/$ref"], []),
        ({"$ref": "#/a%20b", "a b": {}}, [], []),
    ],
)
def test_references(schema: object, unresolved: list[str], remote: list[str]) -> None:
    assert [pointer for pointer, _ in said(schema, "ref_unresolved")] == unresolved
    assert [pointer for pointer, _ in said(schema, "ref_remote")] == remote


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, []),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, []),
        ({"type": "array"}, ["array"]),
        ({"type": ["object", "null"]}, ["object,null"]),
        ({}, ["none"]),
        (True, ["boolean"]),
        ({"$ref": "#"}, ["none"]),
    ],
)
def test_the_root(schema: object, expected: list[str]) -> None:
    assert said(schema, "root_not_object") == [("", value) for value in expected]


def test_a_composed_root() -> None:
    assert said({"type": "object", "anyOf": [True], "allOf": [True]}, "root_composed") == [
        ("/allOf", "allOf"),
        ("/anyOf", "anyOf"),
    ]


def test_arrays_of_anything() -> None:
    assert said(wrapped({"type": "array"}), "array_without_items") == [("/properties/order_id", "")]
    items: list[dict[str, object]] = [
        {"items": True},
        {"prefixItems": [True]},
        {"enum": [[]]},
        {"allOf": [{"items": {}}]},
    ]
    for tight in items:
        assert said(wrapped({"type": "array", **tight}), "array_without_items") == []


OPEN = {"type": "object", "properties": {"a": {"type": "null"}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (OPEN, [("", "absent")]),
        ({**OPEN, "additionalProperties": True}, [("", "true")]),
        ({**OPEN, "additionalProperties": {}}, [("", "true")]),
        ({**OPEN, "additionalProperties": {"type": "string"}}, []),
        ({**OPEN, "additionalProperties": False}, []),
        ({**OPEN, "unevaluatedProperties": False}, []),
        ({"properties": {"a": {}}}, [("", "absent")]),
        ({"type": "string", "properties": {"a": {}}}, []),
        ({"type": ["object", "null"]}, [("", "absent")]),
        ({"type": "object", "allOf": [{"additionalProperties": False}]}, []),
        ({"allOf": [OPEN, {"properties": {"b": {}}}], "unevaluatedProperties": False}, []),
        ({"allOf": [OPEN, {**OPEN, "title": "x"}]}, [("/allOf/0", "absent"), ("/allOf/1", "absent")]),
        ({**OPEN, "allOf": [OPEN]}, [("", "absent")]),
        ({"anyOf": [OPEN, CLOSED]}, [("/anyOf/0", "absent")]),
        ({"not": OPEN}, []),
        ({"if": OPEN, "then": OPEN}, [("/then", "absent")]),
        ({**CLOSED, "properties": {"x": {"items": OPEN}}}, [("/properties/x/items", "absent")]),
        ({**CLOSED, "properties": {"x": {"$ref": "#/$defs/o"}}, "$defs": {"o": OPEN}}, [("/$defs/o", "absent")]),
        (
            {
                **CLOSED,
                "properties": {"x": {"$ref": "#/$defs/o", "unevaluatedProperties": False}},
                "$defs": {"o": OPEN},
            },
            [],
        ),
        ({**CLOSED, "$defs": {"unused": OPEN}}, []),
        ({**CLOSED, "properties": {"me": {"$ref": "#"}}}, []),
        ({**OPEN, "properties": {"me": {"$ref": "#"}}}, [("", "absent")]),
    ],
)
def test_open_objects(schema: object, expected: list[tuple[str, str]]) -> None:
    assert said(schema, "object_open") == expected


@pytest.mark.parametrize(
    ("member", "optional"),
    [
        ({"type": "string"}, True),
        ({"type": ["string", "null"]}, False),
        ({"type": "string", "nullable": True}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, False),
        ({"oneOf": [{"type": "string"}, {"const": None}]}, False),
        ({"enum": ["a", None]}, False),
        ({"const": None}, False),
        (False, False),
    ],
)
def test_optional_members(member: object, optional: bool) -> None:
    schema = {**CLOSED, "properties": {"a": member}}
    assert said(schema, "property_optional") == ([("/properties/a", "a")] if optional else [])
    assert said({**schema, "required": ["a"]}, "property_optional") == []
    assert said({**schema, "allOf": [{"required": ["a"]}]}, "property_optional") == []


def test_members_required_around_a_branch_are_required() -> None:
    schema = {
        **CLOSED,
        "required": ["a"],
        "anyOf": [{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}],
    }
    assert said(schema, "property_optional") == [("/anyOf/0/properties/b", "b")]


@pytest.mark.parametrize(
    "tight", [{"enum": ["a"]}, {"const": "a"}, {"pattern": "^a"}, {"format": "uuid"}, {"maxLength": 9}]
)
def test_bounded_strings(tight: dict[str, object]) -> None:
    assert said(wrapped({"type": "string", **tight}), "string_unbounded") == []
    assert said(wrapped({"type": "string", "allOf": [tight]}), "string_unbounded") == []
    assert said(wrapped({**tight, "anyOf": [{"type": "string"}]}), "string_unbounded") == []


def test_unbounded_strings_say_what_is_missing() -> None:
    schema = {"type": "object", "properties": {"orderId": {"type": "string"}, "note": {"type": "string"}}}
    assert said(schema, "string_unbounded") == [
        ("/properties/orderId", "identifier: enum, pattern, closed, required"),
    ]
    assert said(wrapped({"type": "array", "items": {"type": "string"}}), "string_unbounded") == [
        ("/properties/order_id/items", "identifier: enum, pattern")
    ]


def test_unbounded_numbers() -> None:
    def amount(member: object) -> object:
        return {**CLOSED, "properties": {"refund_amount": member}, "required": ["refund_amount"]}

    assert said(amount({"type": "number"}), "number_unbounded") == [("/properties/refund_amount", "amount")]
    assert said(amount({"type": ["integer", "null"]}), "number_unbounded") == [("/properties/refund_amount", "amount")]
    for bound in ({"minimum": 0}, {"exclusiveMaximum": 9}, {"enum": [1]}):
        assert said(amount({"type": "number", **bound}), "number_unbounded") == []


@pytest.mark.parametrize(
    ("name", "string", "number"),
    [
        ("order_id", "identifier", "identifier"),
        ("customerID", "identifier", "identifier"),
        ("id", "identifier", "identifier"),
        ("countryCode", "identifier", None),
        ("code", None, None),
        ("file-path", "path", None),
        ("targetURL", "url", None),
        ("sql", "query", None),
        ("command", "command", None),
        ("path_description", None, None),
        ("maxTokens", None, "count"),
        ("totalPrice", None, "amount"),
        ("amount_cents", None, "amount"),
        ("priceUSD", None, "amount"),
        ("timeout_ms", None, "count"),
        ("pagination", None, None),
        ("", None, None),
        ("日本", None, None),
    ],
)
def test_what_names_say(name: str, string: str | None, number: str | None) -> None:
    assert (string_class(name), number_class(name)) == (string, number)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (True, "anything"),
        ({}, "anything"),
        ({"description": "x", "title": "y", "format": "date"}, "anything"),
        ({"minLength": 3}, "no_type"),
        ({"properties": {}}, "no_type"),
        (False, "nothing"),
        ({"not": {}}, "nothing"),
        ({"enum": []}, "nothing"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "nothing"),
        ({"minimum": 3, "maximum": 2}, "no_type"),
        ({**CLOSED, "required": ["a"]}, "nothing"),
        ({"type": "object"}, None),
        ({"type": "object", "properties": {}}, None),
        ({"$ref": "#"}, None),
        ({"anyOf": [{"type": "null"}]}, None),
    ],
)
def test_vacuous_schemas(member: object, expected: str | None) -> None:
    found = [("/properties/order_id", expected)] if expected else []
    assert said(wrapped(member), "schema_vacuous") == found
    if not (isinstance(member, dict) and "$ref" in member):
        assert ("", expected) in said(member, "schema_vacuous") or expected is None


def test_explosive_patterns_as_values_and_as_names() -> None:
    schema = {**wrapped({"type": "string", "pattern": "^(a+)+$"}), "patternProperties": {"^(b|b)*$": True}}
    assert said(schema, "pattern_explosive") == [
        ("/patternProperties/^(b|b)*$", "^(b|b)*$"),
        ("/properties/order_id/pattern", "^(a+)+$"),
    ]


def test_texts_are_collected_wherever_a_model_may_read_them() -> None:
    schema = {
        **CLOSED,
        "title": "T",
        "properties": {
            "order_id": {"type": "string", "description": "D", "default": "V", "examples": ["E", 1]},
            "o\u200b": True,
        },
        "required": ["order_id"],
        "x-note": "N",
        "$comment": "C",
        "$defs": {"unused": {"description": "U", "enum": ["M"], "const": "K"}},
    }
    assert sorted(value for _, value in said(schema, "text")) == sorted(
        ["T", "D", "V", "E", "N", "C", "U", "M", "K", "o\u200b"]
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({**CLOSED, "properties": {}, "required": []}, []),
        ({"type": "object", "properties": {}}, [("", "object_open")]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, [("", "object_open")]),
        ({**CLOSED, "properties": {"a": {"type": "null"}}}, [("/properties/a", "property_optional:a")]),
        ({"type": "array", "items": {"type": "string"}}, [("", "root_not_object")]),
        ({**CLOSED, "anyOf": [{"type": "null"}]}, [("/anyOf", "root_anyof")]),
        (wrapped({"type": "string", "format": "uri"}), [("/properties/order_id/format", "format:uri")]),
        (wrapped({"type": "string", "format": "uuid", "pattern": "^a"}), []),
        (wrapped({"type": "string", "maxLength": 3}), [("/properties/order_id/maxLength", "unlisted:maxLength")]),
        (wrapped({"type": "array", "minItems": 1, "items": {"type": "string"}}), []),
        ({**CLOSED, "$defs": {"o": {"type": "object"}}}, [("/$defs/o", "object_open")]),
        (wrapped({"enum": [str(n) for n in range(1_001)]}), [("", "enum_values:1001")]),
        (wrapped({"enum": [f"{n:062}" for n in range(251)]}), [("/properties/order_id/enum", "enum_characters:15562")]),
        (wrapped({"const": "x" * 120_000}), [("", "name_characters:120008")]),
    ],
)
def test_the_strict_subset(schema: object, expected: list[tuple[str, str]]) -> None:
    assert said(schema, "strict") == expected


@pytest.mark.parametrize("word", ["allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"])
def test_keywords_that_strict_refuses(word: str) -> None:
    values: dict[str, object] = {"allOf": [True], "dependentRequired": {}, "dependentSchemas": {}}
    assert said({**CLOSED, word: values.get(word, True)}, "strict") == [(f"/{word}", f"keyword:{word}")]


def test_strict_limits_of_size_and_nesting() -> None:
    deep: object = {"type": "string"}
    for _ in range(10):
        deep = {**CLOSED, "properties": {"a": deep}, "required": ["a"]}
    assert said(deep, "strict") == [("", "levels:11")]
    names = [f"p{n}" for n in range(5_001)]
    wide = {**CLOSED, "properties": {name: {"type": "null"} for name in names}, "required": names}
    assert said(wide, "strict") == [("", "properties:5001")]


def items_in_items(levels: int) -> object:
    schema: object = True
    for _ in range(levels):
        schema = {"items": schema}
    return schema


HOSTILE: dict[str, Callable[[], object]] = {
    "deep": lambda: items_in_items(400),
    "too deep": lambda: items_in_items(100_000),
    "wide": lambda: {"properties": {f"a{n}": {} for n in range(60_000)}},
    "long names": lambda: {"properties": {"x" * 1_000_000: {"properties": {f"a{n}": {} for n in range(5_000)}}}},
    "required everywhere": lambda: {
        "type": "object",
        "required": [f"n{n}" for n in range(60_000)],
        "anyOf": [{"required": [f"a{n}"]} for n in range(10_000)],
    },
    "shared": lambda: {
        "properties": {f"p{n}": {"$ref": "#/$defs/d"} for n in range(5_000)},
        "$defs": {"d": {"properties": {f"q{n}": {"enum": [1]} for n in range(5_000)}}},
    },
    "patterns": lambda: {"properties": {f"p{n}": {"pattern": f"^({'a|' * 40}b{n})*$"} for n in range(2_000)}},
    "errors": lambda: {"properties": {f"p{n}": {"type": 7} for n in range(30_000)}},
    "loop": lambda: {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
    },
    "identifiers": lambda: {
        "allOf": [{"$id": f"https://example.test/{n}", "$ref": f"https://example.test/{n - 1}"} for n in range(5_000)]
    },
    "odd": lambda: {"properties": [], "required": {}, "allOf": {}, "enum": "x", "type": {}, "$ref": 1, "pattern": None},
}
WALKED = {"deep", "loop", "identifiers", "odd"}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_end(name: str) -> None:
    found = facts(HOSTILE[name]())
    assert len(found) <= MAX_FACTS + 1
    assert any(fact.fact == "not_walked" for fact in found) is (name not in WALKED)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "allOf", "$ref", "$id", "enum", "required", "pattern", "not", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_anything_has_facts(value: object) -> None:
    assert {type(fact.value) for fact in facts(value)} <= {str}
    assert facts(json.loads(json.dumps(value))) == facts(value)


def test_recorded_tools(shared: Path) -> None:
    tools = json.loads((shared / "data" / "claude-code" / "tools_2.1.144.json").read_bytes())
    for tool in tools:
        kinds = {fact.fact for fact in facts(tool["input_schema"])}
        assert not kinds & {"meta_invalid", "ref_unresolved", "ref_remote", "pattern_invalid", "not_walked"}


@pytest.mark.parametrize("dialect", ["draft-06", "draft-07", "2019-09", "2020-12"])
def test_a_name_by_pattern_that_is_no_pattern_is_told_as_one(dialect: str) -> None:
    schema = {"type": "object", "properties": {"a": {"patternProperties": {"^a": True, "[": True}}}}
    found = [fact for fact in facts(schema, dialect=dialect) if fact.fact in ("pattern_invalid", "meta_invalid")]
    assert found == [("/properties/a/patternProperties/[", "pattern_invalid", '"["')]


@pytest.mark.parametrize(
    ("schema", "nothing"),
    [
        ({"type": "integer", "enum": ["a", None]}, True),
        ({"type": ["string", "null"], "const": 4}, True),
        ({"type": "boolean", "enum": [0, 1]}, True),
        ({"type": "integer", "enum": ["a", 4.0]}, False),
        ({"type": "number", "const": 4}, False),
        ({"type": ["string", "null"], "enum": ["a", None]}, False),
        ({"enum": ["a", 4]}, False),
    ],
)
def test_values_that_are_all_of_another_type_are_nothing(schema: dict[str, object], nothing: bool) -> None:
    found = facts({"type": "object", "properties": {"a": schema}})
    assert [fact.pointer for fact in found if fact[1:] == ("schema_vacuous", "nothing")] == ["/properties/a"] * nothing
