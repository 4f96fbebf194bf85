"""Gemini CLI sessions: messages that are written anew, rewinds, whole documents; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import audited, errors

NAME = "gemini-cli"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
HEAD = {"sessionId": "s-1", "projectHash": "ab", "startTime": "2026-11-30T13:00:00.000Z", "lastUpdated": "x"}


def message(number: int, kind: str, content: Any, *calls: dict[str, Any]) -> dict[str, Any]:
    told = {"id": f"m{number}", "timestamp": f"2026-11-30T13:00:{number:02}.000Z", "type": kind, "content": content}
    return {**told, "toolCalls": list(calls)} if calls else told


def ran(call_id: str, arguments: Any, response: Any, status: str = "success") -> dict[str, Any]:
    part = {"functionResponse": {"id": call_id, "name": "look", "response": response}}
    return {"id": call_id, "name": "look", "args": arguments, "result": [part], "status": status, "timestamp": "x"}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_a_message_that_is_written_anew_is_one_and_so_are_its_calls(tmp_path: Path) -> None:
    early = message(2, "gemini", "I look.")
    late = message(2, "gemini", "I look.", ran("c1", {"at": "x"}, {"output": "seen"}))
    more = message(2, "gemini", "I look.", *late["toolCalls"], ran("c2", {"at": "y"}, {"error": "no"}, "error"))
    found = audited(tmp_path, HEAD, message(1, "user", "go"), early, late, more, message(3, "gemini", "So."))
    assert found.frames["calls"].select("call_id", "text", "outcome").rows() == [
        ("c1", '{"at": "x"}', "ok"),
        ("c2", '{"at": "y"}', "error"),
    ]
    assert found.frames["results"]["text"].to_list() == ["seen", '{"error": "no"}']
    assert found.frames["messages"]["text"].to_list() == ["go", "I look.", "So."]
    assert errors(found) == set()


def test_one_document_is_read_as_its_lines_are(tmp_path: Path) -> None:
    said = [message(1, "user", "go"), message(2, "gemini", "", ran("c1", {"at": 3}, {"output": "seen"}))]
    whole = audited(tmp_path, {**HEAD, "messages": said})
    apart = audited(tmp_path, HEAD, *said)
    assert whole.frames["events"]["pointer"].to_list() == ["", "/messages/0", "/messages/1"]
    columns = ["session", "call_id", "name", "text", "outcome"]
    assert whole.frames["calls"].select(columns).rows() == apart.frames["calls"].select(columns).rows()
    assert whole.frames["results"]["text"].to_list() == apart.frames["results"]["text"].to_list() == ["seen"]


def test_its_calls_are_judged_by_contract_files(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
    (tmp_path / "contracts.json").write_text(json.dumps({"look": {"arguments": schema}}), encoding="utf-8")
    log = [HEAD, message(2, "gemini", "", ran("c1", {"at": 3}, {"output": "seen"}), ran("c2", '{"at":"x"}', None))]
    found = audited(tmp_path, *log, contracts=[str(tmp_path / "contracts.json")])
    told = set(found.findings.select("call_id", "slug").rows())
    assert {("c1", "args-schema-mismatch"), ("c1", "executed-despite-mismatch"), ("c2", "args-wrong-container")} <= told


def test_what_was_rewound_stays_a_record_and_is_no_debt(tmp_path: Path) -> None:
    log = [HEAD, message(1, "user", "go"), message(2, "gemini", "", ran("c1", {}, {"output": "a"}, "cancelled"))]
    found = audited(tmp_path, *log, {"$rewindTo": "m2"}, message(3, "gemini", "No."))
    assert found.frames["calls"]["outcome"].to_list() == ["error"]
    assert found.frames["events"]["kind"].to_list()[-2:] == ["notice", "item"]
    assert errors(found) == set()


def test_lines_of_another_program_are_not_taken() -> None:
    log = lines({"id": "1", "timestamp": "x", "type": "user", "content": "hi", "role": "user"}, {"$set": 3})
    assert recorded(log)[0].source_frame()["format"].to_list() != [NAME]
