"""Gemini: calls without ids, three spellings of schemas, streams; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import SHARED, audited, counted, errors, truth

NAME = "gemini"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
OBJECT = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "look", *, at: Any = "door", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"at": at}, **more}}


def gives(response: Any, name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def asked(*contents: Any, tools: Any = None) -> dict[str, Any]:
    declared = [{"functionDeclarations": [{"name": "look", "parameters": OBJECT}]}]
    return {"contents": list(contents), "tools": declared if tools is None else tools}


def replied(name: str, *parts: Any, stop: str | None = "STOP") -> dict[str, Any]:
    return {"responseId": name, "candidates": [{"content": model(*parts), "finishReason": stop, "index": 0}]}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_results_without_ids_go_to_the_calls_of_their_name_in_order(tmp_path: Path) -> None:
    start, reply = user({"text": "go"}), model(call(at="a"), call("find"), call(at="b"))
    back = user(gives({"said": "A"}), gives({"said": "F"}, "find"), gives({"said": "B"}))
    log = [asked(start), replied("r1", *reply["parts"]), asked(start, reply, back)]
    found = audited(tmp_path, *log)
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("name", "text", "text_of").rows() == [
        ("look", '{"at": "a"}', '{"said": "A"}'),
        ("find", '{"at": "door"}', '{"said": "F"}'),
        ("look", '{"at": "b"}', '{"said": "B"}'),
    ]
    assert found.frames["sessions"].height == 1


def test_ids_settle_what_order_would_get_wrong(tmp_path: Path) -> None:
    start, reply = user({"text": "go"}), model(call(at="a", id="1"), call(at="b", id="2"))
    back = user(gives({"said": "B"}, id="2"), gives({"said": "A"}, id="1"))
    found = audited(tmp_path, asked(start), replied("r1", *reply["parts"]), asked(start, reply, back))
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("text", "text_of").rows() == [
        ('{"at": "a"}', '{"said": "A"}'),
        ('{"at": "b"}', '{"said": "B"}'),
    ]


@pytest.mark.parametrize(
    "declared",
    [
        {"parameters": {"type": "OBJECT", "properties": {"at": {"type": "STRING"}}, "required": ["at"]}},
        {"parameters": {"type": 6, "properties": {"at": {"type": 1}}, "required": ["at"]}},
        {"parametersJsonSchema": OBJECT},
        {"parameters_json_schema": OBJECT},
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_each_spelling_of_a_schema_judges(tmp_path: Path, declared: dict[str, Any], listed: bool) -> None:
    tools: Any = {"functionDeclarations": [{"name": "look", **declared}]}
    log = [asked(user({"text": "go"}), tools=[tools] if listed else tools), replied("r1", call(at=3), call(at="x"))]
    found = audited(tmp_path, *log)
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid", "valid"]
    assert errors(found) == {"args-schema-mismatch"}


def test_an_error_member_says_that_the_tool_failed(tmp_path: Path) -> None:
    start = user({"text": "go"})
    log = [asked(start), replied("r1", call()), asked(start, model(call()), user(gives({"error": "no such door"})))]
    assert audited(tmp_path, *log).frames["calls"]["outcome"].to_list() == ["error"]


def test_the_names_of_the_protocol_buffers_are_read(tmp_path: Path) -> None:
    start = user({"text": "go"})
    made = model({"function_call": {"name": "open_door", "args": {"at": 3}}})
    gave = user({"function_response": {"name": "open_door", "response": {"ok": True}}})
    end = {"candidates": [{"content": made, "finish_reason": "STOP"}]}
    found = audited(tmp_path, asked(start), end, asked(start, made, gave))
    assert found.frames["calls"].select("name", "pointer").rows() == [
        ("open_door", "/candidates/0/content/parts/0/function_call/args")
    ]
    assert found.frames["results"].select("call", "pointer").rows() == [
        (0, "/contents/2/parts/0/function_response/response")
    ]


def test_pieces_of_a_stream_are_one_reply(tmp_path: Path) -> None:
    start = user({"text": "go"})
    log = [asked(start), replied("r1", call(at="a"), stop=None), replied("r1", call(at="b"))]
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["text"].to_list() == ['{"at": "a"}', '{"at": "b"}']
    assert found.frames["calls"]["reply"].n_unique() == 1


# --- what clients write -----------------------------------------------------------------------------------------------

PART = dict.fromkeys(("text", "thought", "function_call", "function_response", "executable_code", "inline_data"))
SCHEMA = dict.fromkeys(("type", "properties", "required", "enum", "any_of", "max_length", "items", "nullable"))


def part(**given: Any) -> dict[str, Any]:
    return PART | given


def dumped(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"parts": list(parts), "role": role}


def calls(at: Any, name: str = "look") -> dict[str, Any]:
    return part(function_call={"id": None, "args": {"at": at}, "name": name, "partial_args": None})


def answers(response: Any, name: str = "look") -> dict[str, Any]:
    return part(function_response={"id": None, "name": name, "response": response, "will_continue": None})


def asked_by_client(*contents: Any, **more: Any) -> dict[str, Any]:
    schema = SCHEMA | {"type": "OBJECT", "properties": {"at": SCHEMA | {"type": "STRING"}}, "required": ["at"]}
    declared = {"name": "look", "parameters": schema, "parameters_json_schema": None, "response": None}
    config = {"system_instruction": "Be kind.", "tools": [{"google_search": None, "function_declarations": [declared]}]}
    return {"model": "gemini-x", "contents": list(contents), "config": config | more}


def told(*parts: dict[str, Any], stop: Any = "STOP", reply: str | None = "r1", **more: Any) -> dict[str, Any]:
    chosen = {"content": dumped("model", *parts), "finish_message": None, "finish_reason": stop, "index": None}
    ends = {"prompt_feedback": None, "usage_metadata": {"total_token_count": 3}, "parsed": None}
    return {"candidates": [chosen], "response_id": reply, "sdk_http_response": None} | ends | more


@pytest.mark.parametrize("exchanges", [True, False])
def test_dumps_of_the_clients_models_are_read(tmp_path: Path, exchanges: bool) -> None:
    start, made = dumped("user", part(text="go")), dumped("model", part(text="hm", thought=True), calls("x"), calls(3))
    back = dumped("user", answers({"result": 1}), answers({"error": "no"}))
    halves = [asked_by_client(start), told(*made["parts"]), asked_by_client(start, made, back), told(part(text="so"))]
    pairs = [{"request": halves[0], "response": halves[1]}, {"request": halves[2], "response": halves[3]}]
    records = pairs if exchanges else halves
    found = audited(tmp_path, *records)
    assert found.frames["calls"].select("call_id", "text", "outcome", "pointer").rows() == [
        (None, '{"at": "x"}', "unknown", "/candidates/0/content/parts/1/function_call/args"),
        (None, '{"at": 3}', "error", "/candidates/0/content/parts/2/function_call/args"),
    ]
    assert found.frames["results"]["pointer"].to_list() == [
        "/contents/2/parts/0/function_response/response/result",  # what the function returned
        "/contents/2/parts/1/function_response/response",
    ]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "invalid"]
    assert errors(found) == {"args-schema-mismatch"}
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    before = "/response" if exchanges else ""
    assert finding["location"]["pointer"] == f"{before}/candidates/0/content/parts/2/function_call/args"
    state = recorded(lines(*records))[1]["session_states"].row(0, named=True)
    assert (state["model"], state["instructions"]) == ("gemini-x", "Be kind.")


def test_dumps_of_protocol_buffers_are_read(tmp_path: Path) -> None:
    unset = {"format_": "", "nullable": False, "enum": [], "max_length": "0", "min_items": "0", "any_of": []}
    unset |= {"pattern": "", "required": [], "minimum": 0.0, "maximum": 0.0, "properties": {}}
    schema = unset | {"type_": 6, "properties": {"at": unset | {"type_": 1}, "n": unset | {"type_": 3}}}
    tools = [{"function_declarations": [{"name": "look", "parameters": schema | {"required": ["at"]}, "behavior": 0}]}]
    request = {"model": "models/g", "contents": [dumped("user", {"text": "go", "thought": False})], "tools": tools}
    made = [{"function_call": {"name": "look", "args": args, "id": ""}} for args in ({"at": "x", "n": 3.0}, {"n": 1.0})]
    response = {"candidates": [{"content": dumped("model", *made), "finish_reason": 1}], "response_id": ""}
    found = audited(tmp_path, {"request": request, "response": response})
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "invalid"]
    assert errors(found) == {"args-schema-mismatch"}
    _, frames = recorded(lines({"request": request, "response": response}))
    assert frames["faults"].is_empty()
    assert frames["messages"]["status"].to_list() == [None, "STOP"]


@pytest.mark.parametrize("listed", [True, False])
def test_pieces_of_a_clients_stream_are_one_reply(tmp_path: Path, listed: bool) -> None:
    pieces = [told(calls("x"), stop=None, reply=None), told(calls(3), stop=None, reply=None)]
    pieces.append(told(reply=None) | {"candidates": [{"content": None, "finish_reason": "STOP"}]})
    request = asked_by_client(dumped("user", part(text="go")))
    found = audited(tmp_path, *([{"request": request, "response": pieces}] if listed else [request, *pieces]))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "invalid"]
    assert found.frames["calls"]["reply"].n_unique() == 1


def test_calls_that_the_client_ran_by_itself_are_read(tmp_path: Path) -> None:
    history = [dumped("user", part(text="go")), dumped("model", calls(3)), dumped("user", answers({"result": 1}))]
    response = told(part(text="so"), automatic_function_calling_history=history)
    found = audited(tmp_path, {"request": asked_by_client(history[0]), "response": response})
    (call,) = found.frames["calls"].to_dicts()
    assert (call["text"], call["result"]) == ('{"at": 3}', 0)
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    to = "/response/automatic_function_calling_history/1/parts/0/function_call/args"
    assert finding["location"]["pointer"] == to


@pytest.mark.parametrize("document", [True, False])
def test_a_saved_history_is_a_list_of_contents(tmp_path: Path, document: bool) -> None:
    listing = [dumped("user", part(text="go")), dumped("model", calls(3)), dumped("user", answers({"result": 1}))]
    found = audited(tmp_path, *([listing] if document else listing))
    assert found.frames["calls"].select("text", "result").rows() == [('{"at": 3}', 0)]
    assert found.frames["sessions"].height == 1
    assert found.frames["verdicts"]["reason"].to_list() == ["schema_unavailable"]
    assert errors(found) == set()


def test_contents_that_are_a_text_are_a_message(tmp_path: Path) -> None:
    record = {"request": asked_by_client() | {"contents": "go"}, "response": told(calls(3))}
    assert recorded(lines(record))[1]["messages"].select("text", "pointer").row(0) == ("go", "/contents")
    assert errors(audited(tmp_path, record)) == {"args-schema-mismatch"}


def test_tools_that_lie_with_the_provider_are_not_said_to_be_absent(tmp_path: Path) -> None:
    request = asked_by_client(dumped("user", part(text="go")), tools=None, cached_content="cachedContents/1")
    found = audited(tmp_path, {"request": request, "response": told(calls(3))})
    assert found.frames["verdicts"]["reason"].to_list() == ["schema_unavailable"]
    assert errors(found) == set()


def test_arguments_that_come_in_pieces_are_put_together(tmp_path: Path) -> None:
    def comes(**more: Any) -> dict[str, Any]:
        return replied("r1", {"functionCall": more}, stop=None)

    def piece(path: str, **more: Any) -> dict[str, Any]:
        return comes(partialArgs=[{"jsonPath": path, **more}], willContinue=True)

    log = [asked(user({"text": "go"})), comes(name="look", willContinue=True)]
    log += [piece("$.at", stringValue="do", willContinue=True), piece("$.at", stringValue="or")]
    log += [piece("$.many[1]['a b']", numberValue=2), piece("$.many[0]", boolValue=True), comes()]
    log += [comes(name="look", args={"at": "end"}), comes(name="look", willContinue=True)]
    found = audited(tmp_path, *log, replied("r1"))
    assert found.frames["calls"]["text"].to_list() == [
        '{"at":"door","many":[true,{"a b":2.0}]}',
        '{"at": "end"}',
        "{",
    ]
    assert found.frames["verdicts"].select("verdict_is", "reason").rows() == [
        ("valid", None),
        ("valid", None),
        ("unverifiable", "payload_truncated"),
    ]


def test_every_alternative_of_a_response_is_read(tmp_path: Path) -> None:
    reply = replied("r1", call(at="x"))
    reply["candidates"].append({"content": model(call(at=3)), "finishReason": "STOP", "index": 1})
    found = audited(tmp_path, asked(user({"text": "go"})), reply)
    assert found.frames["calls"]["text"].to_list() == ['{"at": "x"}', '{"at": 3}']
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert finding["location"]["pointer"] == "/candidates/1/content/parts/0/functionCall/args"


def test_every_alternative_of_a_stream_is_read(tmp_path: Path) -> None:
    log: list[Any] = [asked(user({"text": "go"}))]
    for stop, at in ((None, ("x", 3)), ("STOP", ("y", "z"))):
        chosen = [{"content": model(call(at=each)), "index": index} for index, each in enumerate(at)]
        log.append({"responseId": "r1", "candidates": [each | {"finishReason": stop} for each in chosen]})
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["text"].to_list() == ['{"at": "x"}', '{"at": "y"}', '{"at": 3}', '{"at": "z"}']
    assert found.frames["calls"]["reply"].n_unique() == 2
    assert errors(found) == {"args-schema-mismatch"}


def test_tools_that_the_provider_ran_are_calls_of_its_own(tmp_path: Path) -> None:
    searched = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "args": {"queries": ["door"]}}}
    gave = {"tool_response": {"tool_type": "GOOGLE_SEARCH_WEB", "id": "s1", "response": {"found": 1}}}
    found = audited(tmp_path, asked(user({"text": "go"})), replied("r1", searched, gave))
    assert found.frames["calls"].select("name", "kind", "owed_by", "result").rows() == [
        ("GOOGLE_SEARCH_WEB", "hosted", "server", 0)
    ]
    assert errors(found) == set()


def test_the_recorded_exchanges_have_the_counts_that_are_known() -> None:
    known = truth("http-gemini")
    found = audit([str(SHARED / "http-gemini" / "exchanges.jsonl")])
    counts, calls = counted(found), found.frames["calls"]
    hosted = calls.filter(pl.col("kind") == "hosted")
    resent = calls.filter(pl.col("call_id") == "search_call_1")
    # Two runs of code and three searches on the provider's side and their results, and a call that only resent
    # contents show.
    assert (hosted.height, hosted["result"].count(), resent.height) == (5, 5, 1)
    assert counts["calls"] == known["calls"] + 3 + 3
    # Of the results of code the count knows one, and none of those under the names of the protocol buffers.
    assert counts["results"] == known["results"] + 1 + 3 + 19
    # One file of the recorder's holds four conversations.
    assert counts["sessions"] == known["sessions"] + 3
    # By ids most calls and many results are alone; by order and name every result has its call.
    assert counts["orphan_results"] == 0
    assert calls["call_id"].null_count() == known["calls_without_id"] + 2
    assert counts["args_schema_fail"] == known["args_schema_fail"]
    # The three without a schema name tools that no request offers. The call in the resent contents is checked too.
    assert counts["args_checked"] == known["args_checked"] + 1
    assert errors(found) == {"args-schema-mismatch", "tool-not-advertised"}
