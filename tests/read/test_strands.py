"""Strands: saved messages in lines and in files of their own, bare messages of Converse; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import errors

NAME = "strands"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": False}
Record = dict[str, Any]


def talk(at: Any) -> list[Record]:
    used = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": at}}}
    back = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "seen"}]}}
    said = [("user", {"text": "go"}), ("assistant", used), ("user", back), ("assistant", {"text": "done"})]
    return [{"role": role, "content": [block]} for role, block in said]


def saved(messages: list[Record]) -> list[Record]:
    when = "2026-11-30T12:00:0{}+00:00"
    return [{"message": each, "message_id": n, "created_at": when.format(n)} for n, each in enumerate(messages)]


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize("holder", ["a list", "lines", "saved lines", "saved files"])
def test_a_faulty_call_is_found_and_a_clean_one_is_green(holder: str, tmp_path: Path) -> None:
    (tmp_path / "contracts.json").write_text(json.dumps({"look": {"arguments": SCHEMA}}), encoding="utf-8")
    for at in (3, "door"):
        said, folder = talk(at), tmp_path / f"messages {at}"
        folder.mkdir()
        texts = [json.dumps(each) for each in (saved(said) if holder.startswith("saved") else said)]
        if holder == "saved files":
            for number, text in enumerate(texts):
                (folder / f"message_{number}.json").write_text(text, encoding="utf-8")
        else:
            text = json.dumps(said) if holder == "a list" else "\n".join(texts)
            (folder / "log.txt").write_text(text, encoding="utf-8")
        found = audit(folder, contracts=[str(tmp_path / "contracts.json")])
        assert {each["format"] for each in found.inputs} == {NAME}
        assert found.summary["sessions"] == 1
        assert found.frames["calls"].select("call_id", "outcome").rows() == [("t1", "ok")]
        assert errors(found) == ({"args-schema-mismatch", "executed-despite-mismatch"} if at == 3 else set())
        assert found.summary["coverage"] == 1
