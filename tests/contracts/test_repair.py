"""Repair: the smallest edit that passes, verified, and honest about what it invents."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.contracts.repairs.repair import Edit, apply, describe, did_you_mean, repair, smallest

TICKET: dict[str, Any] = {
    "type": "object",
    "properties": {
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "litres": {"type": "number"},
        "colour": {"enum": ["red", "green", "dark blue"]},
        "ticket_id": {"type": "string", "pattern": "^TK-[0-9]{4}$"},
        "tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        "open": {"type": "boolean"},
        "note": {"type": "string", "maxLength": 5},
        "stops": {"type": "array", "items": {"type": "object", "properties": {"at": {"type": "string"}}}},
        "kind": {"const": "single"},
    },
    "additionalProperties": False,
}


def valid(schema: Any, payload: Any) -> bool:
    return jsonschema_rs.validator_for(schema, offline=True, validate_formats=False).is_valid(payload)


def exact(value: Any) -> str:
    """JSON text that tells 5 from 5.0 and 1 from true; the order of members is no content."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("sent", "repaired", "line"),
    [
        ({"seats": "3"}, {"seats": 3}, '/seats: "3" -> 3'),
        ({"note": 3}, {"note": "3"}, '/note: 3 -> "3"'),
        ({"open": "true"}, {"open": True}, '/open: "true" -> true'),
        ({"litres": "2.5"}, {"litres": 2.5}, '/litres: "2.5" -> 2.5'),
        ({"tags": "[1, 2]"}, {"tags": [1, 2]}, '/tags: "[1, 2]" -> [1,2]'),
        ({"tags": 4}, {"tags": [4]}, "/tags: 4 -> [4]"),
        ({"tags": "4"}, {"tags": [4]}, '/tags/0: "4" -> 4'),
        ({"seats": [2]}, {"seats": 2}, "/seats: [2] -> 2"),
        ({"stops": '[{"at": "Oslo"}]'}, {"stops": [{"at": "Oslo"}]}, "/stops"),
        ({"seat": 3}, {"seats": 3}, '/seat: rename to "seats" (nearest name)'),
        ({"ticketId": "TK-0001"}, {"ticket_id": "TK-0001"}, '/ticketId: rename to "ticket_id" (nearest name)'),
        ({"seats": 3, "zzz": 1}, {"seats": 3}, "/zzz: remove (additionalProperties)"),
        ({"colour": "Red"}, {"colour": "red"}, '/colour: "Red" -> "red" (enum, nearest name)'),
        ({"colour": "dark_blue"}, {"colour": "dark blue"}, "nearest name"),
        ({"colour": "grene"}, {"colour": "green"}, "nearest name"),
        ({"seats": 12}, {"seats": 9}, "/seats: 12 -> 9 (maximum, nearest number in bounds)"),
        ({"seats": -4}, {"seats": 1}, "/seats: -4 -> 1 (minimum, nearest number in bounds)"),
        ({"note": "too long"}, {"note": "too l"}, "(maxLength 5, cut)"),
        ({"tags": [1, 2, 3, 4]}, {"tags": [1, 2, 3]}, "(maxItems 3, cut)"),
        ({"ticket_id": "tk-0001"}, {"ticket_id": "TK-0001"}, "(pattern, spelling)"),
        ({"kind": "Single"}, {"kind": "single"}, "nearest name"),
        ({"note": None}, {}, "/note: remove (type string)"),
        ('{"seats": 3}', {"seats": 3}, "(root): "),
    ],
)
def test_the_ordinary_mistakes(sent: Any, repaired: Any, line: str) -> None:
    found = repair(TICKET, sent)
    assert found is not None
    assert exact(found.payload) == exact(repaired)
    assert line in describe(found)
    assert found.verified


def test_coercions_lose_nothing_and_guess_nothing() -> None:
    found = repair(TICKET, {"seats": "3", "tags": "[1]", "open": "false"})
    assert found is not None
    assert not found.guesses
    assert all(edit.lossless and not edit.invented for edit in found.edits)


def test_an_invented_value_says_so() -> None:
    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    found = repair(schema, {})
    assert found is not None
    assert found.edits == (
        Edit("add", "/seats", None, 0, "required; placeholder, not what the model meant", lossless=True, invented=True),
    )
    assert found.guesses
    assert describe(found) == "/seats: add (required, placeholder 0)"


@pytest.mark.parametrize(
    ("schema", "value", "invented"),
    [
        ({"const": "v1"}, "v1", False),
        ({"type": "string", "default": "EUR"}, "EUR", False),
        ({"enum": ["only"]}, "only", False),
        ({"enum": ["b", "a"]}, "b", True),
        ({"type": "string"}, "placeholder", True),
        ({"type": "string", "maxLength": 3}, "", True),
        ({"type": ["string", "null"]}, None, True),
        ({"type": "string", "pattern": "^[A-Z]{3}-\\d{2,}$"}, "AAA-00", True),
        ({"type": "string", "pattern": "^(?:src|lib)/\\w+\\.py$"}, "src/a.py", True),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True}, [0, 1], True),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, 0.25, True),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}}, {"a": False}, True),
        ({"$ref": "#/$defs/day"}, "1970-01-01", True),
    ],
)
def test_what_a_missing_member_gets(schema: Any, value: Any, invented: bool) -> None:
    day = {"type": "string", "format": "date"}
    whole = {"properties": {"x": schema}, "required": ["x"], "$defs": {"day": day}}
    found = repair(whole, {})
    assert found is not None
    assert exact(found.payload) == exact({"x": value})
    assert found.edits[0].invented is invented


def test_the_best_branch_is_mended() -> None:
    def shape(kind: str, **members: Any) -> dict[str, Any]:
        properties = {"kind": {"const": kind}, **members}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    for keyword in ("anyOf", "oneOf"):
        schema = {keyword: [shape("card", number={"type": "string"}), shape("cash", amount={"type": "integer"})]}
        found = repair(schema, {"kind": "cash", "amount": "12"})
        assert found is not None
        assert found.payload == {"kind": "cash", "amount": 12}
        assert len(found.edits) == 1


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 2}),
        ({"not": {"required": ["a"]}}, {"a": 1}),
        ({"contains": {"const": 7}, "type": "array"}, [1]),
        ({"contains": {"const": 7}, "maxContains": 1, "type": "array"}, [7, 7]),
        ({"uniqueItems": True}, [1, 2, 1]),
        ({"minItems": 3, "items": {"type": "string"}}, ["a"]),
        ({"minProperties": 2, "properties": {"a": {"type": "integer"}}}, {}),
        ({"maxProperties": 1, "required": ["b"]}, {"a": 1, "b": 2, "c": 3}),
        ({"propertyNames": {"enum": ["user_id"]}}, {"userId": 1}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}),
        ({"properties": {"a": False}}, {"a": 1}),
        ({"prefixItems": [True], "items": False}, [1, 2, 3]),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2, 3]),
        ({"properties": {"a": True}, "unevaluatedProperties": False}, {"a": 1, "b": 2}),
        ({"multipleOf": 0.5, "type": "number"}, 1.3),
        ({"minLength": 4, "type": "string"}, "ab"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, 5.0),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]}, ["1"]),
        ({"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "integer", "minimum": 5}}}]}, {}),
        (
            {
                "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}}},
                "$ref": "#/$defs/n",
            },
            {"next": {"next": {"v": "1"}}},
        ),
    ],
)
def test_every_keyword_can_be_mended(schema: Any, sent: Any) -> None:
    assert not valid(schema, sent) or isinstance(sent, float)
    found = repair(schema, sent)
    assert found is not None
    assert valid(schema, found.payload)
    assert exact(apply(sent, found.edits)) == exact(found.payload)


def test_only_what_is_needed_is_edited() -> None:
    sent = {"seats": "3", "litres": 1.5, "note": "ok", "colour": "red"}
    found = repair(TICKET, sent)
    assert found is not None
    assert [edit.pointer for edit in found.edits] == ["/seats"]


def test_a_line_is_safe_to_print() -> None:
    found = repair(
        {"additionalProperties": False, "properties": {"a": {"type": "integer"}}}, {"\x1b[31m\n": 1, "a": "\x07"}
    )
    assert found is not None
    assert describe(found).isprintable()


def test_many_mistakes_at_once() -> None:
    names = [f"name_{n}" for n in range(24)]
    schema = {
        "properties": {name: {"type": "integer"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    found = repair(schema, {name.replace("name", "nam"): str(n) for n, name in enumerate(names)})
    assert found is not None
    assert found.payload == {name: n for n, name in enumerate(names)}
    numbers = repair({"items": {"type": "integer"}}, [str(n) for n in range(600)])
    assert numbers is not None
    assert numbers.payload == list(range(600))


def test_the_dialect_of_the_wire_holds_where_the_schema_names_none() -> None:
    tuples = {"type": "array", "items": [{"type": "integer"}]}
    assert repair(tuples, ["1"]) is None
    found = repair(tuples, ["1"], dialect="draft-07")
    assert found is not None
    assert found.payload == [1]
    assert smallest(tuples, dialect="draft-07") == []


def test_a_valid_payload_needs_no_edit() -> None:
    found = repair(TICKET, {"seats": 3})
    assert found is not None
    assert found.edits == ()
    assert describe(found) == "nothing to repair"


def test_a_coercion_that_loses_something_is_no_lossless_one() -> None:
    for sent in ('{"a": 1, "a": 2}', '{"a": 0.10000000000000000001}'):
        found = repair({"type": "object"}, sent)
        assert found is not None
        assert found.guesses


@pytest.mark.parametrize(
    ("schema", "least"),
    [
        (TICKET, {}),
        (
            {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 3}, "x": {}}},
            {"n": 3},
        ),
        ({"type": "string", "minLength": 2}, "aa"),
        ({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "array"}]}, []),
        ({"type": "object", "required": ["c"], "properties": {"c": {"enum": ["long", "s"]}}}, {"c": "s"}),
    ],
)
def test_the_smallest_object(schema: Any, least: Any) -> None:
    assert smallest(schema) == least


def _fan_out(levels: int) -> dict[str, Any]:
    twice = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**twice, str(levels): {"type": "integer"}}, "$ref": "#/$defs/0"}


def _nested(levels: int, wrap: str) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {wrap: value}
    return value


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (_fan_out(40), "x"),
        (_nested(3_000, "not"), 1),
        ({"type": "string"}, _nested(5_000, "a")),
        ({"$ref": "#/nowhere"}, 1),
        ({"$ref": "https://example.com/other.json"}, 1),
        ({"type": "strin"}, 1),
        ({"pattern": "("}, "x"),
        ({"$schema": "urn:no-such-dialect"}, 1),
        ("no schema", 1),
        (False, 1),
        ({"not": {}}, {"a": 1}),
        ({"pattern": "^(?=a)(?:(a+)+\\1)+$"}, "a" * 60 + "!"),
        ({"type": "string", "enum": ["\ud800"]}, 1),
        ({"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#"}}}, {}),
        ({"type": "string", "minLength": 10**9}, ""),
        ({"type": "array", "minItems": 10**9}, []),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, 1),
    ],
)
def test_hostile_input_has_no_repair(schema: Any, sent: Any) -> None:
    assert repair(schema, sent) is None
    assert smallest(schema) is None or valid(schema, smallest(schema))


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"$ref": "#"}, 1),
        ({"allOf": [{"$ref": "#"}], "type": "integer"}, "3"),
        ({"type": "integer", "maximum": 5}, 10**400),
        ({"type": "integer"}, float("inf")),
        ({"type": "integer"}, float("nan")),
        ({"type": "string"}, float("nan")),
        ({"type": "integer"}, "9" * 10_000),
        ({"type": "integer"}, "\ud800"),
        ({"type": "object"}, "[" * 100_000),
        ({"type": "object", "additionalProperties": False}, {str(n): n for n in range(600)}),
        ({"anyOf": [{"anyOf": [{"type": "integer"}] * 40}] * 40}, "x"),
        ({"multipleOf": 1e-300, "type": "number", "maximum": 1}, 7),
    ],
)
def test_odd_input_is_never_an_exception(schema: Any, sent: Any) -> None:
    found = repair(schema, sent)
    assert found is None or valid(schema, found.payload)


def test_the_budget_bounds_the_search() -> None:
    sent = {"seats": "3", "colour": "Red", "zzz": 1}
    assert repair(TICKET, sent, budget=1) is None
    assert repair(TICKET, sent) is not None


@pytest.mark.parametrize(
    ("name", "candidates", "near"),
    [
        ("userId", ["user_id", "user"], "user_id"),
        ("USER-ID", ["user_id"], "user_id"),
        ("id_user", ["user_id"], "user_id"),
        ("pth", ["path", "mode"], "path"),
        ("seat", ["seats"], "seats"),
        ("form", ["from"], "from"),
        ("HTTPPort", ["http_port"], "http_port"),
        ("path", ["path", "paths"], "path"),
        ("colour", ["weight", "length"], None),
        ("x", ["y"], None),
        ("lin_12", ["line_2", "line_12"], "line_12"),
        ("", ["a"], None),
        ("größe", ["grösse", "preis"], "grösse"),
        ("a" * 5_000, ["a" * 4_999], None),
    ],
)
def test_did_you_mean(name: str, candidates: list[str], near: str | None) -> None:
    assert did_you_mean(name, candidates) == near


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-20, 20), st.sampled_from([0.5, 5.0, -2.25]), st.text("ab1- ", max_size=4)
)
values = st.recursive(
    scalars | st.sampled_from(["3", "true", "[1]", '{"a": 1}', "null"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcde"), inner, max_size=3),
    max_leaves=8,
)
leaves = st.one_of(
    st.sampled_from([{}, {"type": "boolean"}, {"type": "string"}, {"type": ["string", "null"]}, {"type": "number"}]),
    st.sampled_from([{"type": "string", "pattern": p} for p in ("^[A-Z]{2}$", "^a+-[0-9]{3}$", "b", "^(x|yy)$")]),
    st.integers(-5, 5).map(lambda n: {"type": "integer", "minimum": n, "maximum": n + 3}),
    st.integers(0, 3).map(lambda n: {"type": "string", "minLength": n, "maxLength": n + 2}),
    st.lists(scalars, min_size=1, max_size=3).map(lambda options: {"enum": options}),
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    objects = st.builds(
        lambda properties, required, closed: {
            "type": "object",
            "properties": properties,
            "required": [name for name in required if name in properties],
            **({"additionalProperties": False} if closed else {}),
        },
        members,
        st.lists(st.sampled_from("abcd"), unique=True, max_size=3),
        st.booleans(),
    )
    arrays = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least, "maxItems": least + 1},
        inner,
        st.integers(0, 2),
    )
    return objects | arrays | st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})


schemas = st.recursive(leaves, _containers, max_leaves=6)


def _check(schema: Any, sent: Any) -> None:
    before = exact(sent)
    found = repair(schema, sent)
    assert found is not None, "every schema here can be met"
    assert valid(schema, found.payload)
    assert exact(apply(sent, found.edits)) == exact(found.payload)
    assert exact(sent) == before
    assert bool(found.edits) != valid(schema, sent)
    for edit in found.edits:
        assert edit.invented == ("placeholder, not what the model meant" in edit.why)
        if edit.op == "replace" and edit.lossless:
            assert _tells(edit.before, edit.after)
    least = smallest(schema)
    assert valid(schema, least)
    if isinstance(least, dict):
        assert not any(valid(schema, {k: v for k, v in least.items() if k != name}) for name in least)


def _tells(before: Any, after: Any) -> bool:
    """Whether the old value can be told from the new one: it is inside it, or its text is, or the other way round."""
    return any(exact(inner) == exact(outer) for inner in _layers(before) for outer in _layers(after))


def _layers(value: Any) -> list[Any]:
    found = [value]
    for layer in found:
        if isinstance(layer, list) and len(layer) == 1:
            found.append(layer[0])
        elif isinstance(layer, str):
            with contextlib.suppress(ValueError):
                found.append(json.loads(layer))
        elif isinstance(layer, float) and layer.is_integer():
            found.append(int(layer))
    return found


@settings(max_examples=80, deadline=None)
@given(schemas, values)
def test_a_repaired_payload_always_passes(schema: Any, sent: Any) -> None:
    _check(schema, sent)


@pytest.mark.long
@settings(max_examples=5_000, deadline=None)
@given(schemas, values)
def test_a_repaired_payload_always_passes_at_length(schema: Any, sent: Any) -> None:
    _check(schema, sent)


def test_a_member_that_goes_says_which_name_it_is_near() -> None:
    """Renaming it would not pass, for its value is wrong too: the name is told all the same."""
    schema = {
        "type": "object",
        "properties": {"items": {"type": "array", "minItems": 1}},
        "additionalProperties": False,
    }
    found = repair(schema, {"itmes": []})
    assert found is not None
    assert describe(found) == "/itmes: remove (additionalProperties; did you mean items?)"
    assert describe(repair(schema, {"else": 1}) or found) == "/else: remove (additionalProperties)"


def test_what_the_verdict_takes_for_a_note_is_not_repaired() -> None:
    text = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/json"}
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": text, "n": {"type": "integer"}}}
    found = repair(schema, {"a": "no base64!", "n": "4"})
    assert found is not None
    assert found.payload == {"a": "no base64!", "n": 4}
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"type": "integer"}, "a": text}}
    found = repair(old, {"n": 5, "a": 1})
    assert found is not None
    assert [edit.pointer for edit in found.edits] == ["/a"]


def test_edits_that_stand_on_each_other_are_kept_together() -> None:
    found = repair({"type": "object", "properties": {"b": {}}, "required": ["b"]}, [{"a": 0.5}])
    assert found is not None
    assert found.payload == {"a": 0.5, "b": None}
