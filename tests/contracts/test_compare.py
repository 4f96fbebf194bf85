"""`compare`, `breaking`, `witnesses`, `structural_difference` and `normalise` on schemas written by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.contracts.comparison.compare import breaking, compare, structural_difference, witnesses
from analyzer.contracts.comparison.normalise import normal, normalise
from analyzer.contracts.comparison.rename import match_renamed, similarity

Json = Any
STRING: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}


def obj(properties: dict[str, Json], *required: str, **more: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


def kinds(a: Json, b: Json, **options: Any) -> list[tuple[str, str, str]]:
    return [(c.kind, c.pointer, c.direction) for c in compare(a, b, **options).changes]


PLAIN = obj({"city": STRING, "limit": {"type": ["integer", "null"]}}, "city")
TREE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": obj({"v": STRING, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}})},
}

REWRITTEN = {
    "envelope of a function": ({"type": "function", "function": {"name": "f", "parameters": PLAIN}}, PLAIN),
    "parameters": ({"type": "function", "name": "f", "strict": None, "parameters": PLAIN}, PLAIN),
    "inputSchema": ({"name": "f", "inputSchema": PLAIN, "annotations": {}}, PLAIN),
    "input_schema": ({"name": "f", "input_schema": PLAIN}, PLAIN),
    "response format": ({"type": "json_schema", "json_schema": {"name": "r", "schema": PLAIN}}, PLAIN),
    "no parameters": ({"name": "f", "parameters": None}, {}),
    "$schema": ({"$schema": "http://json-schema.org/draft-07/schema#", **PLAIN}, PLAIN),
    "$id": ({"$id": "https://example.com/s", **PLAIN}, PLAIN),
    "key order": (dict(reversed(PLAIN.items())), PLAIN),
    "$ref": (obj({"city": {"$ref": "#/definitions/c"}}, definitions={"c": STRING}), obj({"city": STRING})),
    "$anchor": (obj({"a": {"$ref": "#c"}}, **{"$defs": {"c": {"$anchor": "c", **STRING}}}), obj({"a": STRING})),
    "$ref beside a description": (
        obj({"a": {"$ref": "#/$defs/c", "description": "d"}}, **{"$defs": {"c": WHOLE}}),
        obj({"a": {**WHOLE, "description": "d"}}),
    ),
    "unused $defs": ({**PLAIN, "$defs": {"x": STRING}}, PLAIN),
    "renamed recursion": (TREE, json.loads(json.dumps(TREE).replace("node", "Node"))),
    "list of one type": ({"type": ["string"]}, STRING),
    "list of types": ({"type": ["string", "null"]}, {"type": ["null", "string"]}),
    "nullable by anyOf": (
        {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
        {"type": ["string", "null"], "minLength": 1},
    ),
    "nullable enum": ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, {"enum": [None, "a"]}),
    "required order": (obj({}, "a", "b"), obj({}, "b", "a")),
    "empty required": (obj({}), {"type": "object"}),
    "enum order": ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
    "enum with its type": ({"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
    "const": ({"const": "a"}, {"enum": ["a"]}),
    "5.0": ({"const": 5.0, "type": "integer"}, {"const": 5}),
    "allOf of one": ({"allOf": [PLAIN], "default": {}}, {**PLAIN, "default": {}}),
    "true": ({"properties": {"a": True}, "additionalProperties": True}, {"properties": {"a": {}}}),
    "bounds of integers": ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
    "old tuple": ({"items": [STRING], "additionalItems": False}, {"prefixItems": [STRING], "items": False}),
    "old bound": ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    "old dependencies": ({"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
    "zero": ({"minLength": 0, "uniqueItems": False}, {}),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_providers_rewrite_is_equal(name: str) -> None:
    a, b = REWRITTEN[name]
    assert normalise(a) == normalise(b)
    for one, other in ((a, b), (b, a), (a, a)):
        found = compare(one, other)
        assert (found.relation, found.changes, found.description_only) == ("equal", (), False)


def test_strict_mode_is_undone_only_when_asked() -> None:
    loose = obj({"q": STRING, "n": WHOLE}, "q")
    strict = obj({"q": STRING, "n": {"type": ["integer", "null"]}}, "q", "n", additionalProperties=False)
    assert compare(loose, strict, provider_strict=True).relation == "equal"
    assert compare(loose, strict).relation == "incomparable"
    required = obj({"q": STRING, "n": WHOLE}, "q", "n", additionalProperties=False)
    assert compare(strict, required, provider_strict=True).relation == "narrower"
    one_of, any_of = ({kind: [STRING, obj({"a": WHOLE}, "a")]} for kind in ("oneOf", "anyOf"))
    assert compare(one_of, any_of, provider_strict=True).relation == "equal"


def test_annotations_stand_apart() -> None:
    schema = obj({"description": {**STRING, "description": "d", "x-note": 1}}, title="T")
    spelled = normal(schema)
    assert spelled.schema == {"type": "object", "properties": {"description": STRING}}
    assert spelled.annotations == {"": {"title": "T"}, "/properties/description": {"description": "d", "x-note": 1}}


def test_wording_alone_is_told_apart_from_a_default() -> None:
    a, b, c = (obj({"n": {**WHOLE, **extra}}) for extra in ({"description": "x"}, {"description": "y"}, {"default": 1}))
    assert compare(a, b).description_only
    assert kinds(a, b) == [("description_changed", "/properties/n/description", "none")]
    assert not compare(b, c).description_only
    assert compare(b, c).relation == "equal"
    assert ("default_changed", "/properties/n/default", "none") in kinds(b, c)


CHANGED = {
    "required_added": (obj({"a": STRING}), obj({"a": STRING}, "a"), "narrower", "/properties/a"),
    "required_removed": (obj({"a": STRING}, "a"), obj({"a": STRING}), "wider", "/properties/a"),
    "additional_properties_closed": (obj({}), obj({}, additionalProperties=False), "narrower", "/additionalProperties"),
    "additional_properties_opened": (obj({}, additionalProperties=False), obj({}), "wider", "/additionalProperties"),
    "property_added": (
        obj({"a": STRING}, additionalProperties=False),
        obj({"a": STRING, "b/c": WHOLE}, additionalProperties=False),
        "wider",
        "/properties/b~1c",
    ),
    "property_removed": (obj({"a": STRING}), obj({}), "wider", "/properties/a"),
    "enum_value_added": ({"enum": ["a"]}, {"enum": ["a", "b"]}, "wider", "/enum"),
    "enum_value_removed": ({"enum": ["a", "b"]}, {"enum": ["a"]}, "narrower", "/enum"),
    "enum_added": (STRING, {**STRING, "enum": ["a"]}, "narrower", "/enum"),
    "enum_removed": ({**STRING, "enum": ["a"]}, STRING, "wider", "/enum"),
    "type_widened": (WHOLE, {"type": "number"}, "wider", "/type"),
    "type_narrowed": (obj({"a": {}}), obj({"a": STRING}), "narrower", "/properties/a/type"),
    "type_changed": (obj({"a": STRING}), obj({"a": WHOLE}), "incomparable", "/properties/a/type"),
    "bound_tightened": ({**STRING, "maxLength": 9}, {**STRING, "maxLength": 8}, "narrower", "/maxLength"),
    "bound_loosened": (
        {"type": "number", "exclusiveMinimum": 1},
        {"type": "number", "minimum": 1},
        "wider",
        "/minimum",
    ),
    "multiple_changed": ({**WHOLE, "multipleOf": 2}, {**WHOLE, "multipleOf": 6}, "narrower", "/multipleOf"),
    "pattern_added": (STRING, {**STRING, "pattern": "^a"}, "narrower", "/pattern"),
    "pattern_removed": ({**STRING, "pattern": "^a+$"}, STRING, "wider", "/pattern"),
    "items_closed": ({"type": "array"}, {"type": "array", "items": False}, "narrower", "/items"),
    "prefix_item_added": ({"type": "array"}, {"type": "array", "prefixItems": [STRING]}, "narrower", "/prefixItems/0"),
    "unique_items_added": ({"type": "array"}, {"type": "array", "uniqueItems": True}, "narrower", "/uniqueItems"),
    "branch_added": (
        {"anyOf": [obj({"a": STRING}, "a"), obj({"b": STRING}, "b")]},
        {"anyOf": [obj({"a": STRING}, "a"), obj({"b": STRING}, "b"), WHOLE]},
        "wider",
        "/anyOf/2",
    ),
    "condition_added": (STRING, {**STRING, "not": {"const": "x"}}, "narrower", "/not"),
    "value_closed": (obj({"a": STRING}), obj({"a": False}), "narrower", "/properties/a"),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_a_change_has_a_name_a_place_and_a_direction(kind: str) -> None:
    a, b, relation, place = CHANGED[kind]
    found = compare(a, b)
    assert [(c.kind, c.pointer, c.direction) for c in found.changes] == [(kind, place, relation)]
    assert found.relation == relation
    assert (found.witness_a is not None) == (relation in ("narrower", "incomparable"))
    assert (found.witness_b is not None) == (relation in ("wider", "incomparable"))


def test_a_narrower_contract_breaks_callers_and_a_wider_one_breaks_readers() -> None:
    wide, narrow = obj({"a": STRING}), obj({"a": STRING}, "a")
    verdicts = {
        (relation, role): breaking(compare(a, b), role=role).verdict
        for relation, a, b in (("narrower", wide, narrow), ("wider", narrow, wide), ("equal", wide, wide))
        for role in ("arguments", "output", "final")
    }
    assert {pair for pair, verdict in verdicts.items() if verdict == "breaking"} == {
        ("narrower", "arguments"),
        ("wider", "output"),
        ("wider", "final"),
    }
    assert set(verdicts.values()) == {"none", "breaking"}


def test_a_witness_decides_a_breakage_where_the_relation_is_unknown() -> None:
    a, b = ({**STRING, "pattern": pattern} for pattern in ("^[A-Z]{3}$", "^[A-Z]{3,5}$"))
    found = compare(a, b)
    assert (found.relation, found.reason) == ("unknown", "undecided")
    assert breaking(found, role="output").verdict == "breaking"
    assert breaking(found, role="arguments").verdict == "unknown"
    assert "undecided" in breaking(found, role="arguments").reason


def test_recorded_payloads_are_witnesses_before_made_ones() -> None:
    a, b = ({**STRING, "pattern": pattern} for pattern in (r"^(?=.*\d)(?=.*[a-z])\w{6}$", r"^(?=.*\d)\w{6}$"))
    assert compare(a, b).witness_b is None
    found = compare(a, b, payloads=["ab12cd", None, "AB12CD"])
    assert found.witness_b == ("AB12CD",)
    assert found.relation == "unknown"


def test_null_is_a_witness() -> None:
    assert compare({"type": ["string", "null"]}, STRING).witness_a == (None,)


def test_formats_count_only_when_they_are_asserted() -> None:
    a, b = STRING, {**STRING, "format": "date"}
    assert compare(a, b).relation == "equal"
    assert kinds(a, b) == [("format_added", "/format", "none")]
    assert compare(a, b, assert_formats=True).relation == "narrower"
    assert kinds(a, b, assert_formats=True) == [("format_added", "/format", "narrower")]


def test_schemas_that_contain_themselves_are_decided() -> None:
    def chain(value: Json) -> Json:
        return obj({"v": value, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "v")

    def pair(value: Json) -> Json:
        a = obj({"b": {"$ref": "#/$defs/b"}, "a": {"$ref": "#/$defs/a"}})
        b = obj({"a": {"$ref": "#/$defs/a"}, "v": value, "more": {"type": "array", "items": {"$ref": "#/$defs/b"}}})
        return {"$ref": "#/$defs/a", "$defs": {"a": a, "b": b}}

    for make in (chain, pair):
        assert compare(make(STRING), make({"type": ["string", "integer"]})).relation == "wider"
        assert compare(make({"type": ["string", "integer"]}), make(WHOLE)).relation == "narrower"
        assert compare(make(STRING), make(WHOLE)).relation == "incomparable"
        assert compare(make(STRING), make(STRING)).relation == "equal"


def test_a_schema_is_never_proved_by_assuming_itself() -> None:
    """The members are alike but for what each asks of itself: an induction that assumed too much would say equal."""

    def linked(*required: str) -> Json:
        return {"$ref": "#/$defs/n", "$defs": {"n": obj({"next": {"$ref": "#/$defs/n"}, "v": STRING}, *required)}}

    assert compare(linked(), linked("v")).relation == "narrower"
    assert compare(linked("v"), linked()).relation == "wider"


def test_members_seen_elsewhere_are_not_lost_on_unevaluated_ones() -> None:
    a: Json = {"allOf": [{"items": {}}], "unevaluatedItems": STRING}
    assert compare(a, {"unevaluatedItems": STRING}).witness_a is not None


def deep(levels: int, leaf: Json) -> Json:
    for _ in range(levels):
        leaf = {"properties": {"a": leaf}}
    return leaf


def fan(levels: int, leaf: Json) -> Json:
    twice = {f"d{i}": obj({name: {"$ref": f"#/$defs/d{i + 1}"} for name in "ab"}) for i in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**twice, f"d{levels}": leaf}}


def chained(length: int, leaf: Json) -> Json:
    return {
        "$ref": "#/$defs/0",
        "$defs": {**{str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(length)}, str(length): leaf},
    }


def clique(size: int, leaf: Json) -> Json:
    every = {str(i): {"$ref": f"#/$defs/{i}"} for i in range(size)}
    return {"$ref": "#/$defs/0", "$defs": {name: obj({**every, "v": leaf}) for name in every}}


def choices(count: int) -> Json:
    return {
        "allOf": [{"anyOf": [obj({f"p{i}": STRING}, f"p{i}"), obj({f"q{i}": STRING}, f"q{i}")]} for i in range(count)]
    }


HOSTILE = {
    "no schema": (5, None, "schema_invalid"),
    "invalid": ({"type": 5}, STRING, "schema_invalid"),
    "no expression": ({"pattern": "("}, STRING, "schema_invalid"),
    "not a number": ({"minimum": float("nan")}, {"maximum": float("inf")}, "schema_invalid"),
    "lone surrogate": ({"enum": ["\ud800"]}, {"enum": ["\udfff"]}, "schema_invalid"),
    "elsewhere": ({"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///etc/hostname"}, "schema_unresolvable"),
    "nowhere": ({"$ref": "#/x"}, STRING, "schema_unresolvable"),
    "junk behind a reference": ({"$ref": "#/x", "x": {"type": 7}}, STRING, "schema_invalid"),
    "itself": ({"$ref": "#"}, STRING, "schema_unresolvable"),
    "itself by a branch": ({"anyOf": [STRING, {"$ref": "#"}]}, STRING, "schema_unresolvable"),
    "dynamic": ({"$dynamicRef": "#x"}, STRING, "schema_unresolvable"),
    "deep": (deep(200, STRING), deep(200, WHOLE), "schema_too_deep"),
    "bottomless": (deep(100_000, STRING), deep(100_000, WHOLE), "schema_too_deep"),
    "fan": (fan(40, STRING), fan(40, WHOLE), "schema_too_large"),
    "chain": (chained(3_000, STRING), chained(3_000, WHOLE), "schema_too_deep"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_are_unknown_with_a_reason(name: str) -> None:
    a, b, reason = HOSTILE[name]
    for one, other in ((a, b), (b, a)):
        found = compare(one, other)
        assert (found.relation, found.reason) == ("unknown", reason)
        assert breaking(found, role="arguments").verdict == "unknown"
    structural_difference(a, b)
    assert similarity(a, b) < 1
    assert witnesses({"type": 5}, a, [1]) == []
    assert compare(a, a).relation == "equal"


def test_large_schemas_end_within_their_budget() -> None:
    many = compare(choices(12), choices(13))  # 4,096 alternatives in 8,192: too many to prove, but a value tells
    assert (many.relation, many.reason) == ("unknown", "undecided")
    assert breaking(many, role="arguments").verdict == "breaking"
    assert compare(clique(8, STRING), clique(8, WHOLE)).relation == "incomparable"
    assert compare({"enum": list(range(2_000))}, {"enum": list(range(1, 2_001))}).relation in (
        "incomparable",
        "unknown",
    )
    assert compare({"minimum": 10**400}, {"maximum": 1e308, "multipleOf": 1e-300}).reason in ("", "undecided")
    huge = compare({**STRING, "minLength": 10**9}, {**STRING, "minLength": 10**9 + 1})
    assert huge.relation in ("narrower", "unknown")


KEYWORDS = (
    *("type", "properties", "required", "items", "$ref", "enum", "allOf", "anyOf", "not", "const", "$defs", "pattern"),
    *("minimum", "maxLength", "additionalProperties", "parameters", "dependencies", "$id", "$schema", "x"),
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            below | st.sampled_from(("object", "string", "#", "#/x", ["null"], ["a"], {"a": True})),
            max_size=4,
        )
    ),
    max_leaves=12,
)


def hold_on_junk(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(JUNK, JUNK)
    def run(a: Json, b: Json) -> None:
        found = compare(a, b)
        assert (found.relation == "unknown") == bool(found.reason)
        assert compare(a, a).relation in ("equal", "unknown")
        normalise(a, provider_strict=True)
        structural_difference(a, b)
        witnesses(a, b, [a, b])
        assert 0 <= similarity(a, b) <= 1

    run()


def test_any_values_are_compared_without_harm() -> None:
    hold_on_junk(100)


@pytest.mark.long
def test_any_values_are_compared_without_harm_at_length() -> None:
    hold_on_junk(5_000)


def test_payloads_on_which_two_schemas_disagree() -> None:
    nested: list[Any] = []
    for _ in range(2_000):
        nested = [nested]
    found = witnesses(STRING, {"type": ["string", "integer"], "maxLength": 3}, ["abc", "abcd", 5.0, None, nested])
    assert [(one.position, one.payload, one.accepted_by) for one in found] == [(1, "abcd", "a"), (2, 5.0, "b")]


def test_structural_difference_names_places_by_pointer() -> None:
    a, b = obj({"a/b": STRING, "gone": WHOLE}), obj({"a/b": WHOLE, "new": STRING}, "new")
    assert [(d.pointer, d.change) for d in structural_difference(a, b)] == [
        ("/properties/a~1b/type", "values_changed"),
        ("/properties/gone", "item_removed"),
        ("/properties/new", "item_added"),
        ("/required/0", "item_added"),
    ]


def test_the_structural_difference_alone_loads_its_library() -> None:
    code = "import sys, analyzer.contracts.comparison.compare; sys.exit('deepdiff' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_renamed_tools_are_matched_by_shape() -> None:
    city = obj({"city": STRING, "days": WHOLE}, "city")
    mail = obj({"to": {"type": "array", "items": STRING}, "text": STRING}, "to", "text")
    old = {"get_weather": city, "send_mail": mail, "kept": STRING, "ping": obj({}), "dropped": obj({"x": WHOLE})}
    new = {
        "weather_v2": {**city, "description": "new"},
        "post": {**mail, "required": ["to"]},
        "kept": mail,
        "pong": obj({}),
    }
    assert [(r.old, r.new) for r in match_renamed(old, new)] == [("get_weather", "weather_v2"), ("send_mail", "post")]
    assert similarity(city, {"name": "f", "inputSchema": city}) == 1
    assert similarity(city, mail) < 0.2


def test_equal_shapes_are_told_apart_by_name() -> None:
    shape = obj({"id": STRING})
    found = match_renamed({"read_file": shape, "drop_file": shape}, {"drop_files": shape, "read_files": shape})
    assert [(r.old, r.new) for r in found] == [("drop_file", "drop_files"), ("read_file", "read_files")]


DRAFT = {n: f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7)} | {
    y: f"https://json-schema.org/draft/{y}/schema" for y in ("2019-09", "2020-12")
}
#: Keywords that a dialect does not know and so reads as notes: the engine's verdicts say the same.
NOTES = {
    4: ("const", "contains", "propertyNames", "if", "dependentRequired", "minContains", "unevaluatedItems"),
    6: ("if", "dependentRequired", "dependentSchemas", "minContains", "unevaluatedProperties", "prefixItems"),
    7: ("dependentRequired", "dependentSchemas", "minContains", "unevaluatedProperties", "prefixItems", "$dynamicRef"),
    "2019-09": ("prefixItems", "$dynamicRef"),
}
WRITTEN: dict[str, Json] = {
    "const": {"const": 1},
    "contains": {"contains": WHOLE},
    "propertyNames": {"propertyNames": {"maxLength": 1}},
    "if": {"if": {"type": "object"}, "then": {"required": ["a"]}},
    "dependentRequired": {"dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {"dependentSchemas": {"a": {"required": ["b"]}}},
    "minContains": {"minContains": 0, "contains": True},
    "unevaluatedItems": {"unevaluatedItems": False},
    "unevaluatedProperties": {"unevaluatedProperties": False},
    "prefixItems": {"prefixItems": [WHOLE]},
    "$dynamicRef": {"$dynamicRef": "#/$defs/no", "$defs": {"no": False}},
}


@pytest.mark.parametrize(("draft", "keyword"), [(draft, keyword) for draft in NOTES for keyword in NOTES[draft]])
def test_a_keyword_says_only_what_its_dialect_says(draft: int | str, keyword: str) -> None:
    written, new = {**WRITTEN[keyword], "title": "t"}, {"$schema": DRAFT["2020-12"], **WRITTEN[keyword]}
    bare = {name: member for name, member in written.items() if name in ("contains", "title") and keyword != name}
    if draft == 4:
        bare.pop("contains", None)
    old = {"$schema": DRAFT[draft], **written}
    found = compare(old, {"$schema": DRAFT[draft], **bare})
    assert found.relation == "equal"
    assert [change.direction for change in found.changes] == ["none"] * len(found.changes)
    if keyword != "minContains":
        assert compare(old, new).relation == "narrower"


def test_a_dynamic_reference_of_one_resource_is_a_plain_one() -> None:
    dynamic = {"$dynamicRef": "#n", "minimum": 1, "$defs": {"n": {"$dynamicAnchor": "n", **WHOLE}}}
    assert compare(dynamic, {**WHOLE, "minimum": 1}).relation == "equal"
    old = {"$schema": DRAFT["2019-09"], "properties": {"a": {"$recursiveRef": "#"}}, "required": ["v"]}
    assert compare(old, {"properties": {"a": {"$ref": "#"}}, "required": ["v"]}).relation == "equal"
    apart = {"$dynamicRef": "#n", "$defs": {"n": {"$id": "https://example.com/n", "$dynamicAnchor": "n", **WHOLE}}}
    assert compare(dynamic, apart).reason == "schema_unresolvable"
