"""The leaderboard's rows: calls by name, several turns, functions from the questions; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited

NAME = "bfcl"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()


def question(name: str = "q_1") -> dict[str, Any]:
    parameters = {"type": "dict", "properties": {"a": {"type": "float"}}, "required": ["a"]}
    function = {"name": "shape.area", "description": "", "parameters": parameters}
    return {"id": name, "question": [[{"role": "user", "content": "go"}]], "function": [function]}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize("first", [True, False])
def test_functions_of_the_questions_judge_the_results(tmp_path: Path, *, first: bool) -> None:
    result = {"id": "q_1", "result": [{"shape_area": '{"a": 3}'}, {"shape_area": '{"a": "3"}'}]}
    found = audited(tmp_path, *([question(), result] if first else [result, question()]))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "invalid"]


def test_turns_are_lists_of_lists(tmp_path: Path) -> None:
    rows = {"id": "q_1", "result": [[{"f": "{}"}, {"f": "{}"}], [{"g": {"x": 1}}], []]}
    found = audited(tmp_path, rows)
    calls = found.frames["calls"]
    assert calls["name"].to_list() == ["f", "f", "g"]
    assert calls["reply"].to_list()[0] == calls["reply"].to_list()[1] != calls["reply"].to_list()[2]
    assert calls["owed_by"].unique().to_list() == ["nobody"]


def test_prose_is_a_message(tmp_path: Path) -> None:
    found = audited(tmp_path, question(), {"id": "q_1", "result": "twelve"})
    assert found.frames["calls"].is_empty()
    assert found.frames["messages"]["text"].to_list() == ["go", "twelve"]
