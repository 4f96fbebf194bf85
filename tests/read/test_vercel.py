"""The AI SDK: UI streams, preliminary outputs, approvals, UI and model messages; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited

NAME = "vercel-ai"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
START = {"type": "start", "messageId": "m1"}


def chunk(kind: str, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": kind, "toolCallId": call_id, **more}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_preliminary_outputs_are_no_results(tmp_path: Path) -> None:
    log = [START, chunk("tool-input-available", toolName="look", input={"at": "door"})]
    log += [chunk("tool-output-available", output=text, preliminary=True) for text in ("a", "ab")]
    log += [chunk("tool-output-available", output="abc"), {"type": "finish"}]
    found = audited(tmp_path, *log)
    assert found.frames["results"]["text"].to_list() == ["abc"]
    assert found.frames["calls"].select("session", "outcome").rows() == [("m1", "ok")]


def test_pieces_that_differ_from_the_whole_are_named(tmp_path: Path) -> None:
    log = [START, chunk("tool-input-start", toolName="look"), chunk("tool-input-delta", inputTextDelta='{"at": 1}')]
    log += [chunk("tool-input-available", toolName="look", input={"at": 2})]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("sightings", "copies").rows() == [(2, 2)]
    assert "args-altered" in set(found.findings["slug"])


def test_an_input_that_breaks_off_is_cut(tmp_path: Path) -> None:
    log = [START, chunk("tool-input-start", toolName="look"), chunk("tool-input-delta", inputTextDelta='{"at": ')]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("name", "status").rows() == [("look", "in_progress")]


def test_what_was_denied_or_failed_is_an_error(tmp_path: Path) -> None:
    log = [START]
    for name, ends in (
        ("c1", {"type": "tool-output-denied"}),
        ("c2", {"type": "tool-output-error", "errorText": "no"}),
    ):
        log += [chunk("tool-input-available", name, toolName="look", input={})]
        log += [{**ends, "toolCallId": name}]
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["outcome"].to_list() == ["error", "error"]


def test_parts_of_ui_messages_hold_call_and_result(tmp_path: Path) -> None:
    part = {"type": "tool-look", "toolCallId": "c1", "state": "output-available", "input": {"at": 1}, "output": "seen"}
    found = audited(tmp_path, {"id": "chat", "messages": [{"id": "a", "role": "assistant", "parts": [part]}]})
    assert found.frames["calls"].select("session", "name", "outcome").rows() == [("chat", "look", "ok")]


def test_a_kind_of_output_says_how_the_tool_did(tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}
    result = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "look",
        "output": {"type": "error-json", "value": {}},
    }
    messages = [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]
    found = audited(tmp_path, {"messages": messages})
    assert found.inputs[0]["format"] == NAME
    assert found.frames["calls"]["outcome"].to_list() == ["error"]


INVOKED = {"state": "result", "toolCallId": "c1", "toolName": "look", "args": {"at": "door"}, "result": "seen"}


@pytest.mark.parametrize("parts", [[{"type": "tool-invocation", "toolInvocation": INVOKED}], None])
def test_invocations_of_older_messages_are_calls_with_their_results(tmp_path: Path, parts: Any) -> None:
    message = {"id": "m2", "role": "assistant", "content": "", "toolInvocations": [INVOKED]}
    messages = [{"id": "m1", "role": "user", "content": "go"}, message | ({"parts": parts} if parts else {})]
    found = audited(tmp_path, {"id": "chat", "messages": messages})
    assert found.frames["calls"].select("call_id", "name", "outcome").rows() == [("c1", "look", "ok")]
    assert found.frames["results"]["text"].to_list() == ["seen"]


@pytest.mark.parametrize(("given", "gave"), [("input", "output"), ("args", "result")])
def test_the_sdks_own_stream_is_read(tmp_path: Path, given: str, gave: str) -> None:
    log: list[Any] = [START, {"type": "tool-input-start", "id": "c1", "toolName": "look"}]
    log += [{"type": "tool-input-delta", "id": "c1", "delta": '{"at":"door"}'}, {"type": "tool-input-end", "id": "c1"}]
    log += [chunk("tool-call", toolName="look") | {given: {"at": "door"}}]
    log += [chunk("tool-result", toolName="look") | {given: {"at": "door"}, gave: "seen"}]
    log += [chunk("tool-call", "c2", toolName="look") | {given: {}}, chunk("tool-error", "c2", error="stuck")]
    found = audited(tmp_path, *log)
    calls = found.frames["calls"].select("call_id", "text", "outcome").rows()
    assert calls == [("c1", '{"at":"door"}', "ok"), ("c2", "{}", "error")]
    assert found.frames["results"].select("text", "error").rows() == [("seen", None), (None, "stuck")]
    assert found.findings.filter(slug="event-unknown").is_empty()


def test_an_execution_that_was_denied_is_no_success(tmp_path: Path) -> None:
    asked = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}
    denied = {"type": "tool-result", "toolCallId": "c1", "output": {"type": "execution-denied", "reason": "no"}}
    messages = [{"role": "assistant", "content": [asked]}, {"role": "tool", "content": [denied]}]
    found = audited(tmp_path, {"messages": messages})
    assert found.frames["calls"]["outcome"].to_list() == ["error"]


@pytest.mark.parametrize("odd", [[], {}])
def test_a_state_that_is_no_text_stops_nothing(odd: Any) -> None:
    part = {"type": "tool-look", "toolCallId": "c1", "state": odd, "input": {}}
    _, frames = recorded(json.dumps({"id": "m1", "role": "assistant", "parts": [part]}).encode() + b"\n")
    assert frames["call_sightings"]["call_id"].to_list() == ["c1"]


TOOL = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}


def step(*content: Any, more: bool = True, body: Any = None, **other: Any) -> dict[str, Any]:
    end = {"finishReason": "tool-calls" if more else "stop", "usage": {}, "request": {"body": body} if body else {}}
    return {"content": list(content), **end, "response": {"id": "r", "messages": []}, **other}


def called(call_id: str, at: Any = "door") -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": "look", "input": {"at": at}}


def gave(call_id: str, output: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "look", "input": {}, "output": output}


BODIES = {
    "responses": {"tools": [{"type": "function", "name": "look", "parameters": TOOL}]},
    "chat": {"tools": [{"type": "function", "function": {"name": "look", "parameters": TOOL}}]},
    "anthropic": {"tools": [{"name": "look", "input_schema": TOOL}]},
    "gemini": {"tools": [{"functionDeclarations": [{"name": "look", "parameters": TOOL}]}]},
}


@pytest.mark.parametrize("shape", BODIES)
@pytest.mark.parametrize("text", [False, True], ids=["an object", "a text"])
@pytest.mark.parametrize("whole", [False, True], ids=["steps", "a result"])
def test_steps_are_judged_by_the_table_that_was_sent(tmp_path: Path, shape: str, *, text: bool, whole: bool) -> None:
    body = json.dumps(BODIES[shape]) if text else BODIES[shape]
    steps = [step(called("c1", 7), gave("c1", {"seen": 1}), body=body), step({"type": "text", "text": "7"}, more=False)]
    found = audited(tmp_path, *([{"text": "7", "steps": steps}] if whole else steps))
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "ok")]
    assert found.frames["results"].select("text", "success").rows() == [('{"seen":1}', True)]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]
    assert found.frames["sessions"].height == 1


def test_steps_before_version_5_have_lists_beside_the_text(tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": {"at": "door"}}
    lists = {"toolCalls": [call], "toolResults": [{**call, "type": "tool-result", "result": "seen"}]}
    own = {"stepType": "initial", "text": "I look.", "finishReason": "tool-calls", "usage": {}}
    last = {"stepType": "tool-result", "text": "Seen.", "toolCalls": [], "toolResults": [], "finishReason": "stop"}
    found = audited(tmp_path, {"steps": [own | lists, {**last, "usage": {}}]})
    assert found.frames["calls"].select("call_id", "text", "pointer").rows() == [
        ("c1", '{"at":"door"}', "/steps/0/toolCalls/0/args")
    ]
    assert found.frames["results"].select("text", "pointer").rows() == [("seen", "/steps/0/toolResults/0/result")]
    assert found.frames["messages"]["text"].to_list() == ["I look.", "Seen."]


def test_an_error_in_a_step_is_a_failure(tmp_path: Path) -> None:
    failed = {"type": "tool-error", "toolCallId": "c1", "toolName": "look", "input": {}}
    for error, told in (({}, "the tool failed"), ("dark", "dark"), ({"message": "dark"}, "dark")):
        found = audited(tmp_path, step(called("c1"), {**failed, "error": error}), step(more=False))
        assert found.frames["results"].select("success", "error", "call").rows() == [(False, told, 0)]


def test_a_step_that_ends_a_run_begins_no_other(tmp_path: Path) -> None:
    found = audited(tmp_path, step(called("c1"), more=False), step(called("c1"), more=False))
    assert found.frames["calls"]["session"].n_unique() == 2


def test_a_call_that_ran_into_the_limit_is_not_whole(tmp_path: Path) -> None:
    found = audited(tmp_path, {"steps": [step(called("c1"), finishReason="length")]})
    assert found.frames["calls"]["status"].to_list() == ["incomplete"]
