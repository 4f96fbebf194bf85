"""LangChain and LangGraph: messages in all shapes, states, updates, pieces, callbacks; what a log cannot break."""

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

NAME = "langchain"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
META = {"langgraph_step": 1, "langgraph_node": "model"}
Record = dict[str, Any]


def human(text: str = "go", **more: Any) -> Record:
    return {"type": "human", "content": text, "additional_kwargs": {}, "response_metadata": {}, **more}


def ai(*calls: Record, text: str = "", **more: Any) -> Record:
    return {"type": "ai", "content": text, "additional_kwargs": {}, "tool_calls": [*calls], **more}


def call(call_id: str = "c1", **args: Any) -> Record:
    return {"name": "look", "args": args or {"at": "door"}, "id": call_id, "type": "tool_call"}


def tool(text: str = "seen", call_id: str = "c1", **more: Any) -> Record:
    return {"type": "tool", "content": text, "tool_call_id": call_id, "status": "success", **more}


def stored(message: Record) -> Record:
    return {"type": message["type"], "data": message}


def made(message: Record) -> Record:
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[message["type"]]
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": message}


def piece(text: str = "", *, name: str = "run--1", **chunk: Any) -> list[Any]:
    chunks = [{"name": None, "args": "", "id": None, "index": 0, **chunk}] if chunk else []
    return [{"type": "AIMessageChunk", "id": name, "content": text, "tool_call_chunks": chunks, "tool_calls": []}, META]


TALK = [human(), ai(call(at=3)), tool(), ai(text="done")]


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def _plain(talk: list[Record]) -> bytes:
    return json.dumps(talk).encode()


SHAPES: dict[str, Callable[[list[Record]], bytes]] = {
    "a list": _plain,
    "a stored list": lambda talk: _plain(list(map(stored, talk))),
    "a list of constructors": lambda talk: _plain(list(map(made, talk))),
    "a line for each": lambda talk: lines(*talk),
    "a line for each constructor": lambda talk: lines(*map(made, talk)),
    "a state": lambda talk: lines({"messages": talk}),
    "a state of a thread": lambda talk: lines({"values": {"messages": talk}, "next": [], "checkpoint": {}}),
    "a checkpoint": lambda talk: lines({"checkpoint": {"channel_values": {"messages": talk}}, "config": {}}),
    "states": lambda talk: lines(*[{"messages": talk[: nth + 1]} for nth in range(len(talk))]),
    "states, the latest first": lambda talk: _plain(
        [
            {"values": {"messages": talk[:nth]}, "next": [], "checkpoint": {"thread_id": "t"}}
            for nth in range(len(talk), -1, -1)
        ]
    ),
    "updates": lambda talk: lines(*[{"node": {"messages": [each]}} for each in talk]),
    "an update of one": lambda talk: lines(*[{"node": {"messages": each}} for each in talk]),
    "updates of several": lambda talk: lines({"node": [{"messages": talk[:2]}, {"messages": talk[2:]}]}),
    "named updates": lambda talk: lines(*[["updates", {"node": {"messages": [each]}}] for each in talk]),
    "updates of a subgraph": lambda talk: lines(*[[["a:1"], "updates", {"n": {"messages": [each]}}] for each in talk]),
    "states and updates": lambda talk: lines(
        *[
            each
            for nth, one in enumerate(talk)
            for each in (
                *([{"node": {"messages": [one]}}] if nth else []),
                {"messages": talk[: nth + 1]},
            )
        ]
    ),
    "parts of a stream": lambda talk: lines(
        *[{"type": "values", "ns": [], "data": {"messages": talk[: nth + 1]}} for nth in range(len(talk))]
    ),
    "events of a server": lambda talk: b"".join(
        b"event: values\ndata: " + json.dumps({"messages": talk[: nth + 1]}).encode() + b"\n\n"
        for nth in range(len(talk))
    ),
    "callbacks": lambda talk: lines(
        *[
            {
                "event": "on_chat_model_end",
                "run_id": f"r{nth}",
                "parent_ids": ["r"],
                "data": {"input": {"messages": [talk[:nth]]}, "output": talk[nth]},
            }
            for nth in (1, 3)
        ]
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_faulty_call_is_found_in_every_shape_and_a_clean_one_is_green(shape: str, tmp_path: Path) -> None:
    (tmp_path / "contracts.json").write_text(json.dumps({"look": {"arguments": SCHEMA}}), encoding="utf-8")
    for wrong in (True, False):
        talk = [*TALK[:1], ai(call(at=3 if wrong else "door")), *TALK[2:]]
        log = tmp_path / f"{wrong}.log"
        log.write_bytes(SHAPES[shape](talk))
        found = audit(log, contracts=[str(tmp_path / "contracts.json")])
        assert found.inputs[0]["format"] == NAME
        assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "ok")]
        assert found.frames["results"]["text"].to_list() == ["seen"]
        assert errors(found) == ({"args-schema-mismatch", "executed-despite-mismatch"} if wrong else set())
        assert found.summary["coverage"] == 1


def test_arguments_that_did_not_parse_are_judged_as_the_text_they_are(tmp_path: Path) -> None:
    bad = {"name": "look", "args": '{"at": ', "id": "c1", "error": "no JSON"}
    found = audited(tmp_path, {"messages": [human(), ai(invalid_tool_calls=[bad]), tool("what?", status="error")]})
    assert found.frames["calls"].select("text", "outcome").rows() == [('{"at": ', "error")]
    assert errors(found) == {"args-invalid-json"}


def test_a_refused_one_that_nobody_answers_is_owed_by_nobody(tmp_path: Path) -> None:
    bad = {"name": "look", "args": '{"at": ', "id": "c1", "error": "no JSON"}
    found = audited(tmp_path, {"messages": [human(), ai(invalid_tool_calls=[bad]), human("again"), ai(text="done")]})
    assert errors(found) == {"args-invalid-json"}


@pytest.mark.parametrize("arguments", ['{"at": "door"}', '{"at": "gate"}'])
def test_the_providers_copy_is_compared_and_not_counted(arguments: str, tmp_path: Path) -> None:
    function = {"name": "look", "arguments": arguments}
    copy = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    said = {**ai(call()), "additional_kwargs": copy}
    block = {
        **ai(call()),
        "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": json.loads(arguments)}],
    }
    for message in (said, block, made(said), made(block)):
        found = audited(tmp_path, {"messages": [human(), message, tool()]})
        assert found.frames["calls"].select("call_id", "sightings", "outcome").rows() == [("c1", 2, "ok")]
        assert errors(found) == ({"args-altered"} if "gate" in arguments else set())


def test_what_a_stream_began_in_the_content_is_no_copy(tmp_path: Path) -> None:
    block = {"type": "tool_use", "id": "c1", "name": "look", "input": {}, "partial_json": '{"at": "door"}'}
    found = audited(tmp_path, {"messages": [human(), {**ai(call()), "content": [block]}, tool()]})
    assert found.frames["calls"].select("call_id", "text").rows() == [("c1", '{"at":"door"}')]
    assert errors(found) == set()


def test_the_status_of_a_result_is_its_flag(tmp_path: Path) -> None:
    talk = [human(), ai(call(), call("c2")), tool(status="error"), tool(call_id="c2")]
    found = audited(tmp_path, {"messages": talk})
    assert found.frames["results"].select("call_id", "success").rows() == [("c1", False), ("c2", True)]


def test_tools_beside_a_state_are_those_in_force(tmp_path: Path) -> None:
    for holder in ({"tools": TOOLS}, {"kwargs": {"tools": TOOLS}}):
        found = audited(tmp_path, {"messages": TALK, **holder})
        assert errors(found) == {"args-schema-mismatch", "executed-despite-mismatch"}


def test_a_call_that_a_person_edits_is_one_call_that_was_altered(tmp_path: Path) -> None:
    log = [{"model": {"messages": [ai(call(), id="m1")]}}, {"edit": {"messages": [ai(call(at="gate"), id="m1")]}}]
    found = audited(tmp_path, *log, {"tools": {"messages": [tool(id="m2")]}})
    assert found.frames["calls"].select("call_id", "sightings", "copies").rows() == [("c1", 2, 2)]
    assert errors(found) == {"args-altered"}


def test_pieces_of_a_call_are_put_together_where_nothing_shows_it_whole(tmp_path: Path) -> None:
    cut = ('{"at"', ': "do', 'or"}')
    pieces = [piece("Well"), piece(name="run--1", id="c1", args=""), *[piece(args=each) for each in cut]]
    pieces[1][0]["tool_call_chunks"][0]["name"] = "look"
    alone = audited(tmp_path, *pieces, [tool(), META])
    assert alone.frames["calls"].select("name", "text", "outcome").rows() == [("look", '{"at": "door"}', "ok")]
    shown = audited(
        tmp_path, *pieces, {"model": {"messages": [ai(call(), id="run--1")]}}, {"tools": {"messages": [tool()]}}
    )
    assert shown.frames["calls"].select("name", "text", "outcome").rows() == [("look", '{"at":"door"}', "ok")]
    assert errors(alone) == errors(shown) == set()


def test_a_message_as_it_is_so_far_counts_when_it_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "log.sse"
    partial = [
        [ai({"name": "look", "args": args, "id": "c1"}, id="run--1")] for args in ({}, {"at": "do"}, {"at": "door"})
    ]
    log.write_text("".join(f"event: messages/partial\ndata: {json.dumps(each)}\n\n" for each in partial))
    found = audit(log)
    assert found.frames["calls"].select("call_id", "text").rows() == [("c1", '{"at":"door"}')]


def test_threads_are_sessions(tmp_path: Path) -> None:
    log = [{"values": {"messages": TALK}, "next": [], "checkpoint": {"thread_id": name}} for name in "ab"]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("session", "call_id").rows() == [("a", "c1"), ("b", "c1")]


def test_what_a_stream_tells_beside_messages_is_passed_over(tmp_path: Path) -> None:
    about = {"run_id": "r", "attempt": 1}
    found = audited(tmp_path, about, {"messages": TALK}, {"model": None}, {"__interrupt__": [{"value": "?"}]})
    assert "unknown" not in found.frames["events"]["kind"].to_list()
    assert found.summary["calls"] == 1


def test_runs_of_a_tracer_stay_its_own(tmp_path: Path) -> None:
    run = {"id": "1", "trace_id": "t", "start_time": "2026-11-30T10:00:00Z", "run_type": "chain", "name": "a"}
    graph = {**run, "inputs": {"messages": TALK}, "outputs": {}, "extra": {"metadata": META}}
    found = audited(tmp_path, {"messages": TALK}, graph)
    assert found.inputs[0]["format"] == "langchain,langsmith"
