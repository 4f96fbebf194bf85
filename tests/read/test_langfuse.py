"""Langfuse: texts in texts, tools without ids, payloads of several frameworks; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

NAME = "langfuse"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
USER = {"role": "user", "content": "go"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def observed(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": f"o{number}", "type": kind, "traceId": "t", "startTime": f"2026-11-30T06:00:{number:02d}Z", **more}


def download(*observations: Any) -> dict[str, Any]:
    return {"trace": {"id": "t"}, "observations": list(observations)}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
def test_payloads_are_taken_out_of_their_texts(tmp_path: Path, layers: int) -> None:
    asked: Any = {"messages": [USER], "tools": [TOOL]}
    said: Any = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    for _ in range(layers):
        asked, said = json.dumps(asked), json.dumps(said)
    found = audited(tmp_path, download(observed(1, "GENERATION", input=asked, output=said)))
    assert found.frames["verdicts"].select("tool", "verdict_is").rows() == [("function::look", "invalid")]


@pytest.mark.parametrize(
    "said",
    [
        {"choices": [{"message": {"role": "assistant", "tool_calls": [CALL]}}]},
        [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"at": 1}}],
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": 1}}]},
        {"text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "look", "args": {"at": 1}}]},
        [
            {"type": "reasoning"},
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"at":1}'},
        ],
        {
            "object": "response",
            "output": [{"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":1}'}],
        },
        {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [CALL]}},
        {
            "lc": 1,
            "id": ["langchain", "AIMessage"],
            "kwargs": {"tool_calls": [{"name": "look", "args": {"at": 1}, "id": "c1"}]},
        },
        {"role": "assistant", "tool_calls": [], "invalid_tool_calls": [{"name": "look", "args": '{"at":', "id": "c1"}]},
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"function_call": {"id": "c1", "name": "look", "args": {"at": 1}}}],
                    }
                }
            ]
        },
        {"output": {"message": {"content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": 1}}}]}}},
        {"role": "assistant", "content": [{"tool_call": {"id": "c1", "tool_name": "look", "arguments": {"at": 1}}}]},
    ],
)
def test_replies_of_every_framework_hold_the_call(tmp_path: Path, said: Any) -> None:
    generation = observed(1, "GENERATION", input={"messages": [USER], "tools": [TOOL]}, output=said)
    found = audited(tmp_path, download(generation))
    assert found.frames["calls"].select("call_id", "name").rows() == [("c1", "look")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


GIVEN: list[list[dict[str, Any]]] = [
    [{"type": "function_call_output", "call_id": "c1", "output": "seen"}],
    [{"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "seen"}]}}]}],
    [{"role": "user", "parts": [{"function_response": {"id": "c1", "name": "look", "response": {"said": "seen"}}}]}],
    [{"role": "tool", "content": [{"tool_call_result": {"result": "seen", "origin": {"id": "c1"}, "error": False}}]}],
    [{"role": "user", "content": [{"type": "mcp_tool_result", "tool_use_id": "c1", "content": "seen"}]}],
]


@pytest.mark.parametrize("given", GIVEN)
def test_results_of_every_framework_answer_the_call(tmp_path: Path, given: list[dict[str, Any]]) -> None:
    said = {"role": "assistant", "tool_calls": [CALL]}
    first = observed(1, "GENERATION", input=[USER], output=said)
    then = observed(2, "GENERATION", input=[USER, said, *given], output={"role": "assistant", "content": "so"})
    found = audited(tmp_path, download(first, then))
    assert found.frames["calls"].select("call_id", "result").rows() == [("c1", 0)]
    assert "seen" in found.frames["results"]["text"][0]


@pytest.mark.parametrize(
    ("ran", "gave"),
    [
        ({"type": "tool_call", "id": "c1", "name": "look", "args": {"at": 1}}, "seen"),
        ("{'at': 1}", {"type": "tool", "content": "seen", "tool_call_id": "c1"}),
    ],
)
def test_what_langchain_puts_around_a_run_is_no_part_of_it(tmp_path: Path, ran: Any, gave: Any) -> None:
    generation = observed(1, "GENERATION", input=[USER], output={"role": "assistant", "tool_calls": [CALL]})
    found = audited(tmp_path, download(generation, observed(2, "TOOL", name="look", input=ran, output=gave)))
    assert found.frames["calls"].select("call_id", "result").rows() == [("c1", 0)]
    assert found.frames["results"]["text"].to_list() == ["seen"]
    assert errors(found) == set()


def test_a_step_that_runs_the_calls_of_the_conversation_is_no_tool(tmp_path: Path) -> None:
    said = {"role": "assistant", "tool_calls": [CALL]}
    result = {"tool_call_result": {"result": "seen", "origin": {"id": "c1"}, "error": False}}
    gave = {"tool_messages": [{"role": "tool", "content": [result]}]}
    generation = observed(1, "GENERATION", input={"messages": [USER], "tools": [TOOL]}, output=said)
    step = observed(2, "TOOL", name="tool_invoker - ['look']", input={"messages": [USER, said]}, output=gave)
    found = audited(tmp_path, download(generation, step))
    assert found.frames["calls"].select("call_id", "result").rows() == [("c1", 0)]
    assert errors(found) == {"args-schema-mismatch"}


def test_arguments_that_the_tracer_left_out_are_not_judged(tmp_path: Path) -> None:
    said = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look"}}]}
    generation = observed(1, "GENERATION", input={"messages": [USER], "tools": [TOOL]}, output=said)
    assert audited(tmp_path, download(generation)).frames["verdicts"]["reason"].to_list() == ["payload_redacted"]
    found = audited(tmp_path, download(generation, observed(2, "TOOL", name="look", input={"at": 1}, output="seen")))
    assert found.frames["verdicts"].filter(role="arguments")["verdict_is"].to_list() == ["invalid"]


def test_calls_that_only_the_service_itself_lists_are_read(tmp_path: Path) -> None:
    named: dict[str, Any] = {"toolCalls": [json.dumps({"id": "c1", "name": "look", "arguments": '{"at": 1}'})]}
    named["toolDefinitions"] = {"look": json.dumps({"parameters": json.dumps(SCHEMA)})}
    found = audited(tmp_path, download(observed(1, "GENERATION", input=None, output=None, **named)))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


def test_every_choice_of_a_generation_is_read(tmp_path: Path) -> None:
    choices = [{"message": {"role": "assistant", "tool_calls": [{**CALL, "id": name}]}} for name in ("c1", "c2")]
    found = audited(tmp_path, download(observed(1, "GENERATION", input=[USER], output={"choices": choices})))
    assert found.frames["calls"].select("call_id", "pointer").rows() == [
        (f"c{nth + 1}", f"/choices/{nth}/message/tool_calls/0/function/arguments") for nth in (0, 1)
    ]
    assert errors(found) == set()


def test_a_tool_ran_the_first_open_call_of_its_name(tmp_path: Path) -> None:
    said = {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "c2"}]}
    tools = [observed(number, "TOOL", name="look", input='{"at": 1}', output=f"r{number}") for number in (2, 3)]
    found = audited(tmp_path, download(*tools, observed(1, "GENERATION", input=[USER], output=said)))
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("call_id", "text_of").rows() == [("c1", "r2"), ("c2", "r3")]


def test_a_generation_inside_another_tells_the_same_call(tmp_path: Path) -> None:
    said = {"role": "assistant", "tool_calls": [CALL]}
    twice = [observed(number, "GENERATION", input=[USER], output=said) for number in (1, 2)]
    assert audited(tmp_path, download(*twice)).frames["calls"].height == 1


def test_a_level_of_error_is_a_failure(tmp_path: Path) -> None:
    tool = observed(1, "TOOL", name="look", input="{}", output=None, level="ERROR", statusMessage="stuck")
    found = audited(tmp_path, download(tool))
    assert found.frames["results"].select("success", "error").rows() == [(False, "stuck")]


def test_pages_and_tables_of_the_service_are_read(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "required": ["at"]}}}]
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = {"role": "assistant", "tool_calls": [made]}
    asked = {"messages": [{"role": "user", "content": "go"}], "tools": tools}
    head: dict[str, Any] = {"traceId": "t1", "startTime": "2026-11-30T10:00:00Z", "sessionId": "s1"}
    api = [
        {"id": "o1", "type": "GENERATION", "name": "llm", **head, "input": asked, "output": said},
        {"id": "o2", "type": "TOOL", "name": "look", **head, "input": {}, "output": "seen"},
    ]
    spelt = {"traceId": "trace_id", "startTime": "start_time", "sessionId": "session_id"}
    table = [
        {spelt.get(name, name): json.dumps(each) if name in ("input", "output") else each for name, each in one.items()}
        for one in api
    ]
    for records in ([{"data": api, "meta": {}}], table, [{"id": "t1", "sessionId": "s1", "observations": api}]):
        found = audited(tmp_path, *records)
        assert found.frames["sessions"]["session"].to_list() == ["s1"]
        assert found.frames["calls"].select("call_id", "sightings").rows() == [("c1", 2)]
        assert found.frames["results"].height == 1
        assert errors(found) == {"args-schema-mismatch"}
