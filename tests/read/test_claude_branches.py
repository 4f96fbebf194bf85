"""Claude Code: sessions that went back and took another branch, and where sessions and subagents begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import Audit
from tests.read.adapters import lines, recorded
from tests.read.test_claude_code import asks, audited, gives, says, use


def after(before: int | None, row: dict[str, Any], **more: Any) -> dict[str, Any]:
    return row | {"parentUuid": None if before is None else f"u{before}"} | more


def unanswered(found: Audit) -> list[str]:
    hits = found.findings.filter(pl.col("slug") == "call-unanswered")
    return [f"{row['call_id']} {row['severity']}" for row in hits.iter_rows(named=True)]


ASKED = after(None, asks(1))
CALLED = after(1, says(2, use("toolu_1")))


@pytest.mark.parametrize(
    "rest",
    [
        [
            after(1, asks(3, "no, do this")),
            after(3, says(4, {"type": "text", "text": "done"})),
        ],  # from the first prompt
        [after(None, asks(3, "start again")), after(3, says(4, {"type": "text", "text": "done"}))],  # from nothing
        [after(1, says(3, {"type": "text", "text": "made anew"}))],  # the reply was thrown away
        [after(1, asks(3)), after(3, says(4, use("toolu_2"))), after(4, gives(5, "toolu_2")), after(5, asks(6))],
    ],
)
def test_an_open_call_on_a_branch_that_was_left_is_no_debt(tmp_path: Path, rest: list[Any]) -> None:
    found = audited(tmp_path, [ASKED, CALLED, *rest])
    assert unanswered(found) == []
    assert found.frames["calls"].filter(call_id="toolu_1")["status"].to_list() == ["abandoned"]


@pytest.mark.parametrize(
    "rest",
    [
        [after(2, asks(3, "go on"))],
        [after(2, {**asks(3), "type": "attachment"}), after(3, asks(4, "go on"))],
        # It had gone on without the result before the user went back.
        [after(2, asks(3, "go on")), after(3, says(4, {"type": "text", "text": "done"})), after(1, asks(5, "no"))],
        [after(None, asks(3, "go on"), logicalParentUuid="u2")],  # behind a compaction
        [asks(3, "go on")],  # the row does not say what it follows
        [asks(3, "go on") | {"parentUuid": "not recorded"}],
    ],
)
def test_a_call_that_the_session_went_on_without_is_one(tmp_path: Path, rest: list[Any]) -> None:
    assert unanswered(audited(tmp_path, [ASKED, CALLED, *rest])) == ["toolu_1 error"]


def test_agents_of_one_session_may_have_open_calls_of_one_id(tmp_path: Path) -> None:
    side = {"isSidechain": True, "agentId": "a1"}
    others = [
        after(None, asks(10, "look"), **side),
        after(10, says(11, use("toolu_1")), **side),
        after(11, gives(12, "toolu_1"), **side),
    ]
    found = audited(tmp_path, [ASKED, CALLED, *others, after(1, asks(3, "no, do this"))])
    assert unanswered(found) == []
    told = found.frames["calls"].select("turn", "status").sort("turn", nulls_last=True)
    assert told["status"].to_list()[-1] == "abandoned"


def test_parallel_calls_branch_and_none_is_left(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        [
            ASKED,
            after(1, says(2, use("toolu_1"), message="m1")),
            after(2, gives(3, "toolu_1")),
            after(2, says(4, use("toolu_2"), message="m1")),
            after(3, says(5, {"type": "text", "text": "done"}, message="m2")),
        ],
    )
    assert unanswered(found) == ["toolu_2 error"]


def test_sidechains_that_name_no_agent_leave_nothing(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    found = audited(
        tmp_path,
        [
            ASKED,
            after(1, says(2, use("toolu_1", "Task"))),
            after(None, asks(3), **side),
            after(3, says(4, use("toolu_2"))) | side,
            after(None, asks(5), **side),
            after(4, gives(6, "toolu_2"), **side),
            after(2, gives(7, "toolu_1")),
        ],
    )
    assert found.frames["calls"]["status"].to_list() == [None, None]
    assert unanswered(found) == []


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([ASKED, CALLED], True),
        ([{"type": "summary", "summary": "Maps", "leafUuid": "u9"}, ASKED], True),
        ([CALLED], False),
        ([asks(1)], False),
        ([after(None, asks(1), logicalParentUuid="u0")], False),
        ([after(None, asks(1), isSidechain=True, agentId="a1"), after(7, asks(8))], False),
        ([after(7, asks(8)), after(None, asks(9))], False),  # went back to the beginning, which is not recorded
    ],
)
def test_a_row_that_follows_none_begins_its_session(tmp_path: Path, rows: list[Any], told: bool) -> None:
    assert audited(tmp_path, rows).frames["sessions"]["from_start"].to_list() == [told]


def test_where_the_beginning_is_recorded_a_result_without_a_call_is_an_orphan(tmp_path: Path) -> None:
    found = audited(tmp_path, [ASKED, after(1, gives(2, "toolu_none")), after(2, asks(3))])
    assert set(found.findings["slug"]) & {"result-orphan", "record-missing"} == {"result-orphan"}


def test_a_subagent_begins_with_a_row_that_follows_none() -> None:
    side = {"isSidechain": True, "agentId": "a1"}
    _, frames = recorded(lines(after(None, asks(1), **side), after(1, says(2, use("toolu_1")), **side)))
    assert frames["turn_states"].select("turn", "status").rows() == [("agent-a1", "created")]
    _, frames = recorded(lines(after(9, says(2, use("toolu_1")), **side)))
    assert frames["turn_states"].select("turn", "status").rows() == [("agent-a1", "in_progress")]
