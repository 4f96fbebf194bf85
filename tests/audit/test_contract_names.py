"""Contract files name tools of MCP servers as people do; what matched no call is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import Audit, audit
from tests.rules.story import tell

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
STORY = 'server github\nturn\nmcp m1 github create_issue {"title":7} ok done\nend\n'


def judged(folder: Path, contracts: dict[str, Any], log: bytes = b"") -> Audit:
    (folder / "log.ndjson").write_bytes(log or tell(STORY.splitlines()).log)
    (folder / "contracts.json").write_text(json.dumps({name: {"arguments": SCHEMA} for name in contracts}))
    return audit([str(folder / "log.ndjson")], contracts=[str(folder / "contracts.json")])


def refused(done: Audit) -> int:
    return done.frames["verdicts"].filter(pl.col("verdict_is") == "invalid").height


@pytest.mark.parametrize(
    "name", ["github/create_issue", "github.create_issue", "mcp__github__create_issue", "create_issue"]
)
def test_a_tool_of_a_server_is_met_under_every_usual_spelling(name: str, tmp_path: Path) -> None:
    done = judged(tmp_path, {name: SCHEMA})
    assert refused(done) == 1
    assert done.notes == []


@pytest.mark.parametrize("name", ["my hub/create_issue", "my hub.create_issue", "mcp__my_hub__create_issue"])
def test_so_is_a_function_with_a_flattened_name(name: str, tmp_path: Path) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "mcp__my_hub__create_issue", "arguments": '{"title":7}'},
    }
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    line = {"messages": [*messages, {"role": "tool", "tool_call_id": "c1", "content": "done"}]}
    done = judged(tmp_path, {name: SCHEMA}, json.dumps(line).encode() + b"\n")
    assert refused(done) == 1
    assert done.notes == []


def test_what_a_file_spells_itself_comes_before_what_another_name_says(tmp_path: Path) -> None:
    (tmp_path / "log.ndjson").write_bytes(tell(STORY.splitlines()).log)
    entries = {"mcp__github__create_issue": {"arguments": SCHEMA}, "github/create_issue": {"arguments": {}}}
    (tmp_path / "contracts.json").write_text(json.dumps(entries))
    assert refused(audit([str(tmp_path / "log.ndjson")], contracts=[str(tmp_path / "contracts.json")])) == 0


def test_entries_that_no_call_was_met_by_are_told(tmp_path: Path) -> None:
    done = judged(tmp_path, dict.fromkeys(("create_issue", "gitlab/create_issue", "mcp__github__close"), SCHEMA))
    told = "contracts: 2 of 3 tools have no call in these logs under any usual spelling: "
    assert done.notes == [f"{told}gitlab/create_issue, mcp__github__close"]
