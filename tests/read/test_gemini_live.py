"""Gemini Live: sessions over a socket in either spelling; calls by id, cancelled ones, answers on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

NAME = "gemini-live"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
SETUP = {"setup": {"model": "models/m", "tools": [{"functionDeclarations": [{"name": "look", "parameters": SCHEMA}]}]}}
Record = dict[str, Any]


def call(call_id: str, at: Any) -> Record:
    return {"toolCall": {"functionCalls": [{"id": call_id, "name": "look", "args": {"at": at}}]}}


def response(call_id: str, gave: Record, **more: Any) -> Record:
    return {"toolResponse": {"functionResponses": [{"id": call_id, "name": "look", "response": gave, **more}]}}


def said(text: str) -> Record:
    return {"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": text}]}, "turnComplete": True}}


def snake(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(snake, value))
    if not isinstance(value, dict):
        return value
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): snake(each) for name, each in value.items()}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@pytest.mark.parametrize("spelt", [lambda each: each, snake], ids=["camel", "snake"])
@pytest.mark.parametrize("wrap", [None, "message", "data"])
def test_calls_are_judged_by_the_tools_of_the_setup(tmp_path: Path, spelt: Any, wrap: str | None) -> None:
    log = [SETUP, {"setupComplete": {}}, call("f1", 3), response("f1", {"x": 1}), call("f2", "A"), said("hm")]
    found = audited(tmp_path, *(each if wrap is None else {"at": 1, wrap: each} for each in map(spelt, log)))
    assert found.inputs[0]["format"] == NAME
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("f1", "unknown"), ("f2", "none")]
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["call_id"] == "f1"


def test_pointers_lead_to_the_arguments(tmp_path: Path) -> None:
    found = audited(tmp_path, SETUP, call("f1", 3))
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["location"]["pointer"].startswith("/toolCall/functionCalls/0/args")


def test_a_call_that_was_cancelled_needs_no_answer(tmp_path: Path) -> None:
    cancelled = {"toolCallCancellation": {"ids": ["f1", "f9"]}}
    found = audited(tmp_path, SETUP, call("f1", "A"), cancelled, said("go on"), call("f2", "B"), said("well"))
    assert found.frames["calls"]["call_id"].to_list() == ["f1", "f2"]
    assert found.findings.filter(slug="call-unanswered")["call_id"].to_list() == ["f2"]


def test_answers_on_the_way_are_no_second_ones(tmp_path: Path) -> None:
    log = [response("f1", {"part": n}, willContinue=True) for n in range(3)]
    found = audited(tmp_path, SETUP, call("f1", "A"), *log, response("f1", {"all": 1}), said("done"))
    assert found.frames["results"]["text"].to_list() == ['{"all": 1}']
    assert errors(found) == set()


def test_each_setup_begins_a_session(tmp_path: Path) -> None:
    found = audited(tmp_path, SETUP, call("f1", "A"), response("f1", {}), SETUP, call("f1", "B"), response("f1", {}))
    assert found.frames["sessions"].height == 2
    assert found.frames["calls"]["result"].null_count() == 0


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_what_only_looks_like_it_is_not_taken() -> None:
    for record in ({"setup": {"x": 1}}, {"tool_call": {"name": "f"}}, {"type": "tool", "toolCall": {}}):
        assert recorded(json.dumps(record).encode() + b"\n")[0].source_frame()["format"][0] != NAME
