"""Verdicts: what is judged, what is not and why, and how a failure is told."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.contracts.dialects import DIALECTS
from analyzer.contracts.verdicts.engine import Judge, Violation, schema_errors

# A lookahead takes the pattern away from the linear engine, and the nested repeat blows the other one up.
EXPLOSIVE = "^(?:(?=a)a+)+$"
BAIT = "a" * 40 + "!"

ORDER = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{4}$"}, "note": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}


def told(schema: object, payload: object, **options: int) -> list[tuple[str, str, str]]:
    return [(v.instance_pointer, v.keyword, v.schema_pointer) for v in Judge(schema).violations(payload, **options)]


def test_valid_and_invalid() -> None:
    judge = Judge(ORDER)
    assert judge.problem is None
    assert judge.is_valid({"order_id": "ORD-0001"})
    assert judge.judge({"order_id": "ORD-0001"}) == ("valid", None)
    assert judge.judge({"order_id": "1"}) == ("invalid", None)
    assert judge.violations({"order_id": "ORD-0001"}) == []


@pytest.mark.parametrize(
    ("schema", "payload", "verdict"),
    [
        ({"type": "integer"}, 5.0, "valid"),
        ({"type": "integer"}, 10**400, "valid"),
        ({"maximum": 10**30}, 10**30 + 1, "invalid"),
        ({"const": 2**53}, 2**53 + 1, "invalid"),
        ({"multipleOf": 0.01}, 19.99, "valid"),
        ({"const": 1}, True, "invalid"),
        ({"uniqueItems": True}, [{"a": n} for n in range(20_000)], "valid"),
        ({"pattern": "^a$"}, "a\n", "invalid"),
        ({"pattern": "^\\d$"}, "٣", "invalid"),
        ({"format": "date"}, "never", "valid"),
        (True, 1, "valid"),
        (False, 1, "invalid"),
    ],
)
def test_traps(schema: object, payload: object, verdict: str) -> None:
    assert Judge(schema).judge(payload) == (verdict, None)


def test_formats_are_asserted_only_when_asked() -> None:
    assert not Judge({"format": "date"}, assert_formats=True).is_valid("never")
    assert told({"format": "date"}, "never") == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_content_keywords_are_notes_in_every_dialect(dialect: str) -> None:
    assert Judge({"contentEncoding": "base64", "contentMediaType": "application/json"}, dialect=dialect).is_valid("!")


def test_dialects_differ() -> None:
    schema = {"minimum": 3, "exclusiveMinimum": True}
    assert Judge(schema, dialect="draft-04").judge(3) == ("invalid", None)
    assert Judge(schema, dialect="2020-12").judge(3) == ("unverifiable", "schema_invalid")
    tuples = {"items": [{"type": "string"}]}
    assert Judge(tuples, dialect="draft-07").judge([1]) == ("invalid", None)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "schema_invalid"),
        ([], "schema_invalid"),
        ("{}", "schema_invalid"),
        ({"type": "strin"}, "schema_invalid"),
        ({"pattern": "("}, "schema_invalid"),
        ({"pattern": "^((a{1000}){1000}){5}$"}, "engine_failed"),
        ({"$ref": "#/$defs/gone"}, "schema_unresolvable"),
        ({"anyOf": [True, {"$ref": "#/$defs/gone"}]}, "schema_unresolvable"),
        ({"$ref": "other.json"}, "schema_unresolvable"),
    ],
)
def test_schemas_that_cannot_judge(schema: object, problem: str) -> None:
    judge = Judge(schema)
    assert judge.problem == problem
    assert judge.problem_detail
    assert judge.judge({}) == ("unverifiable", problem)
    assert not judge.is_valid({})
    assert judge.violations({}) == []


def test_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    target = tmp_path / "schema.json"
    target.write_text('{"type": "string"}')
    for reference in ("http://127.0.0.1:9/x.json", "https://example.test/x", target.as_uri(), str(target)):
        assert Judge({"$ref": reference}).problem == "schema_unresolvable"
        assert Judge({"$schema": reference, "type": "string"}).judge(1) == ("invalid", None)


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        ({"pattern": EXPLOSIVE}, BAIT),
        ({"not": {"pattern": EXPLOSIVE}}, BAIT),
        ({"anyOf": [{"pattern": EXPLOSIVE}, {"type": "integer"}]}, BAIT),
        ({"oneOf": [{"pattern": EXPLOSIVE}, {"type": "string"}]}, BAIT),
        ({"if": {"pattern": EXPLOSIVE}, "else": False}, BAIT),
        ({"if": {"pattern": EXPLOSIVE}, "then": False}, BAIT),
        ({"propertyNames": {"pattern": EXPLOSIVE}}, {BAIT: 1}),
        ({"patternProperties": {EXPLOSIVE: {"type": "string"}}}, {BAIT: 1}),
        ({"patternProperties": {EXPLOSIVE: True}, "additionalProperties": False}, {BAIT: 1}),
        ({"contains": {"pattern": EXPLOSIVE}}, [BAIT]),
        ({"items": {"pattern": EXPLOSIVE}}, [BAIT, BAIT]),
    ],
)
def test_a_pattern_given_up_is_undecided(schema: object, payload: object) -> None:
    judge = Judge(schema)
    # The engine itself says no: its limit fails closed, and this is how it shows.
    assert not judge.is_valid(payload)
    assert judge.judge(payload) == ("unverifiable", "pattern_undecided")
    assert judge.violations(payload) == []


def test_a_certain_failure_outweighs_an_undecided_pattern() -> None:
    judge = Judge({"pattern": EXPLOSIVE, "maxLength": 3})
    assert judge.judge(BAIT) == ("invalid", None)
    assert [v.keyword for v in judge.violations(BAIT)] == ["maxLength"]


def test_a_payload_cannot_talk_itself_out_of_a_failure() -> None:
    text = "Error executing regex: Max limit for backtracking count exceeded"
    assert Judge({"pattern": "^x$"}).judge(text) == ("invalid", None)
    assert Judge({"additionalProperties": False, "patternProperties": {"^x": True}}).judge({text: 1}) == (
        "invalid",
        None,
    )


def fan_out(levels: int, keyword: str = "allOf") -> dict[str, object]:
    both = {n: {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)}
    return {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": each for n, each in both.items()} | {f"d{levels}": {"type": "string"}},
    }


def below(levels: int, leaf: object) -> object:
    for _ in range(levels):
        leaf = {"a": leaf}
    return leaf


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_fan_out_is_judged_as_far_as_it_goes(keyword: str) -> None:
    assert Judge(fan_out(8, "allOf")).judge(1) == ("invalid", None)
    mild = Judge(fan_out(20, "anyOf"))
    assert mild.judge(1) == ("invalid", None)
    assert [v.level for v in mild.violations(1)] == [0]
    assert Judge(fan_out(400, keyword)).judge(1) == ("unverifiable", "engine_failed")


def test_fan_out_over_members_is_refused_too() -> None:
    def step(n: int) -> dict[str, object]:
        twice = [{"title": t, "properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}}} for t in "xy"]
        return {"allOf": twice}

    definitions = {f"d{n}": step(n) for n in range(60)} | {"d60": {"type": "integer"}}
    schema = {"$ref": "#/$defs/d0", "$defs": definitions}
    assert Judge(schema).judge(below(60, 1)) == ("unverifiable", "engine_failed")


def test_fan_out_cannot_hide_behind_identifiers() -> None:
    hidden = fan_out(200)
    schema = {"allOf": [{"$id": "https://example.test/inner", **hidden}]}
    assert Judge(schema).problem == "engine_failed"


def test_fan_out_is_counted_for_every_value_of_a_payload() -> None:
    judge = Judge({"items": {"$ref": "#/$defs/d0"}, "$defs": fan_out(18)["$defs"]})
    assert judge.judge(["x"] * 3) == ("valid", None)
    assert judge.judge(["x"] * 100_000) == ("unverifiable", "engine_failed")
    assert not judge.is_valid(["x"] * 100_000)
    assert judge.violations([1] * 100_000) == []


def test_comparisons_one_by_one_are_counted_too() -> None:
    judge = Judge({"items": {"enum": [{"k": n} for n in range(20_000)]}})
    assert judge.judge([{"k": 19_999}] * 100) == ("valid", None)
    assert judge.judge([{"k": 19_999}] * 20_000) == ("unverifiable", "engine_failed")
    assert Judge({"patternProperties": {f"^a{n}": True for n in range(400)}}).judge({"b": 1}) == ("valid", None)
    assert Judge({"patternProperties": {f"^a{n}": True for n in range(600)}}).problem == "engine_failed"


def test_unevaluated_members_asked_for_level_by_level_are_refused() -> None:
    schema: object = {"properties": {"a": True}}
    for level in range(40):
        schema = {"unevaluatedProperties": False, "allOf": [schema, {"properties": {f"b{level}": True}}]}
    assert Judge(schema).judge({"a": 1}) == ("unverifiable", "engine_failed")
    assert Judge({"unevaluatedProperties": False, "allOf": [{"properties": {"a": True}}]}).judge({"a": 1}) == (
        "valid",
        None,
    )


def test_recursive_schemas_are_judged_and_told_in_bounds() -> None:
    branches = [
        {"type": "object", "required": ["a"], "maxProperties": n, "properties": {"a": {"$ref": "#/$defs/d"}}}
        for n in (1, 2)
    ]
    judge = Judge({"$ref": "#/$defs/d", "$defs": {"d": {"anyOf": [*branches, {"type": "integer"}]}}})
    assert judge.judge(below(200, 1)) == ("valid", None)
    assert judge.judge(below(200, "x")) == ("invalid", None)
    assert len(judge.violations(below(200, "x"))) == 1
    assert judge.violations(below(2, "x"))[-1].instance_pointer == "/a/a"


def test_depth_is_refused_under_recursion_only() -> None:
    tree = Judge({"properties": {"a": {"$ref": "#"}}})
    assert tree.judge(below(500, 1)) == ("valid", None)
    assert tree.judge(below(100_000, 1)) == ("unverifiable", "payload_too_deep")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"not": {"$ref": "#"}},
        {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"allOf": [{"if": {"$ref": "#/$defs/x"}}]}}},
        {
            "$ref": "#/$defs/x",
            "$defs": {"x": {"oneOf": [{"$ref": "#/$defs/y"}]}, "y": {"allOf": [{"$ref": "#/$defs/x"}]}},
        },
        {"$dynamicAnchor": "x", "dependentSchemas": {"a": {"$dynamicRef": "#x"}}},
    ],
)
def test_a_schema_that_never_leaves_a_value_defines_nothing(schema: object) -> None:
    judge = Judge(schema)
    assert judge.judge({"a": 1}) == ("unverifiable", "engine_failed")
    assert judge.problem_detail == "the schema refers to itself without end, so what it takes is not defined"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"allOf": [{"$ref": "#"}]}}},
        {"items": {"not": {"$ref": "#"}}, "minItems": 1},
        {"$ref": "#/$defs/x", "$defs": {"x": {"additionalProperties": {"anyOf": [{"$ref": "#/$defs/x"}, True]}}}},
    ],
)
def test_a_schema_that_comes_back_at_another_value_is_judged(schema: object) -> None:
    assert Judge(schema).judge({"a": {"a": {}}}) == ("valid", None)


def test_deep_and_large_schemas_are_refused() -> None:
    schema: object = True
    for _ in range(100_000):
        schema = {"items": schema}
    assert Judge(schema).problem == "engine_failed"
    assert Judge({"description": "x" * (5 * 1024 * 1024)}).problem == "engine_failed"
    assert Judge({"anyOf": [{"$ref": "#"}] * 30_000}).problem == "engine_failed"
    assert Judge({"anyOf": [{"pattern": "^a"}] * 600}).problem == "engine_failed"


def test_a_payload_the_engine_cannot_read_is_unverifiable() -> None:
    assert Judge({"type": "object"}).judge("\ud800") == ("unverifiable", "engine_failed")


def test_each_additional_member_is_named() -> None:
    violations = Judge(ORDER).violations({"order_id": "ORD-0001", "refund": True, "a/b": 2})
    one = Violation("", "/additionalProperties", "additionalProperties", "false", '{"a/b":2}', member="a/b")
    assert violations == [one, one._replace(actual='{"refund":true}', member="refund")]


def test_no_more_members_are_named_than_failures_are_told() -> None:
    many = {"order_id": "ORD-0001"} | {f"m{number:03}": number for number in range(200)}
    told = Judge(ORDER).violations(many, limit=50)
    assert [each.member for each in told] == [f"m{number:03}" for number in range(50)]
    rows = Judge({"items": ORDER}).violations([many] * 60, limit=50)
    assert len(rows) == 50


def test_an_absent_member_is_named() -> None:
    (violation,) = Judge(ORDER).violations({})
    assert violation[:5] == ("", "/required", "required", '"order_id"', "")
    assert violation.member == "order_id"
    (dependent,) = Judge({"dependentRequired": {"a": ["b"]}}).violations({"a": 1})
    assert (dependent.keyword, dependent.member) == ("dependentRequired", "b")


def test_expected_and_actual_are_what_the_documents_say() -> None:
    (violation,) = Judge({"properties": {"n": {"maximum": 10**30}}}).violations({"n": 10**31})
    assert violation[:5] == ("/n", "/properties/n/maximum", "maximum", str(10**30), str(10**31))
    (violation,) = Judge({"enum": ["é", 2]}).violations("ü")
    assert (violation.expected, violation.actual) == ('["é",2]', '"ü"')


@pytest.mark.parametrize(
    ("schema", "payload", "keyword", "members"),
    [
        ({"propertyNames": {"maxLength": 1}}, {"abc": 1}, "propertyNames", ["abc"]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}, {"type": "null"}]}, 3, "oneOf", ["0"]),
        ({"prefixItems": [{}], "items": False}, [1, 2], "items", [None]),
        ({"properties": {"items": False}}, {"items": 1}, "false", [None]),
        ({"properties": {"gone": False}}, {"gone": 1}, "false", [None]),
        ({"if": True, "then": False}, 1, "then", [None]),
        ({"unevaluatedProperties": False}, {"b": 1, "a": 1}, "unevaluatedProperties", ["a", "b"]),
        ({"not": {"type": "string"}}, "x", "not", [None]),
        (False, "x", "false", [None]),
    ],
)
def test_keywords_that_need_telling(schema: object, payload: object, keyword: str, members: list[str | None]) -> None:
    violations = Judge(schema).violations(payload)
    assert [(each.keyword, each.member) for each in violations] == [(keyword, member) for member in members]


@pytest.mark.parametrize(
    ("branches", "payload", "best"),
    [
        ([{"type": "integer"}, {"type": "object", "required": ["x", "y"]}], {"x": 1}, 1),
        ([{"type": "object", "required": ["x", "y", "z"]}, {"type": "string"}], {}, 0),
        (
            [
                {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}},
                {"properties": {"kind": {"const": "b"}, "n": {"type": "integer"}, "m": {"type": "integer"}}},
            ],
            {"kind": "b", "n": "1", "m": "2"},
            1,
        ),
        ([{"required": ["a", "b"]}, {"required": ["a"]}], {}, 1),
        ([{"minimum": 5}, {"minimum": 9}], 1, 0),
    ],
)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_the_nearest_branch_is_told(keyword: str, branches: list[object], payload: object, best: int) -> None:
    first, *rest = Judge({keyword: branches}).violations(payload)
    assert (first.keyword, first.branch, first.level) == (keyword, best, 0)
    assert rest
    assert all(v.level == 1 and v.schema_pointer.startswith(f"/{keyword}/{best}/") for v in rest)


def test_places_behind_references_are_places_in_the_document() -> None:
    schema = {"properties": {"q": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string"}}}
    assert told(schema, {"q": 1}) == [("/q", "type", "/$defs/s/type")]


def test_violations_are_ordered_whatever_the_order_of_the_schema() -> None:
    names = ["b", "a", "c"]
    forward = {"properties": {name: {"type": "string"} for name in names}}
    backward = {"properties": {name: {"type": "string"} for name in reversed(names)}}
    payload = dict.fromkeys(names, 1)
    assert told(forward, payload) == told(backward, payload)
    assert [v[0] for v in told({"items": {"type": "string"}}, [1] * 12)] == [f"/{n}" for n in range(12)]


def test_violations_are_limited() -> None:
    assert len(told({"items": {"type": "string"}}, [1] * 1_000)) == 50
    assert len(told({"items": {"type": "string"}}, [1] * 1_000, limit=3)) == 3
    assert len(told({"items": {"type": "string"}}, [1] * 300_000)) == 1


def test_long_values_are_cut() -> None:
    (violation,) = Judge({"type": "integer"}).violations("x" * 10_000_000)
    assert len(violation.actual) < 5_000
    (violation,) = Judge({"type": "integer"}).violations([["word"] * 10] * 100_000)
    assert len(violation.actual) < 5_000
    assert violation.actual.endswith("…")


def test_schema_errors_point_into_the_schema() -> None:
    schema = {"properties": {"a": {"type": "strin", "minimum": "x"}, "b": {"pattern": "("}}, "required": "a"}
    for dialect in DIALECTS:
        places = {(v.instance_pointer, v.actual) for v in schema_errors(schema, dialect)}
        assert places == {
            ("/properties/a/minimum", '"x"'),
            ("/properties/a/type", '"strin"'),
            ("/properties/b/pattern", '"("'),
            ("/required", '"a"'),
        }
    assert schema_errors({"type": "object"}) == []
    assert [v.keyword for v in schema_errors([])] == ["type"]


def test_the_slow_validator_is_not_loaded() -> None:
    modules = "schemas, dialects, references, facts, strict, levels, walk, tables, files"
    code = (
        f"import sys\nfrom analyzer.contracts import {modules}\n"
        "from analyzer.contracts.verdicts import branching, engine, violations\n"
        "engine.Judge({'type': 'string'}).violations(1)\n"
        "print([name for name in ('jsonschema', 'polars', 'textual') if name in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
