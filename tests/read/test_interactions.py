"""Gemini Interactions: requests and interactions by id, exchanges, streams, both revisions; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

NAME = "gemini-interactions"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TOOLS = [{"type": "function", "name": "look", "parameters": SCHEMA}]
Record = dict[str, Any]


def asked(given: Any, before: str | None = None) -> Record:
    chained = {} if before is None else {"previous_interaction_id": before}
    return {"model": "gemini-x", "input": given, "tools": TOOLS, **chained}


def step(call_id: str, at: Any) -> Record:
    return {"type": "function_call", "id": call_id, "name": "look", "arguments": {"at": at}}


def gave(call_id: str, result: Any, **more: Any) -> Record:
    return {"type": "function_result", "call_id": call_id, "name": "look", "result": result, **more}


def interaction(name: str, *steps: Record, status: str = "completed", **more: Any) -> Record:
    return {"id": name, "object": "interaction", "status": status, "steps": list(steps), **more}


def text(words: str) -> Record:
    return {"type": "model_output", "content": [{"type": "text", "text": words}]}


def events(name: str, pieces: list[str]) -> list[Record]:
    body = {"id": name, "object": "interaction", "status": "in_progress"}
    return [
        {"event_type": "interaction.created", "interaction": body},
        {"event_type": "step.start", "index": 0, "step": {**step("f1", 0), "arguments": {}}},
        *(
            {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": each}}
            for each in pieces
        ),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.status_update", "interaction_id": name, "status": "requires_action"},
        {"event_type": "interaction.completed", "interaction": {**body, "status": "requires_action"}},
    ]


CHAIN = [
    asked("where?"),
    interaction("v1", step("f1", 3), step("f2", "B"), status="requires_action"),
    asked([gave("f1", {"x": 1}, is_error=True), gave("f2", "there")], "v1"),
    interaction("v2", text("There."), previous_interaction_id="v1"),
]


def exchange(request: Record, response: Any) -> Record:
    url = "https://host.example/v1beta/interactions"
    return {"http": {"method": "POST", "url": url, "body": request}, "response": {"status": 200, "body": response}}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@pytest.mark.parametrize("how", ["bare", "exchanges", "pairs"])
def test_a_chain_is_one_session(tmp_path: Path, how: str) -> None:
    log = CHAIN
    if how == "exchanges":
        log = [exchange(*CHAIN[:2]), exchange(*CHAIN[2:])]
    elif how == "pairs":
        log = [{"request": each, "response": told} for each, told in (CHAIN[:2], CHAIN[2:])]
    found = audited(tmp_path, *log)
    assert found.inputs[0]["format"] == NAME
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("f1", "error"), ("f2", "unknown")]
    assert errors(found) == {"args-schema-mismatch"}


def test_interactions_without_their_requests_are_joined_by_what_they_go_on_from(tmp_path: Path) -> None:
    found = audited(tmp_path, CHAIN[1], CHAIN[3])
    assert found.frames["sessions"]["session"].to_list() == ["v1"]
    assert found.frames["calls"]["call_id"].to_list() == ["f1", "f2"]


def test_one_that_is_looked_up_again_and_again_is_the_same(tmp_path: Path) -> None:
    found = audited(tmp_path, CHAIN[0], CHAIN[1], CHAIN[1], CHAIN[1])
    assert found.frames["calls"]["call_id"].to_list() == ["f1", "f2"]
    assert found.frames["sessions"].height == 1


def test_the_same_request_tried_again_is_the_same(tmp_path: Path) -> None:
    found = audited(tmp_path, *CHAIN[:3], *CHAIN[2:])
    assert found.frames["results"].height == 2
    assert "result-duplicate" not in found.findings["slug"].to_list()


@pytest.mark.parametrize("kept", ["lines", "text"])
def test_a_streamed_call_is_put_together(tmp_path: Path, kept: str) -> None:
    log = events("v1", ['{"at"', ": 3}"])
    if kept == "text":
        data = "".join(f"event: {each['event_type']}\ndata: {json.dumps(each)}\n\n" for each in log)
        log = [exchange(asked("where?"), data + "event: done\ndata: [DONE]\n\n")]
    else:
        log = [asked("where?"), *log]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("call_id", "name", "text").rows() == [("f1", "look", '{"at": 3}')]
    assert errors(found) == {"args-schema-mismatch"}


def test_a_stream_that_breaks_off_leaves_its_call_unfinished(tmp_path: Path) -> None:
    found = audited(tmp_path, asked("where?"), *events("v1", ['{"at"'])[:3])
    assert found.frames["calls"].select("call_id", "status").rows() == [("f1", "in_progress")]
    assert errors(found) == set()


def test_the_earlier_revision_calls_steps_outputs(tmp_path: Path) -> None:
    told = {"id": "v1", "object": "interaction", "status": "requires_action", "outputs": [step("f1", 3)]}
    found = audited(tmp_path, asked("where?"), told)
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["location"]["pointer"].startswith("/outputs/0/arguments")


def test_what_a_client_resends_whole_is_known(tmp_path: Path) -> None:
    user = {"type": "user_input", "content": [{"type": "text", "text": "where?"}]}
    found = audited(
        tmp_path,
        asked([user]),
        interaction("v1", step("f1", "A")),
        asked([user, step("f1", "A"), gave("f1", "there")]),
        interaction("v2", text("There.")),
    )
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("f1", "unknown")]


def test_calls_of_servers_and_of_the_providers_own_tools_are_its_own_to_answer(tmp_path: Path) -> None:
    mcp = {"type": "mcp_server_tool_call", "id": "m1", "server_name": "s", "name": "t", "arguments": {}}
    own: Record = {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["x"]}}
    results: list[Record] = [{"type": "mcp_server_tool_result", "call_id": "m1", "result": "x"}]
    results += [{"type": "google_search_result", "call_id": "g1", "result": [{"rendered_content": "x"}]}]
    found = audited(tmp_path, asked("where?"), interaction("v1", mcp, own, *results))
    keys = found.frames["calls"].select("tool", "outcome").rows()
    assert keys == [("mcp:s:t", "unknown"), ("hosted::google_search", "unknown")]


def test_an_event_of_an_unknown_type_is_left_to_others(tmp_path: Path) -> None:
    log = events("v1", ['{"at": 3}'])
    found = audited(tmp_path, *log[:3], {"event_type": "x.y", "index": 0}, *log[3:])
    assert found.frames["events"]["event"].is_unique().all()
    assert "unknown" in found.frames["events"]["kind"].to_list()
    assert found.frames["calls"].height == 1


@pytest.mark.parametrize(
    "record",
    [
        {"event_type": "step.start", "step": "build", "run": 5},
        {"event_type": "content.updated", "index": 1, "content": {}},
        {"event_type": "interaction.clicked", "user": "u"},
        {"id": 5, "status": "completed", "steps": [{"name": "checkout"}, {"name": "test"}]},
    ],
)
def test_what_only_looks_like_it_is_not_taken(record: Record) -> None:
    assert recorded(json.dumps(record).encode() + b"\n")[0].source_frame()["format"][0] != NAME


def test_an_error_is_one(tmp_path: Path) -> None:
    failed = {"event_type": "error", "error": {"code": "x", "message": "y"}}
    found = audited(tmp_path, asked("where?"), events("v1", [])[0], failed)
    assert found.frames["events"]["kind"].to_list()[-1] == "error"


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))
