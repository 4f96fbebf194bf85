"""The shared recording of one Agents API session: every form of it says the same, and all together are one session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import audit

EVENTS, STREAM = "synthetic-session-events.jsonl", "synthetic-session-events.sse.txt"
PAGE, INPUTS = "synthetic-items-page-desc.json", "synthetic-input-events.json"


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / "data" / "agents-api"


@pytest.fixture
def truth(shared: Path) -> dict[str, Any]:
    return dict(json.loads((shared / "data" / "truth.json").read_text())["agents-api"])


def _counts(*paths: Path) -> dict[str, int]:
    done = audit([str(path) for path in paths])
    calls = done.frames["calls"]
    created = done.frames["events"].filter(
        (pl.col("type") == "agent.session.subagent.created") & pl.col("event_id").is_first_distinct()
    )
    remote = calls.filter(pl.col("kind") == "mcp")
    return {
        "sessions": done.summary["sessions"],
        "calls": calls.height - remote.height,
        "results": done.summary["results"] - remote.height,
        "mcp_calls": remote.height,
        "subagents": created.height,
    }


@pytest.mark.parametrize("name", [EVENTS, STREAM])
def test_lines_and_stream_give_the_same_counts(folder: Path, truth: dict[str, Any], name: str) -> None:
    assert _counts(folder / name) == truth[name]


def test_a_page_of_items_gives_calls_and_results_oldest_first(folder: Path, truth: dict[str, Any]) -> None:
    counts = _counts(folder / PAGE)
    assert {name: counts[name] for name in truth[PAGE]} == truth[PAGE]
    assert not audit([str(folder / PAGE)]).findings.filter(pl.col("rule") == "LOG006").height


def test_all_together_are_one_session_and_nothing_is_there_twice(folder: Path, truth: dict[str, Any]) -> None:
    every = [folder / name for name in (EVENTS, STREAM, PAGE, INPUTS)]
    assert _counts(*every) == truth["all four together"]
    done = audit([str(path) for path in every])
    alone = audit([str(folder / EVENTS)])
    rules = set(done.findings.filter(pl.col("severity") == "error")["rule"])
    assert rules <= set(alone.findings["rule"])
    assert not {"CALL001", "CALL002", "CALL005", "CALL006", "CALL007", "CALL008", "LOG005", "LOG006"} & set(
        done.findings["rule"]
    )


def test_inputs_alone_prove_what_they_can_and_nothing_is_green(folder: Path, truth: dict[str, Any]) -> None:
    done = audit([str(folder / INPUTS)])
    assert done.summary["results"] == truth[INPUTS]["results"]
    assert done.summary["calls"] == 0
    assert done.summary["verdicts"]["valid"] == 0
    assert not done.findings.filter((pl.col("severity") == "error") & (pl.col("confidence") == "certain")).height
