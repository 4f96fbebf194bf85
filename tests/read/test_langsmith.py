"""LangSmith: runs of models and tools, in the payloads of LangChain and of wrapped clients; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

NAME = "langsmith"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
Record = dict[str, Any]


def run(number: int, kind: str, inputs: Record, outputs: Record | None, **more: Any) -> Record:
    head = {"id": f"run-{number}", "trace_id": "trace-1", "start_time": f"2026-11-30T10:00:0{number}Z", "name": "look"}
    return {**head, "run_type": kind, "inputs": inputs, "outputs": outputs, "error": None, **more}


def stored(kind: str, **members: Any) -> Record:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": members}


def model(number: int, sent: list[Record], said: Record) -> Record:
    outputs = {"generations": [[{"text": "", "message": said}]]}
    return run(number, "llm", {"messages": [sent]}, outputs, extra={"invocation_params": {"tools": TOOLS}})


USER = stored("HumanMessage", content="go", type="human")
CALLED = {"name": "look", "args": {"at": 3}, "id": "c1", "type": "tool_call"}
SAID = stored("AIMessage", content="", type="ai", tool_calls=[CALLED])


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


def test_a_call_is_seen_as_made_as_run_and_as_given_back(tmp_path: Path) -> None:
    back = stored("ToolMessage", content="seen", type="tool", tool_call_id="c1")
    gave = {"output": {"content": "seen", "type": "tool", "tool_call_id": "c1", "status": "success"}}
    ran = run(2, "tool", {"at": 3}, gave, extra={"tool_call_id": "c1"})
    found = audited(
        tmp_path, model(1, [USER], SAID), ran, model(3, [USER, SAID, back], stored("AIMessage", content="x"))
    )
    assert found.frames["sessions"]["session"].to_list() == ["trace-1"]
    assert found.frames["calls"].select("call_id", "sightings", "copies").rows() == [("c1", 3, 1)]
    assert found.frames["results"].select("text", "call").rows() == [("seen", 0)]
    assert errors(found) == {"args-schema-mismatch", "executed-despite-mismatch"}
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["location"]["pointer"].startswith("/outputs/generations/0/0/message/kwargs/tool_calls/0/args")


def test_a_call_that_stands_in_the_content_too_is_one(tmp_path: Path) -> None:
    block = {"type": "tool_use", "name": "look", "id": "c1", "input": {"at": 3}}
    said = stored("AIMessage", content=[block], type="ai", tool_calls=[CALLED])
    found = audited(tmp_path, model(1, [USER], said))
    assert found.frames["calls"].select("call_id", "sightings", "copies").rows() == [("c1", 2, 1)]
    assert errors(found) == {"args-schema-mismatch"}


def test_a_programs_text_of_the_arguments_is_not_judged(tmp_path: Path) -> None:
    found = audited(tmp_path, run(1, "tool", {"input": "{'at': 3}"}, {"output": "seen"}))
    assert found.frames["calls"].select("text", "status").rows() == [(None, "redacted")]
    assert found.frames["results"]["text"].to_list() == ["seen"]
    assert errors(found) == set()


def test_arguments_that_are_json_in_a_text_are(tmp_path: Path) -> None:
    found = audited(tmp_path, model(1, [USER], SAID), run(2, "tool", {"input": '{"at": 3}'}, {"output": "seen"}))
    assert found.frames["calls"].select("call_id", "copies", "sightings").rows() == [("c1", 1, 2)]


def test_a_tool_that_failed_did(tmp_path: Path) -> None:
    failed = run(2, "tool", {"at": 3}, None, error="boom", extra={"tool_call_id": "c1"})
    found = audited(tmp_path, model(1, [USER], SAID), failed)
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "error")]


def test_a_wrapped_client_keeps_the_bodies_of_its_wire(tmp_path: Path) -> None:
    function = {"name": "look", "arguments": '{"at": 3}'}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    asked = {"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": TOOLS}
    found = audited(tmp_path, {"runs": [run(1, "llm", asked, {"choices": [{"index": 0, "message": message}]})]})
    assert found.inputs[0]["format"] == NAME
    assert errors(found) == {"args-schema-mismatch"}


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))
