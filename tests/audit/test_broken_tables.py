"""Tool tables that differ because two resources show them differently, not because somebody changed them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.audit.wire import (
    TOOLS,
    action,
    added,
    answered,
    asked,
    begun,
    called,
    done,
    ended,
    exchange,
    function,
    run,
    session,
    snapshot,
    told,
)


def _call() -> list[dict[str, object]]:
    return [added(called()), asked(action()), added(answered(), index=None), done(called())]


def test_a_snapshot_never_lists_tool_search(tmp_path: Path) -> None:
    body = {"agent": {"id": "agent_a", "tools": [*TOOLS, {"type": "tool_search"}]}, "input": "hi"}
    events = [exchange("POST", "", body, session()), *begun()[1:], *_call(), *ended()]
    assert told(run(tmp_path, events)) == []


def test_what_the_server_makes_of_a_create_request_is_no_change_of_a_running_session(tmp_path: Path) -> None:
    loose = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    body = {"agent": {"id": "agent_a", "tools": [function("get", loose)]}, "input": "hi"}
    events = [exchange("POST", "", body, session()), *begun()[1:], *_call(), *ended()]
    assert "DRIFT002" not in told(run(tmp_path, events))


def test_a_table_that_a_later_snapshot_replaces_is_still_a_change(tmp_path: Path) -> None:
    body = {"agent": {"id": "agent_a", "tools": list(TOOLS)}, "input": "hi"}
    other = (function("get", {"type": "object", "properties": {"id": {"type": "integer"}}}),)
    events = [exchange("POST", "", body, session()), *begun()[1:], *_call(), *ended(tools=other)]
    assert told(run(tmp_path, events), "DRIFT002") == ["DRIFT002"]


def test_of_very_many_changes_the_first_are_compared_and_the_rest_is_counted(tmp_path: Path) -> None:
    tables = [(function("get", {"type": "object", "maxProperties": at % 100}),) for at in range(1, 150)]
    events = [*begun(tools=tables[0]), *(snapshot(tools=table) for table in tables[1:])]
    messages = run(tmp_path, events).findings.filter(pl.col("rule") == "DRIFT002")["message"].to_list()
    rest = [message for message in messages if "not compared" in message]
    assert rest == ["36 more changes of definitions, of 1 tool, were not compared: the first 64 of the session were."]
    assert len(messages) == 148 - 36 + 1
