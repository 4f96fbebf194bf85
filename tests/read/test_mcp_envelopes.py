"""MCP messages as loggers and clients write them: what envelopes call a connection, nulls of dumps, pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.read.truths import audited, errors

OBJECT = {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]}
LISTED = [
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}, "outputSchema": OBJECT}]},
    },
]


def test_null_in_a_dump_says_that_there_is_nothing(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "look", "arguments": None}}
    content = [{"type": "text", "text": '{"t": 1}'}]
    told = {"jsonrpc": "2.0", "id": 2, "result": {"content": content, "structuredContent": None, "isError": False}}
    found = audited(tmp_path, *LISTED, asked, told)
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "valid"]


@pytest.mark.parametrize("member", ["server", "server_name", "serverName", "mcp_server", "connection_id"])
def test_connections_are_told_apart_by_what_the_envelope_calls_them(tmp_path: Path, member: str) -> None:
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    told = {"jsonrpc": "2.0", "id": 2, "result": {"content": [], "structuredContent": {"t": 1}}}
    failed = {"jsonrpc": "2.0", "id": 2, "result": {"content": [], "isError": True}}
    log = [{member: each, "message": message} for each in ("x", "y") for message in LISTED]
    log += [{member: each, "message": asked} for each in ("x", "y")]
    log += [{member: "x", "message": told}, {member: "y", "message": failed}]
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["outcome"].to_list() == ["ok", "error"]
    assert found.frames["sessions"].height == 2
    assert errors(found) == set()


def test_a_pair_under_other_names_is_read(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    told = {"jsonrpc": "2.0", "id": 2, "result": {"content": [], "structuredContent": {"t": 1}}}
    found = audited(tmp_path, {"input": LISTED[0], "output": LISTED[1]}, {"input": asked, "output": told})
    assert found.frames["calls"]["outcome"].to_list() == ["ok"]
