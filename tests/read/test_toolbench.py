"""ToolBench: answer trees, whose every branch is a call that was run; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import SHARED, audited, counted, truth

NAME = "toolbench"
SAMPLE = (SAMPLES / f"{NAME}.json").read_bytes()


def node(kind: str, text: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"node_type": kind, "description": text, "children": list(children), **more}


def ran(arguments: str, observation: str, code: int, *children: Any) -> dict[str, Any]:
    return node(
        "Action", "look", node("Action Input", arguments, *children, observation=observation, observation_code=code)
    )


def answer(*children: Any) -> dict[str, Any]:
    function = {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}
    tree = {"tree": node("Action Input", "", *children)}
    return {"win": True, "tree": tree, "answer_generation": {"query": "go", "function": [function]}}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(lines(json.loads(SAMPLE), answer(ran("{}", "x", 0))))))


def test_every_branch_is_run_and_answered_by_its_own_observation(tmp_path: Path) -> None:
    tree = answer(ran('{"at": 1}', "a", 11, ran('{"at": "b"}', "b", 0)), ran('{"at": "c"}', "c", 3))
    found = audited(tmp_path, tree)
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("text_of", "outcome").rows() == [("a", "error"), ("b", "ok"), ("c", "ok")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid", "valid", "valid"]


def test_a_deep_tree_is_read_to_its_end(tmp_path: Path) -> None:
    tree = ran("{}", "end", 0)
    for _ in range(150):
        tree = ran("{}", "on", 0, tree)
    assert audited(tmp_path, answer(tree)).frames["calls"].height == 151


def test_the_recorded_trees_have_the_counts_that_are_known() -> None:
    known = truth(NAME)
    found = audit([str(path) for path in sorted((SHARED / NAME).glob("*.json"))])
    counts = counted(found)
    assert counts == {name: known.get(name, 0) for name in counts}
    assert found.frames["calls"]["outcome"].to_list().count("error") == known["results_flagged_error"]
