"""One file that holds both wires: what the model was shown, and what the server lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.auditing import audit


def log_of(shown: dict[str, Any], *listed: dict[str, Any], name: str = "mcp__my_docs__find") -> bytes:
    tool = {"type": "function", "function": {"name": name, "parameters": shown}}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [tool]}
    reply = {"id": "r1", "object": "chat.completion", "model": "m", "created": 1, "choices": []}
    server = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "my docs"}}
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    lines: list[Any] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "id": 0, "result": {**server, "serverInfo": {"name": "my docs", "version": "1"}}},
    ]
    for number, each in enumerate(listed, 1):
        lines += [
            {"jsonrpc": "2.0", "id": number, "method": "tools/list"},
            {"jsonrpc": "2.0", "id": number, "result": {"tools": [{"name": "find", "inputSchema": each}]}},
        ]
    lines.append(
        {
            "request": {"method": "POST", "url": "https://x.test/v1/chat/completions", "body": body},
            "response": {"status": 200, "body": reply},
        }
    )
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def schema(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"q": {"type": kind, **more}}, "required": ["q"]}


def drifts(folder: Path, log: bytes) -> list[dict[str, Any]]:
    (folder / "log.jsonl").write_bytes(log)
    done = audit([str(folder)], select=["DRIFT001"])
    assert done.crashed == []
    return done.findings.to_dicts()


def test_the_server_lists_another_schema_than_the_model_was_shown(tmp_path: Path) -> None:
    [found] = drifts(tmp_path, log_of(schema("string"), schema("integer")))
    assert found["tool"] == "mcp__my_docs__find"
    assert "the server's" in found["message"]
    assert found["location"]["line"] == 5
    assert [each["location"]["line"] for each in found["related"]] == [4]


@pytest.mark.parametrize("name", ["find", "my_docs_find", "my_docs__find"])
def test_clients_that_spell_a_tool_otherwise_are_held_to_the_listing_too(tmp_path: Path, name: str) -> None:
    [found] = drifts(tmp_path, log_of(schema("string"), schema("integer"), name=name))
    assert (found["tool"], found["confidence"]) == (name, "likely")
    assert drifts(tmp_path, log_of(schema("string"), schema("string"), name=name)) == []
    assert drifts(tmp_path, log_of(schema("string"), schema("integer"), name="finds")) == []


def test_objects_that_a_client_closes_for_the_model_are_no_drift(tmp_path: Path) -> None:
    closed = schema("string") | {"additionalProperties": False}
    assert drifts(tmp_path, log_of(closed, schema("string"))) == []
    assert len(drifts(tmp_path, log_of(schema("string"), closed))) == 1
    assert len(drifts(tmp_path, log_of(closed, schema("integer")))) == 1


def test_of_two_servers_that_list_one_name_nobody_knows_which_is_meant(tmp_path: Path) -> None:
    other = log_of(schema("string"), schema("boolean"), name="find").replace(b"my docs", b"your docs")
    log = log_of(schema("string"), schema("integer"), name="find")
    assert drifts(tmp_path, b"".join(other.splitlines(keepends=True)[:-1]) + log) == []


def test_a_version_that_was_listed_is_no_drift(tmp_path: Path) -> None:
    assert drifts(tmp_path, log_of(schema("string", description="Other words."), schema("string"))) == []
    assert drifts(tmp_path, log_of(schema("string"), schema("string"), schema("integer"))) == []
