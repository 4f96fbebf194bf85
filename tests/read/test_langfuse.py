"""Langfuse: texts in texts, tools without ids, payloads of several frameworks; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited

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
    ],
)
def test_replies_of_every_framework_hold_the_call(tmp_path: Path, said: Any) -> None:
    generation = observed(1, "GENERATION", input={"messages": [USER], "tools": [TOOL]}, output=said)
    found = audited(tmp_path, download(generation))
    assert found.frames["calls"].select("call_id", "name").rows() == [("c1", "look")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


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
