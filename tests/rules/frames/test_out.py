from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.rules.out import (
    error_as_success,
    output_double_encoded,
    output_not_string,
    output_oversized,
    output_prose,
    output_schema_mismatch,
    output_stringly,
    output_structured_missing,
    output_truncated,
    program_error_prose,
    result_contradictory,
)
from analyzer.trace import Settings
from tests.rules.frames.build import Row, hits, trace

AGENTS, MCP = "openai-agents-api", "mcp-jsonrpc"


def result(text: str | None, **more: Any) -> Row:
    given = {
        "result": 1,
        "wire": AGENTS,
        "container": "text",
        "tool": "function::get_order",
        "stage": "post",
        "rank": 0,
    }
    return {**given, "success": True, "text": text, **more}


def verdict(**more: Any) -> Row:
    judged = {"verdict": 1, "result": 1, "call": 1, "role": "output", "side": "advertised", "schema_id": "s"}
    return {**judged, "verdict_is": "invalid", **more}


@pytest.mark.parametrize("container", ["object", "array", "number", "boolean"])
def test_output_not_string_is_found(container: str) -> None:
    assert len(hits(output_not_string.check, trace(results=[result("1", container=container)]))) == 1


@pytest.mark.parametrize(
    "row",
    [
        result("x"),
        result("x", container="parts"),
        result(None, container="null"),
        result("{}", container="object", tool="mcp:docs:search"),
        result("{}", container="object", wire=MCP),
    ],
)
def test_output_not_string_leaves_alone(row: Row) -> None:
    assert hits(output_not_string.check, trace(results=[row])) == []


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(json.dumps({"a": 1})),
        json.dumps(json.dumps([1])),
        json.dumps(json.dumps(json.dumps({}))),
        json.dumps({"content": [{"type": "text", "text": "hi"}], "isError": False}),
    ],
)
def test_output_double_encoded_is_found(text: str) -> None:
    assert len(hits(output_double_encoded.check, trace(results=[result(text)]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        '"quoted strings"',
        '"5"',
        '"use strict"; const a = {"b": 1};',
        '{"a":"{}"}',
        json.dumps({"content": [{"type": "text", "text": "hi"}], "author": "me"}),
        json.dumps({"content": "words", "type": "text"}),
    ],
)
def test_output_double_encoded_leaves_alone(text: str) -> None:
    assert hits(output_double_encoded.check, trace(results=[result(text)])) == []


def test_output_double_encoded_is_lawful_where_the_contract_wants_it_or_it_mirrors_the_structured_output() -> None:
    row = result('"[1]"')
    assert hits(output_double_encoded.check, trace(results=[row], verdicts=[verdict(verdict_is="valid")])) == []
    assert hits(output_double_encoded.check, trace(results=[{**row, "structured": '"[1]"'}])) == []


def test_output_schema_mismatch_one_per_result() -> None:
    both = [verdict(), verdict(verdict=2, side="executed")]
    (hit,) = hits(output_schema_mismatch.check, trace(results=[result("{}")], verdicts=both))
    assert hit["verdict"] == 1


def prose(text: str, schema: str = '{"type":"object"}', **more: Any) -> list[Row]:
    schemas = [{"schema_id": "s", "text": schema}]
    made = trace(more.pop("settings", None), results=[result(text, **more)], verdicts=[verdict()], schemas=schemas)
    return hits(output_prose.check, made)


@pytest.mark.parametrize(
    "text", ["All is well.", "```json\n{}\n```", '"All is well."', "[info] ready", "[2026-11-17] up"]
)
def test_output_prose_is_found(text: str) -> None:
    assert "an object is promised" in prose(text)[0]["message"]


def test_output_prose_says_what_is_promised() -> None:
    assert "a list is promised" in prose("none", '{"items":{},"type":"array"}')[0]["message"]
    assert (
        "an object is promised"
        in prose("none", '{"properties":{"a":{"type":"string"}},"required":["a"]}')[0]["message"]
    )


@pytest.mark.parametrize("text", ['{"a":1', '{"a":1}', "[1,2", "5", "null", "[]"])
def test_output_prose_leaves_json_alone(text: str) -> None:
    assert prose(text) == []


def test_output_prose_leaves_tools_of_text_alone() -> None:
    assert prose("words", '{"maxLength":2,"type":"string"}') == []
    assert prose("words", settings=Settings(free_text=frozenset(["get_order"]))) == []


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such order",
        "ValueError: bad id",
        "sqlite3.OperationalError: locked",
        "Traceback (most recent call last):\n  File",
        "Failed to reach the server",
        '{"success":false,"error_code":"SQL","error":"no table"}',
        '{"isError":true,"content":[]}',
        '{"error":"no such order"}',
        '{"error":{"code":5,"message":"no"},"request_id":"r"}',
        '{"status":404,"message":"not here"}',
        '{"statusCode":500,"error":"x","data":null}',
        '{"status":"error","message":"x"}',
        '"{\\"error\\":\\"no\\"}"',
    ],
)
def test_error_as_success_is_found(text: str) -> None:
    assert len(hits(error_as_success.check, trace(results=[result(text)]))) == 1


def kept_back(told: str, *, ran: str = "boom", tool: str = "function::find", **more: Any) -> list[Row]:
    rows = [
        {"stage": "executor", "success": False, "text": ran, "error": None, "event": 4, "seq": 4},
        {"stage": "history", "success": None, "text": told, "error": None, "event": 6, "seq": 6} | more,
    ]
    return hits(
        error_as_success.check,
        trace(
            results=[result(ran, success=False, tool=tool, wire="otlp")],
            result_sightings=[{"result": 1, "pointer": "", "wire": "otlp"} | row for row in rows],
        ),
    )


def test_a_failed_execution_has_to_be_told_to_the_model() -> None:
    [found] = kept_back("All is well.")
    assert (found["event"], found["confidence"]) == (6, "likely")
    for told in ("The tool failed.", "boom, they say", "oom", "Sorry, that did not work", "", "Exit code 3"):
        assert kept_back(told) == [], told
    assert kept_back("All is well.", tool="function::run_tests") == []
    assert kept_back("All is well.", stage="executor") == []
    assert len(kept_back("All is well.", success=True)) == 1  # the flag is lost, and that is said


@pytest.mark.parametrize(
    "row",
    [
        result('{"total":12,"error":null}'),
        result('{"error":"late","orders":[1]}'),
        result('{"ok":false,"checks":[1,2]}'),
        result('{"status":404,"url":"x","body":"y"}'),
        result('{"status":"failed","jobs":[]}'),
        result('{"code":404}', tool="function::read_file"),
        result('{"success":true,"error":""}'),
        result("Errors are listed below: none"),
        result("The order says: Error: none"),
        result("Error: 2 failed", tool="function::run_tests"),
        result("Error: what the page says", tool="function::search_docs"),
        result("Error: 2 failed", tool="function::runTests"),
        result("error: x", tool="mcp:ops:tail_logs"),
        result('{"error":"x"}', success=False),
        result('{"error":"x"}', success=None, wire="openai-chat"),
    ],
)
def test_error_as_success_leaves_alone(row: Row) -> None:
    assert hits(error_as_success.check, trace(results=[row])) == []


def test_error_as_success_knows_settings_and_contracts() -> None:
    row = result('{"error":"no such order"}')
    settings = Settings(shell=frozenset(["get_order"]))
    assert hits(error_as_success.check, trace(settings, results=[row])) == []
    assert hits(error_as_success.check, trace(results=[row], verdicts=[verdict(verdict_is="valid")])) == []


@pytest.mark.parametrize(
    ("wanted", "text", "expected"),
    [
        ({"type": "integer", "minimum": 0}, '{"status":480}', 0),
        ({"type": ["number", "null"]}, '{"status":480}', 0),
        ({"type": "integer"}, '{"status":480,"detail":[{"row":1}]}', 0),
        ({"type": "integer"}, '{"status":404,"message":"no such order"}', 1),
        ({"type": "integer"}, '{"status":404,"error":"no such order"}', 1),
        ({"type": "string"}, '{"status":404}', 1),
        ({}, '{"status":404}', 1),
    ],
)
def test_error_as_success_a_number_that_the_contract_wants_is_no_code(wanted: Row, text: str, expected: int) -> None:
    schema = {"type": "object", "properties": {"status": wanted, "cursor": {}}, "required": ["status", "cursor"]}
    made = trace(
        results=[result(text)],
        verdicts=[verdict(verdict_is="invalid")],
        schemas=[{"schema_id": "s", "text": json.dumps(schema)}],
    )
    assert len(hits(error_as_success.check, made)) == expected


def test_error_as_success_the_flag_lost_between_two_ends() -> None:
    ends = [
        {"result": 1, "event": 3, "seq": 3, "stage": "post", "success": False, "pointer": "/error"},
        {"result": 1, "event": 4, "seq": 4, "stage": "echo", "success": True, "pointer": "/item/output"},
    ]
    made = trace(results=[result("no", success=False)], result_sightings=ends)
    (hit,) = hits(error_as_success.check, made)
    assert (hit["event"], hit["related"][0]["event"]) == (4, 3)
    agreeing = [{**each, "success": False} for each in ends]
    assert hits(error_as_success.check, trace(results=[result("no", success=False)], result_sightings=agreeing)) == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (result("queued", error="full"), "both set"),
        (result(None, error="full"), "an error is set"),
        (result("queued", error="full", success=False), "both set"),
        (result(None, success=False), "says why"),
        (result("  ", error="", success=False), "says why"),
        (result(None, error="full", success=None, status="completed"), "an error is set"),
    ],
)
def test_result_contradictory_is_found(row: Row, words: str) -> None:
    (hit,) = hits(result_contradictory.check, trace(results=[row]))
    assert words in hit["message"]


@pytest.mark.parametrize(
    "row",
    [
        result(None),
        result(""),
        result("ok", error=""),
        result(None, error="full", success=False),
        result("full", success=False),
        result("x", error="y", tool="mcp:docs:search"),
        result("x", success=None),
    ],
)
def test_result_contradictory_leaves_alone(row: Row) -> None:
    assert hits(result_contradictory.check, trace(results=[row])) == []


def test_output_stringly_members_against_the_contract() -> None:
    failures = [
        {
            "verdict": 1,
            "position": 0,
            "instance_pointer": "/a",
            "keyword": "type",
            "expected": '"integer"',
            "actual": '"1"',
        },
        {
            "verdict": 1,
            "position": 1,
            "instance_pointer": "/b",
            "keyword": "type",
            "expected": '"null"',
            "actual": '"None"',
        },
    ]
    made = trace(results=[result('{"a":"1","b":"None"}')], verdicts=[verdict()], violations=failures)
    (hit,) = hits(output_stringly.check, made)
    assert "/a is the string" in hit["message"]
    assert hit["verdict"] == 1


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("{'a': 1}", "hint"),
        ("[{'a': None}]", "hint"),
        ("('a', 1)", "hint"),
        ("Order(id=1)", "hint"),
        ("[object Object]", None),
    ],
)
def test_output_stringly_literals_without_a_contract(text: str, confidence: str | None) -> None:
    (hit,) = hits(output_stringly.check, trace(results=[result(text)]))
    assert hit["confidence"] == confidence
    (hit,) = hits(output_stringly.check, trace(results=[result(text)], verdicts=[verdict()]))
    assert hit["confidence"] is None


def test_a_literal_beside_other_results_of_json_is_more_than_a_hint() -> None:
    other = [result('{"a": 1}', result=2), result("{'a': 1}", result=3, tool="function::other")]
    told = [
        (hit["result"], hit["confidence"])
        for hit in hits(output_stringly.check, trace(results=[result("{'a': 1}"), *other]))
    ]
    assert told == [(1, None), (3, "hint")]
    assert [hit["result"] for hit in hits(output_stringly.check, trace(results=[result("None"), *other]))] == [1, 3]


@pytest.mark.parametrize(
    "text", ['{"a":"1"}', "None", "it's ('quoted') here", "[1, 2]", "None of them", "def f(a='b')"]
)
def test_output_stringly_leaves_alone(text: str) -> None:
    assert hits(output_stringly.check, trace(results=[result(text)])) == []


def test_output_structured_missing_when_both_differ() -> None:
    row = result('{"total":12}', wire=MCP, structured='{"total":21}')
    assert len(hits(output_structured_missing.check, trace(results=[row]))) == 1
    for structured in ('{"content":"{\\"total\\":12}"}', '{"result":{"total":12}}'):
        assert hits(output_structured_missing.check, trace(results=[{**row, "structured": structured}])) == []
    for text in ('{ "total": 21 }', "Twelve in all.", "[broken"):
        assert hits(output_structured_missing.check, trace(results=[{**row, "text": text}])) == []


def test_output_structured_missing_where_a_schema_is_declared() -> None:
    row = result('{"total":12}', wire=MCP)
    declared = [verdict(verdict_is="valid", channel="listing")]
    assert len(hits(output_structured_missing.check, trace(results=[row], verdicts=declared))) == 1
    given = [verdict(verdict_is="valid", channel="contract")]
    assert hits(output_structured_missing.check, trace(results=[row], verdicts=given)) == []


@pytest.mark.parametrize(
    ("protocol", "mismatch", "missing"),
    [("2024-11-05", 0, 0), ("2025-03-26", 0, 0), ("2025-06-18", 1, 0), ("2025-11-25", 1, 0), (None, 0, 1)],
)
def test_text_alone_is_what_the_version_of_the_protocol_says(protocol: str | None, mismatch: int, missing: int) -> None:
    made = trace(
        results=[result('{"total":12}', wire=MCP)],
        verdicts=[verdict(verdict_is="valid", channel="listing")],
        sessions=[{"protocol": protocol}],
    )
    assert len(hits(output_schema_mismatch.check, made)) == mismatch
    assert len(hits(output_structured_missing.check, made)) == missing
    failed = trace(results=[result('{"total":12}', wire=MCP, success=False)], sessions=[{"protocol": protocol}])
    assert hits(output_schema_mismatch.check, failed) == []


@pytest.mark.parametrize("text", ['{"a":[1,{"b":"c', '{"a":tru', '["a","b', "[1, 2,", '{"a":"x\\'])
def test_output_truncated_is_found(text: str) -> None:
    (hit,) = hits(output_truncated.check, trace(results=[result(text)]))
    assert hit["severity"] is None


def test_output_truncated_a_note_is_info() -> None:
    (hit,) = hits(output_truncated.check, trace(results=[result("line\n[truncated]")]))
    assert hit["severity"] == "info"
    (hit,) = hits(output_truncated.check, trace(results=[result('{"a":"x... truncated')]))
    assert hit["severity"] is None


@pytest.mark.parametrize(
    "text", ['{"a":1}', '{"a":1}\nDone.', "[2026-11-17 09:00] up", "[info] up", "words", '{"a" 1', "{'a': 1"]
)
def test_output_truncated_leaves_alone(text: str) -> None:
    assert hits(output_truncated.check, trace(results=[result(text)])) == []


def test_output_oversized_the_largest_of_each_tool_and_session() -> None:
    most = output_oversized.LEAST
    rows = [
        result("x" * most, session="s1", turn="t1"),
        result("x" * (2 * most), result=2, session="s1", turn="t1"),
        result("x" * (most - 1), result=3, session="s1", turn="t1", tool="function::other"),
    ]
    (hit,) = hits(output_oversized.check, trace(results=rows))
    assert hit["result"] == 2
    assert "200000 characters, 50% of all" in hit["message"]


def test_program_error_prose_inside_a_program_only() -> None:
    calls = [
        {"call": 1, "kind": "program", "seq": 1},
        {"call": 2, "kind": "function", "seq": 2},
        {"call": 3, "kind": "function", "seq": 9},
    ]
    results = [
        result("Sorry, no such order.", call=2, success=None),
        result("Sorry, no such order.", result=2, call=3, success=None),
        result("done", result=3, call=1, seq=8, tool="program::"),
    ]
    (hit,) = hits(program_error_prose.check, trace(calls=calls, results=results))
    assert hit["result"] == 1
    coded = [result('{"error":"not_found"}', call=2, success=False), results[2]]
    assert hits(program_error_prose.check, trace(calls=calls, results=coded)) == []
