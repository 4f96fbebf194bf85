"""OpenHands: actions and observations of both generations, pairs, rows, folders of events; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

NAME = "openhands"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
GOOD, BAD = '{"at": "door"}', '{"at": 3}'
Record = dict[str, Any]


def about(arguments: str, call_id: str = "c1", reply: str = "r1") -> Record:
    made = [{"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}]
    response = {"id": reply, "object": "chat.completion", "choices": [{"index": 0, "message": {"tool_calls": made}}]}
    return {"function_name": "look", "tool_call_id": call_id, "model_response": response}


def event(number: int, **members: Any) -> Record:
    return {"id": number, "timestamp": f"2026-11-30T14:00:{number:02}", "source": "agent", **members}


def talk(arguments: str, **came: Any) -> list[Record]:
    said = {"action": "message", "source": "user", "args": {"content": "go"}}
    acted = {"action": "run", "args": {"command": "x"}, "tool_call_metadata": about(arguments)}
    back = {"observation": "run", "content": "seen", "extras": {}, "tool_call_metadata": about(arguments), **came}
    return [event(0, **said), event(1, **acted), event(2, **back)]


def act(arguments: str, **more: Any) -> Record:
    call = {"id": "c1", "name": "look", "arguments": arguments, "origin": "completion"}
    return {
        "id": "e1",
        "source": "agent",
        "thought": [],
        "tool_name": "look",
        "tool_call_id": "c1",
        "tool_call": call,
    } | {
        "kind": "ActionEvent",
        **more,
    }


def saw(**observation: Any) -> Record:
    told = {"content": [{"type": "text", "text": "seen"}], "is_error": False, "kind": "LookObservation", **observation}
    about = {"tool_name": "look", "tool_call_id": "c1", "action_id": "e1"}
    return {"id": "e2", "source": "environment", **about, "observation": told, "kind": "ObservationEvent"}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize("holder", ["lines", "a list", "pairs", "a row", "a row of pairs", "the SDK"])
def test_a_faulty_call_is_found_and_a_clean_one_is_green(holder: str, tmp_path: Path) -> None:
    (tmp_path / "contracts.json").write_text(json.dumps({"look": {"arguments": SCHEMA}}), encoding="utf-8")
    for arguments in (BAD, GOOD):
        said = talk(arguments, success=True)
        held: dict[str, Any] = {
            "lines": said,
            "a list": [said],
            "pairs": [[said[:1], said[1:]]],
            "a row": [{"instance_id": "1", "history": said}],
            "a row of pairs": [{"instance_id": "1", "history": [said[:1], said[1:]]}],
            "the SDK": [act(arguments), saw()],
        }
        log = tmp_path / "log.jsonl"
        log.write_text("".join(json.dumps(each) + "\n" for each in held[holder]), encoding="utf-8")
        found = audit(log, contracts=[str(tmp_path / "contracts.json")])
        assert found.inputs[0]["format"] == NAME
        assert found.frames["calls"].select("call_id", "name", "text").rows() == [("c1", "look", arguments)]
        assert found.frames["results"].select("text", "call").rows() == [("seen", 0)]
        assert errors(found) == ({"args-schema-mismatch", "executed-despite-mismatch"} if arguments == BAD else set())
        assert found.summary["coverage"] == 1


def test_tools_of_the_system_message_are_those_in_force(tmp_path: Path) -> None:
    system = event(9, action="system", args={"content": "x", "tools": TOOLS})
    assert "args-schema-mismatch" in errors(audited(tmp_path, system, *talk(BAD)))
    listed = {"id": "e0", "source": "agent", "system_prompt": {"text": "x"}, "kind": "SystemPromptEvent"}
    assert "args-schema-mismatch" in errors(audited(tmp_path, {**listed, "tools": TOOLS}, act(BAD), saw()))
    named = audited(tmp_path, {**listed, "tools": [{"kind": "LookTool", "action_type": "LookAction"}]}, act(BAD), saw())
    assert errors(named) == set()
    assert named.summary["coverage"] == 0


@pytest.mark.parametrize(
    ("came", "success"),
    [
        ({"observation": "error"}, False),
        ({"observation": "user_rejected"}, False),
        ({"success": True}, True),
        ({"extras": {"metadata": {"exit_code": 2}}}, False),
        ({"extras": {"exit_code": 0}}, True),
        ({"extras": {"metadata": {"exit_code": -1}}}, None),
        ({}, None),
    ],
)
def test_what_tells_a_failure(came: Record, success: bool | None, tmp_path: Path) -> None:
    found = audited(tmp_path, *talk(GOOD, **came))
    assert found.frames["results"]["success"].to_list() == [success]


def test_errors_and_refusals_of_the_sdk_are_results(tmp_path: Path) -> None:
    same = {"id": "e2", "source": "agent", "tool_name": "look", "tool_call_id": "c1"}
    for kind, member in (("AgentErrorEvent", "error"), ("UserRejectObservation", "rejection_reason")):
        found = audited(tmp_path, act('{"at": ', action=None), {**same, member: "no", "kind": kind})
        assert found.frames["results"].select("text", "success").rows() == [("no", False)]
        assert errors(found) == {"args-invalid-json"}
    failed = audited(tmp_path, act(GOOD), saw(is_error=True))
    assert failed.frames["results"]["success"].to_list() == [False]


def test_what_has_no_answer_in_its_generation_is_owed_none(tmp_path: Path) -> None:
    ended = event(1, action="finish", args={}, tool_call_metadata=about(GOOD))
    later = event(2, action="message", source="user", args={"content": "thanks"})
    found = audited(tmp_path, ended, later, event(3, action="message", args={"content": "x"}))
    assert found.frames["calls"]["owed_by"].to_list() == ["nobody"]
    assert errors(found) == set()


def test_a_response_without_its_calls_leaves_them_unjudged(tmp_path: Path) -> None:
    bare = {**about(GOOD), "model_response": {"id": "r1"}}
    found = audited(tmp_path, event(1, action="run", args={"command": "x"}, tool_call_metadata=bare))
    assert found.frames["calls"].select("name", "text", "status").rows() == [("look", None, "redacted")]


def test_events_in_files_of_their_own_are_one_session(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    log = [{"id": "e0", "source": "agent", "system_prompt": {"text": "x"}, "tools": [], "kind": "SystemPromptEvent"}]
    for number, each in enumerate([*log, act(GOOD), saw()]):
        (folder / f"event-{number:05}-{each['id']}.json").write_text(json.dumps(each), encoding="utf-8")
    found = audit(folder)
    assert found.summary["sessions"] == 1
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "ok")]


def test_numbers_that_begin_anew_begin_a_session(tmp_path: Path) -> None:
    other = json.loads(json.dumps(talk(BAD)).replace("14:00", "15:00"))
    found = audited(tmp_path, *talk(GOOD), *talk(GOOD), *other)
    assert found.summary["sessions"] == 2
    assert set(found.frames["calls"]["text"]) == {GOOD, BAD}


@pytest.mark.parametrize(("begin", "end"), [('{"history": [', "]}"), ("[", "]"), ('["values", ', "]")])
def test_no_depth_of_lists_is_a_fault_of_the_reader(begin: str, end: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for depth in (90, 450, 3_000):
        nested = begin * depth + "1" + end * depth
        log.write_text(json.dumps(talk(GOOD)[1]) + "\n" + nested + "\n", encoding="utf-8")
        assert audit(log).summary["calls"] == 1
