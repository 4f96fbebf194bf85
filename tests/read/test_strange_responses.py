"""What came back in no shape of its wire: told by every adapter of exchanges, and read where only the frame is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.read.truths import audited

TURN = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object"}
Asked = tuple[str, dict[str, Any]]
ASKED: dict[str, Asked] = {
    "openai-chat": (
        "https://api.openai.com/v1/chat/completions",
        {"model": "m", "messages": TURN, "tools": [{"type": "function", "function": {"name": "f"}}]},
    ),
    "anthropic-messages": (
        "https://api.anthropic.com/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": TURN, "tools": [{"name": "f", "input_schema": SCHEMA}]},
    ),
    "openai-responses": (
        "https://api.openai.com/v1/responses",
        {"model": "m", "input": "hi", "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
    ),
    "gemini": (
        "https://host.example/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ),
    "bedrock": (
        "https://host.example/model/m/converse",
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "toolConfig": {"tools": []}},
    ),
    "mcp-jsonrpc": (
        "http://localhost/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f", "arguments": {}}},
    ),
    "openai-agents-api": (
        "https://api.openai.com/v1/agents/sessions/sess_1/events",
        {"events": [{"type": "agent.session.input.cancel"}]},
    ),
    "managed-agents": (
        "https://api.anthropic.com/v1/sessions/sesn_1/events",
        {"events": [{"type": "user.message", "content": [{"type": "text", "text": "x"}]}]},
    ),
}
STRANGE: list[Any] = [
    {"foo": {"tool_calls": [1]}},
    {"status": 200, "body": {"kwargs": {"content": ""}}},
    {"status": 200, "body": "content='' additional_kwargs={'tool_calls': [f()]}"},
    {"status": 200, "body": ["odd"]},
    {"status": 200, "payload": {"made": "up"}},
]
REFUSED = {"status": 502, "body": "<html>no</html>"}
NOTHING: list[Any] = [None, {}, {"status": 202, "headers": {"a": "b"}}, {"status": 200, "body": ""}, REFUSED]
BARE = ("openai-chat", "anthropic-messages", "openai-responses", "gemini", "bedrock", "mcp-jsonrpc")


@pytest.mark.parametrize("response", STRANGE, ids=json.dumps)
@pytest.mark.parametrize("name", ASKED)
def test_a_response_in_no_shape_of_its_wire_is_told(tmp_path: Path, name: str, response: Any) -> None:
    url, body = ASKED[name]
    found = audited(tmp_path, {"http": {"method": "POST", "url": url, "body": body}, "response": response})
    assert found.inputs[0]["format"] == name
    assert found.frames["faults"]["fault"].to_list() == ["unknown_item"]
    (told,) = found.findings.filter(rule="LOG003")["message"]
    assert "response" in told


@pytest.mark.parametrize("name", BARE)
def test_so_is_one_beside_a_bare_request(tmp_path: Path, name: str) -> None:
    for response in ({"foo": 1}, "content='' tool_calls=[f()]"):
        found = audited(tmp_path, {"request": ASKED[name][1], "response": response})
        assert found.inputs[0]["format"] == name
        assert found.frames["faults"]["fault"].to_list() == ["unknown_item"]


@pytest.mark.parametrize("response", NOTHING, ids=json.dumps)
@pytest.mark.parametrize("name", ASKED)
def test_nothing_and_a_refusal_are_not_told_as_such(tmp_path: Path, name: str, response: Any) -> None:
    url, body = ASKED[name]
    found = audited(tmp_path, {"http": {"method": "POST", "url": url, "body": body}, "response": response})
    assert found.frames["faults"].is_empty()


@pytest.mark.parametrize("name", ["openai-chat", "anthropic-messages", "openai-responses", "gemini", "bedrock"])
def test_a_refusal_that_is_no_json_is_an_error_of_the_request(tmp_path: Path, name: str) -> None:
    url, body = ASKED[name]
    found = audited(tmp_path, {"http": {"method": "POST", "url": url, "body": body}, "response": REFUSED})
    assert found.frames["events"].filter(pl.col("kind") == "error").height == 1


def test_a_response_that_lost_its_frame_is_read(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    found = audited(tmp_path, {"request": ASKED["openai-responses"][1], "response": {"id": "r1", "output": [call]}})
    assert found.frames["calls"]["call_id"].to_list() == ["c1"]
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    message = {"role": "assistant", "content": [block]}
    found = audited(tmp_path, {"request": ASKED["anthropic-messages"][1], "response": message})
    assert found.frames["calls"]["call_id"].to_list() == ["t1"]


@pytest.mark.parametrize("text", [": OPENROUTER PROCESSING\n\n", "event: ping\n\n", "id: 7\n\n", ":"])
@pytest.mark.parametrize("name", BARE)
def test_a_stream_in_which_nothing_came_is_told(tmp_path: Path, name: str, text: str) -> None:
    url, body = ASKED[name]
    for response in ({"status": 200, "body": text}, {"status": 200, "body": {"text": text}}):
        found = audited(tmp_path, {"http": {"method": "POST", "url": url, "body": body}, "response": response})
        assert found.inputs[0]["format"] == name
        assert found.frames["faults"]["fault"].to_list() == ["unknown_item"]


@pytest.mark.parametrize("text", ["[", '["a', '[{"type": "message"}, {"ty'])
@pytest.mark.parametrize("name", BARE)
def test_a_list_that_was_cut_is_told(tmp_path: Path, name: str, text: str) -> None:
    url, body = ASKED[name]
    record = {"http": {"method": "POST", "url": url, "body": body}, "response": {"status": 200, "body": text}}
    found = audited(tmp_path, record)
    assert found.inputs[0]["format"] == name
    assert "unreadable" in found.frames["faults"]["fault"].to_list()
