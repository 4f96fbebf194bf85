"""Tighten: what the proposal asks for, what it costs on unseen sessions, and that it never loosens."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.contracts.tightening.shapes import Shape, free_text, shape
from analyzer.contracts.tightening.tighten import Limits, Observation, Proposal, Step, tighten
from tests.ground.tokens import BASE32, draw


def valid(schema: Any, payload: Any) -> bool:
    return jsonschema_rs.validator_for(schema, offline=True, validate_formats=False).is_valid(payload)


def calls(make: Callable[[random.Random], Any], *, sessions: int = 10, each: int = 10) -> list[tuple[str, Any, bool]]:
    chance = random.Random(7)
    return [Observation(f"sess_{s}", make(chance)) for s in range(sessions) for _ in range(each)]


def member(make: Callable[[random.Random], Any], schema: Any = None, **more: Any) -> Proposal:
    return tighten(calls(lambda chance: {"x": make(chance)}, **more), schema)


def step(proposal: Proposal, pointer: str, klass: str) -> Step:
    return next(step for step in proposal.steps if (step.pointer, step.klass) == (pointer, klass))


OPEN = {"type": "object", "properties": {"x": {"type": "string"}}}


def test_the_five_classes_and_bounds() -> None:
    def make(chance: random.Random) -> Any:
        return {
            "order_id": f"ord_{chance.randrange(10**6):06}",
            "view": chance.choice(["full", "items"]),
            "amount": chance.randrange(1, 900),
            **({"dry": True} if chance.random() < 0.5 else {}),
        }

    text = {"type": "string"}
    schema = {"type": "object", "properties": {"order_id": text, "view": text, "amount": {"type": "integer"}}}
    proposal = tighten(calls(make), schema, tool="refund")
    assert proposal.schema == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^ord_[0-9]{6}$", "maxLength": 10},
            "view": {"type": "string", "enum": ["full", "items"]},
            "amount": {"type": "integer", "minimum": 1, "maximum": 2000},
            "dry": {},
        },
        "required": ["amount", "order_id", "view"],
        "additionalProperties": False,
    }
    assert (proposal.tool, proposal.inferred, proposal.reason) == ("refund", False, "")
    assert (proposal.fitted, proposal.held_out, proposal.refused, proposal.refused_share) == (50, 50, 0, 0.0)
    found = step(proposal, "/order_id", "pattern")
    assert found == Step(
        "/order_id", "pattern", None, {"pattern": "^ord_[0-9]{6}$", "maxLength": 10}, 100, 10, 50, 0, True, ""
    )
    assert schema == {"type": "object", "properties": {"order_id": text, "view": text, "amount": {"type": "integer"}}}


def test_a_schema_where_there_is_none() -> None:
    def make(chance: random.Random) -> Any:
        lines = [{"sku": f"A-{chance.randrange(1000):03}", "n": chance.randrange(1, 4)} for _ in range(2)]
        return {"lines": lines, "who": chance.choice([None, "web"])}

    proposal = tighten(calls(make))
    assert proposal.inferred
    assert proposal.schema["properties"]["lines"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 1, "maximum": 10},
                "sku": {"type": "string", "pattern": "^A-[0-9]{3}$", "maxLength": 5},
            },
            "required": ["n", "sku"],
            "additionalProperties": False,
        },
    }
    assert proposal.schema["properties"]["who"] == {"type": ["null", "string"], "enum": ["web", None]}
    assert step(proposal, "/lines/*/sku", "schema").after == {"type": "string"}


def test_the_shape_of_an_output_once_decoded() -> None:
    outputs = calls(lambda chance: json.dumps({"id": chance.randrange(9), "state": chance.choice(["a", "b"])}))
    proposal = tighten(outputs, role="output")
    assert proposal.inferred
    assert step(proposal, "", "output").after == {"type": "object"}
    assert proposal.schema["required"] == ["id", "state"]
    prose = tighten(calls(lambda _: "All is well."), role="output")
    assert prose.schema is None
    assert prose.reason == "no output holds an object or an array"


@pytest.mark.parametrize(
    ("sessions", "each", "proposed"), [(3, 7, True), (3, 6, False), (2, 50, False), (20, 1, True), (19, 1, False)]
)
def test_support(sessions: int, each: int, proposed: bool) -> None:
    proposal = member(lambda chance: f"T{chance.randrange(1000):03}", OPEN, sessions=sessions, each=each)
    assert bool(proposal.steps) is proposed
    assert proposed or proposal.schema is OPEN
    assert proposed or proposal.reason == "fewer than 20 good calls over 3 sessions"


def test_a_member_with_little_support_is_let_alone() -> None:
    observations = [Observation(f"s{n % 5}", {"x": "T001", **({"rare": n} if n < 12 else {})}) for n in range(100)]
    proposal = tighten(observations, OPEN)
    assert not any(step.pointer == "/rare" for step in proposal.steps)
    assert valid(proposal.schema, {"x": "T999", "rare": "anything"})


def test_what_refuses_too_many_unseen_calls_is_dropped_and_listed() -> None:
    # Each session has a list of its own: what half of them use says nothing of the other half.
    observations = [Observation(f"s{n % 12}", {"x": f"{'abcdefghijkl'[n % 12]}{n % 12}"}) for n in range(240)]
    proposal = tighten(observations, OPEN)
    enum = step(proposal, "/x", "enum")
    assert (enum.kept, enum.refused, enum.held_out) == (False, 120, 120)
    assert enum.reason == "would refuse 120 of 120 good calls of the unseen half"
    assert "enum" not in proposal.schema["properties"]["x"]
    assert proposal.refused_share <= 0.01


def test_many_cheap_tightenings_are_not_dear_together() -> None:
    names = string.ascii_lowercase[:20]

    def make(number: int) -> dict[str, Any]:
        return {name: 10**9 if number == 400 + index else number % 7 + 1 for index, name in enumerate(names)}

    # Sessions of one call each; whichever half they fall in, each outlier breaks the bounds of one member.
    observations = [Observation(f"s{number}", make(number)) for number in range(500)]
    proposal = tighten(observations, {"type": "object"})
    dropped = [step for step in proposal.steps if step.reason.startswith("together")]
    assert dropped
    assert all(0 < step.refused <= 0.01 * step.held_out for step in dropped)
    assert 0 < proposal.refused <= 0.01 * proposal.held_out


def test_free_text_and_maps_are_left_alone() -> None:
    words = ["please", "send", "it", "back", "today", "the", "parcel", "was", "lost"]
    text = member(lambda chance: " ".join(chance.choices(words, k=6)), OPEN)
    assert step(text, "/x", "pattern").reason == "free text, left alone"
    assert text.schema["properties"]["x"] == {"type": "string"}
    stock = tighten(calls(lambda chance: {"stock": {f"k{chance.randrange(10**9)}": 1 for _ in range(3)}}))
    assert step(stock, "/stock", "additionalProperties").reason == "the member names vary: a map"
    assert stock.schema["properties"]["stock"] == {"type": "object"}


def test_calls_that_are_not_good_are_counted_and_not_fitted() -> None:
    bad = [("sess_1", {"x": "ord_204418 and all open"}, False), ("sess_2", {"x": 3}, True)]
    proposal = tighten([*calls(lambda chance: {"x": f"ord_{chance.randrange(10**6):06}"}), *bad], OPEN)
    assert (proposal.bad, proposal.bad_refused) == (2, 2)
    assert proposal.schema["properties"]["x"]["pattern"] == "^ord_[0-9]{6}$"


def test_the_order_of_the_calls_changes_nothing() -> None:
    observations = calls(lambda chance: {"x": f"{chance.choice('ab')}-{chance.randrange(99)}", "n": chance.random()})
    shuffled = random.Random(3).sample(observations, len(observations))
    one, other = tighten(observations), tighten(shuffled)
    assert json.dumps(one.schema) == json.dumps(other.schema)
    assert one == other


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"properties": {"x": {"$ref": "#/$defs/id"}}, "$defs": {"id": {"type": "string"}}}, True),
        ({"$ref": "#/$defs/call", "$defs": {"call": {"properties": {"x": {"type": "string"}}}}}, True),
        ({"allOf": [{"properties": {"x": {"type": "string"}}}]}, True),
        ({"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, True),
        ({"additionalProperties": {"type": "string", "maxLength": 9}}, True),
        ({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}, True),
        ({"unevaluatedProperties": False, "properties": {"x": {}}}, False),
        ({"properties": {"y": {"$ref": "#/properties/x"}, "x": {}}, "not": {"required": ["z"]}}, False),
        ({"properties": {"y": {"$ref": "#"}}}, False),
        (True, True),
    ],
)
def test_schemas_of_every_build_are_narrowed_or_left_alone(schema: Any, kept: bool) -> None:
    proposal = member(lambda chance: f"AB-{chance.randrange(1000):03}", schema)
    assert valid(proposal.schema, {"x": "AB-123"})
    assert valid(proposal.schema, {"x": "elsewise"}) is (not kept)
    others: list[Any] = [{"y": 1}, {"x": 3}, {"x": "AB-1234567"}, {"x": "AB-123", "y": "z"}, {"z": 1}, []]
    for payload in others:
        assert not valid(proposal.schema, payload) or valid(schema, payload)
    assert kept or proposal.schema is schema


@pytest.mark.parametrize("dialect", ["04", "06", "07"])
def test_older_dialects_keep_their_meaning(dialect: str) -> None:
    schema = {
        "$schema": f"http://json-schema.org/draft-{dialect}/schema#",
        "properties": {"x": {"$ref": "#/definitions/id", "description": "whose"}},
        "definitions": {"id": {"type": "string"}},
    }
    proposal = member(lambda chance: f"AB-{chance.randrange(1000):03}", schema)
    assert valid(proposal.schema, {"x": "AB-123"})
    assert not valid(proposal.schema, {"x": "nothing like it"})
    assert not valid(proposal.schema, {"x": 3})


@pytest.mark.parametrize("schema", [False, {"type": "strin"}, {"$ref": "#/nowhere"}, "none", {"pattern": "("}])
def test_a_schema_that_cannot_be_used_is_returned_as_it_is(schema: Any) -> None:
    proposal = member(lambda _: "a1", schema)
    assert proposal.schema is schema
    assert not proposal.steps
    assert proposal.reason


def test_hostile_payloads_are_no_good_calls() -> None:
    deep: Any = "end"
    for _ in range(2_000):
        deep = [deep]
    observations = [("s\ud800", deep, True), ("s", {"x": "\ud800"}, True), *calls(lambda _: {"x": "AB1"})]
    proposal = tighten(observations, OPEN)
    assert proposal.bad >= 1
    assert proposal.steps


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["ord_204418", "ord_000001"], Shape("^ord_[0-9]{6}$", 10)),
        (["INV7", "INV8123"], Shape("^INV[0-9]{1,7}$", 10)),
        (["2026-11-17", "2025-01-02"], Shape("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", 10)),
        (["2026-11-17T10:42:00Z"] * 2, Shape("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", 20)),
        (["LHR", "OSL", "JFK"], Shape("^[A-Z]{3}$", 3)),
        (["9f2c", "a01b", "77fe"], Shape("^[0-9a-f]{4}$", 4)),
        (["+4912", "+4399"], Shape("^\\+[0-9]{4}$", 5)),
        (["v1.2.3", "v10.0.1"], Shape("^v[0-9]{1,3}\\.[0-9]\\.[0-9]$", 8)),
        (["a/b.py", "a/c/d.py", "a/x1.py", "a/e.py", "a/f/g/h.py"], Shape("^a/[a-z0-9]+(?:[./][a-z0-9]+)*$", 14)),
        (["00000000-0000-4000-8000-00000000000a"], Shape("^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", 36)),
        (["EUR:12", "USD:15"] * 6, Shape("^(?:EUR|USD):[0-9]{2}$", 6)),
        (["London", "Oslo", "Rome"], None),
        (["ok", ""], None),
        (["é1", "ü2"], None),
        (["one two", "three four five"], None),
        ([], None),
    ],
)
def test_the_shape_of_identifiers(texts: list[str], expected: Shape | None) -> None:
    assert shape(texts) == expected


def test_free_text_is_told_from_codes() -> None:
    assert free_text(["send it back", "the parcel was lost", "no idea"])
    assert free_text(["grün"])
    assert not free_text(["dark blue", "red"])
    assert not free_text(["a_b", "c-d", "e f", "g"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(string.ascii_letters + string.digits + "._-/:@+()[]\\^$ ", max_size=12), min_size=1, max_size=9)
)
def test_a_shape_holds_what_it_was_made_from(texts: list[str]) -> None:
    found = shape(texts)
    if found is not None:
        engine = {"type": "string", "pattern": found.pattern, "maxLength": found.max_length}
        assert all(valid(engine, text) for text in texts)
        assert all(re.search(found.pattern, text) for text in texts)


leaves = st.sampled_from(
    [
        {},
        {"type": "string"},
        {"type": "integer", "maximum": 4},
        {"enum": ["aa", "bb", 3]},
        {"$ref": "#/$defs/d"},
        {"type": ["string", "null"], "maxLength": 3},
    ]
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda properties, required, others, extra: {
            "properties": properties,
            **({"required": required} if required else {}),
            **others,
            **extra,
        },
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.lists(st.sampled_from("abc"), unique=True, max_size=1),
        st.sampled_from(
            [{}, {"additionalProperties": False}, {"additionalProperties": {"type": ["string", "integer"]}}]
        ),
        st.one_of(
            st.just({}),
            inner.map(lambda schema: {"allOf": [{"properties": {"b": schema}}]}),
            inner.map(lambda schema: {"patternProperties": {"^c": schema}}),
            inner.map(lambda schema: {"oneOf": [{"required": ["a"]}, {"properties": {"b": schema}}]}),
            inner.map(lambda schema: {"not": {"properties": {"a": schema}, "required": ["a"]}}),
            inner.map(lambda schema: {"unevaluatedProperties": schema}),
            inner.map(lambda schema: {"items": schema}),
        ),
    )


roots = st.recursive(leaves, lambda inner: _objects(inner) | inner.map(lambda schema: {"items": schema}), max_leaves=5)
payloads = st.recursive(
    st.sampled_from([None, True, 0, 3, 7, 2.5, "aa", "bb", "k1", "k2", "free text of some length"]),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=5,
)
definitions = {"d": {"type": ["string", "integer"], "not": {"const": "k2"}}}


def _neighbours(payload: Any) -> list[Any]:
    """The payload with one member or item at any depth taken out, or set to something else."""
    near: list[Any] = [None, True, 3, 7, "k2", "free text", {}, []]
    if isinstance(payload, dict):
        near += [{other: value for other, value in payload.items() if other != name} for name in payload]
        for name in "abcd":
            near += [{**payload, name: value} for value in [*_neighbours(payload.get(name))]]
    elif isinstance(payload, list):
        near += [[*payload, None]]
        near += [
            [*payload[:n], value, *payload[n + 1 :]] for n in range(len(payload)) for value in _neighbours(payload[n])
        ]
    return near


def _never_loosens(root: Any, seen: list[Any]) -> None:
    schema = {**root, "$defs": definitions}
    observations = [Observation(f"s{n % 4}", payload) for n, payload in enumerate(seen * 3)]
    proposal = tighten(observations, schema, limits=Limits(calls=2, sessions=2))
    assert proposal.refused <= 0.01 * proposal.held_out
    if proposal.schema != schema:
        old, new = (jsonschema_rs.validator_for(one, offline=True) for one in (schema, proposal.schema))
        for payload in [near for one in seen for near in _neighbours(one)]:
            assert old.is_valid(payload) or not new.is_valid(payload)


@settings(max_examples=100, deadline=None)
@given(roots, st.lists(payloads, min_size=1, max_size=4))
def test_a_proposal_never_loosens(root: Any, seen: list[Any]) -> None:
    _never_loosens(root, seen)


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(roots, st.lists(payloads, min_size=1, max_size=4))
def test_a_proposal_never_loosens_at_length(root: Any, seen: list[Any]) -> None:
    _never_loosens(root, seen)


def test_calls_under_another_version_teach_and_cannot_loosen() -> None:
    def old(chance: random.Random) -> Any:
        return {"id": f"ord_{chance.randrange(10**6):06}", "gone": f"g_{chance.randrange(10**6):06}"}

    text = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {"id": text, "ref": text},
        "required": ["id", "ref"],
        "additionalProperties": False,
    }
    new = [Observation("sess_new", {"id": f"ord_00000{n}", "ref": "r"}) for n in range(3)]
    found = tighten(new, schema, elsewhere=calls(old))
    assert found.elsewhere == 100
    assert found.refused == 0
    # The shared member is tightened; the one that the new version took away stays refused.
    assert found.schema == {
        **schema,
        "properties": {"id": {"type": "string", "pattern": "^ord_[0-9]{6}$", "maxLength": 10}, "ref": text},
    }
    none = tighten([], schema, elsewhere=calls(old))
    assert none.schema == schema
    assert none.reason == "no good call was made under this version"


def test_many_calls_of_an_old_version_do_not_outvote_the_new_one() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    old = calls(lambda chance: {"id": f"ord_{chance.randrange(10**6):06}"}, sessions=40, each=20)
    for name in ("a", "b", "c", "d"):  # whichever half the session falls into
        found = tighten([Observation(f"new_{name}", {"id": "7"})], schema, elsewhere=old)
        assert valid(found.schema, {"id": "7"})


def test_credentials_are_no_codes() -> None:
    key = "AKIA" + draw(random.Random(3), BASE32, 16)

    def make(chance: random.Random) -> Any:
        return {
            "password": chance.choice(["sesame one", "sesame two"]),
            "tokens": {"access_token": [chance.choice(["first", "second"])]},
            "pin_secret": chance.choice([4711, 4712]),
            "with": key,
            "view": chance.choice(["full", "items"]),
        }

    found = tighten(calls(make), None)
    assert step(found, "/view", "enum").after == {"enum": ["full", "items"]}
    told = json.dumps(found.schema) + repr(found.steps)
    assert [word for word in ("sesame", "first", "4711", key) if word in told] == []
    assert "a credential, left alone" in told
