"""Pydantic AI histories: messages in every holder, outcomes and retries, older versions; what a log cannot break."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import audited, errors

NAME = "pydantic-ai"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": False}
REFUSED = [{"type": "string_type", "loc": ["at"], "msg": "Input should be a valid string", "input": 3}]
Record = dict[str, Any]


def request(*parts: Record, **more: Any) -> Record:
    return {"kind": "request", "parts": [*parts], **more}


def response(*parts: Record, **more: Any) -> Record:
    return {"kind": "response", "parts": [*parts], "model_name": "m", **more}


def part(kind: str, content: Any = "go", **more: Any) -> Record:
    return {"part_kind": kind, "content": content, **more}


def call(args: Any = None, call_id: str = "c1", name: str = "look", kind: str = "tool-call") -> Record:
    return {
        "part_kind": kind,
        "tool_name": name,
        "args": {"at": "door"} if args is None else args,
        "tool_call_id": call_id,
    }


def back(content: Any = "seen", call_id: str = "c1", kind: str = "tool-return", **more: Any) -> Record:
    return part(kind, content, tool_name="look", tool_call_id=call_id, **more)


def talk(args: Any) -> list[Record]:
    return [request(part("user-prompt")), response(call(args)), request(back()), response(part("text", "done"))]


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


HOLDERS: dict[str, Callable[[list[Record]], bytes]] = {
    "a list": lambda said: json.dumps(said).encode(),
    "a list of many lines": lambda said: json.dumps(said, indent=1).encode(),
    "a line for each": lambda said: lines(*said),
    "a line with all": lambda said: lines({"x": 1}, said),
    "histories that grow": lambda said: lines({"messages": said[:2]}, {"messages": said}),
    "what is new of each run": lambda said: lines({"new_messages": said[:2]}, {"all_messages": said}),
    "the state of a graph": lambda said: lines({"state": {"message_history": said}, "node": {}}),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("wrong", [{"at": 3}, '{"at": 3}'])
def test_a_faulty_call_is_found_wherever_it_stands_and_a_clean_one_is_green(
    holder: str, wrong: Any, tmp_path: Path
) -> None:
    (tmp_path / "contracts.json").write_text(json.dumps({"look": {"arguments": SCHEMA}}), encoding="utf-8")
    for args in (
        wrong,
        json.loads(json.dumps(wrong).replace("3", '\\"door\\"' if isinstance(wrong, str) else '"door"')),
    ):
        log = tmp_path / "log.txt"
        log.write_bytes(HOLDERS[holder](talk(args)))
        found = audit(log, contracts=[str(tmp_path / "contracts.json")])
        assert found.inputs[0]["format"] == NAME
        assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "ok")]
        assert found.frames["results"]["text"].to_list() == ["seen"]
        assert errors(found) == ({"args-schema-mismatch", "executed-despite-mismatch"} if args == wrong else set())
        assert found.summary["coverage"] == 1


@pytest.mark.parametrize("answer", [back(REFUSED, outcome="retried"), back(REFUSED, kind="retry-prompt")])
def test_what_the_validator_refused_is_the_calls_fault_or_the_contracts(answer: Record, tmp_path: Path) -> None:
    log = [request(part("user-prompt")), response(call({"at": 3})), request(answer)]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "error")]
    (refused,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert refused["confidence"] == "likely"
    assert "by a schema that the log does not hold" in refused["message"]
    for kind, slug in (("string", "args-schema-mismatch"), ("integer", "schema-drift")):
        contract = {"look": {"arguments": {"type": "object", "properties": {"at": {"type": kind}}}}}
        (tmp_path / "contracts.json").write_text(json.dumps(contract), encoding="utf-8")
        judged = audit(tmp_path / "log.jsonl", contracts=[str(tmp_path / "contracts.json")])
        assert errors(judged) == {slug}


def test_a_prompt_to_retry_that_answers_no_call_is_words(tmp_path: Path) -> None:
    words = part("retry-prompt", "Call a tool.", tool_name=None, tool_call_id="x")
    found = audited(tmp_path, request(part("user-prompt")), response(part("text", "hm")), request(words))
    assert found.frames["results"].is_empty()
    assert found.frames["messages"]["text"].to_list() == ["go", "hm", "Call a tool."]


@pytest.mark.parametrize("outcome", ["failed", "denied", "interrupted", "retried"])
def test_every_outcome_but_success_is_a_failure(outcome: str, tmp_path: Path) -> None:
    found = audited(tmp_path, response(call(), call(call_id="c2")), request(back(outcome=outcome), back("a", "c2")))
    assert found.frames["results"].select("call_id", "success").rows() == [("c1", False), ("c2", True)]


@pytest.mark.parametrize("args", [None, ""])
def test_no_arguments_are_an_empty_object(args: Any, tmp_path: Path) -> None:
    bare = {"part_kind": "tool-call", "tool_name": "look", "args": args, "tool_call_id": "c1"}
    found = audited(tmp_path, response(bare), request(back()))
    assert found.frames["calls"]["text"].to_list() == ["{}"]


def test_a_response_that_was_cut_has_a_call_that_was_cut(tmp_path: Path) -> None:
    found = audited(tmp_path, response(call('{"at": "do'), finish_reason="length"), request(back(outcome="retried")))
    assert found.frames["calls"]["status"].to_list() == ["incomplete"]


def test_what_the_provider_ran_is_hosted(tmp_path: Path) -> None:
    ran = [call({"q": 1}, "s1", "search", "builtin-tool-call"), back({"hits": 1}, "s1", "builtin-tool-return")]
    ran[1]["tool_name"] = "search"
    found = audited(tmp_path, response(*ran, part("text", "x")))
    assert found.frames["calls"].select("kind", "owed_by", "outcome").rows() == [("hosted", "server", "ok")]
    assert errors(found) == set()


def test_conversations_are_sessions_and_lists_without_one_are_apart(tmp_path: Path) -> None:
    named = [[{**each, "conversation_id": name} for each in talk("{}")] for name in "ab"]
    found = audited(tmp_path, *named, talk("{}"), [request(part("user-prompt", "other")), *talk("{}")[1:]])
    assert found.frames["calls"]["session"].n_unique() == 4
    assert found.frames["calls"]["call_id"].to_list() == ["c1"] * 4
