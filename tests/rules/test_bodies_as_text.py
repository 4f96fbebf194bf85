"""Bodies that a recorder kept as text: no pointer leads into them, and what is wrong in them is found all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import audit

_OPEN = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
_LONG = "Looks. " * 30_000
_NAMES = ("look", "look", "no such name!")
_CALL = {"id": "c 1", "name": "look", "arguments": {"at": 7}}


def chat() -> tuple[Any, Any]:
    tools = [
        {"type": "function", "function": {"name": name, "description": _LONG, "parameters": _OPEN}} for name in _NAMES
    ]
    function = {"name": "look", "arguments": json.dumps(_CALL["arguments"])}
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c 1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Look."}], "tools": tools}
    return asked, {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def responses() -> tuple[Any, Any]:
    tools: list[Any] = [
        {"type": "function", "name": name, "description": _LONG, "parameters": _OPEN} for name in _NAMES
    ]
    tools.append({"type": "mcp", "server_label": "docs", "server_url": "https://docs.example"})
    item = {"type": "function_call", "id": "fc_1", "call_id": "c 1", "name": "look", "arguments": '{"at":7}'}
    asked = {"model": "m", "input": [{"role": "user", "content": "Look."}], "tools": tools}
    return asked, {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "tools": tools}


def messages() -> tuple[Any, Any]:
    tools = [{"name": name, "description": _LONG, "input_schema": _OPEN} for name in _NAMES]
    block = {"type": "tool_use", "id": "c 1", "name": "look", "input": {"at": 7}}
    asked = {"model": "claude-m", "max_tokens": 9, "messages": [{"role": "user", "content": "Look."}], "tools": tools}
    return asked, {"id": "msg_1", "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}


def told(tmp_path: Path, asked: Any, back: Any, *, text: bool) -> pl.DataFrame:
    def body(value: Any) -> Any:
        return json.dumps(value) if text else value

    uri = {"messages": "/v1/chat/completions", "input": "/v1/responses"}["messages" if "messages" in asked else "input"]
    uri = "/v1/messages" if "max_tokens" in asked else uri
    request = {"method": "POST", "uri": f"https://models.example{uri}", "body": body(asked)}
    path = tmp_path / f"{text}.jsonl"
    path.write_text(json.dumps({"request": request, "response": {"status": 200, "body": body(back)}}) + "\n")
    found = audit(str(path))
    assert found.crashed == []
    return found.findings


@pytest.mark.parametrize("wire", [chat, responses, messages])
def test_the_same_is_found_in_a_body_and_in_its_text(tmp_path: Path, wire: Any) -> None:
    asked, back = wire()
    plain, opaque = (told(tmp_path, asked, back, text=text) for text in (False, True))
    columns = ["rule", "severity", "confidence", "call_id"]
    assert sorted(opaque.select(columns).iter_rows(), key=str) == sorted(plain.select(columns).iter_rows(), key=str)
    assert {"ARG001", "TOOL003", "TOOL008", "TOOL016"} <= set(plain["rule"])
    # A pointer that leads into a text would lead nowhere.
    assert {row["pointer"] for row in opaque["location"]} <= {"/request/body", "/response/body", ""}


@pytest.mark.parametrize("text", [False, True])
def test_what_chat_completions_had_before_tools_needs_no_id(tmp_path: Path, text: bool) -> None:
    function = {"name": "look", "arguments": '{"at":"door"}'}
    said = {"role": "assistant", "content": None, "function_call": function}
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": "Look."}],
        "functions": [{"name": "look", "parameters": _OPEN}],
    }
    back = {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": "function_call"}],
    }
    found = told(tmp_path, asked, back, text=text)
    assert found.filter(pl.col("severity") == "error").is_empty()
    assert found.filter(pl.col("rule") == "CALL003", pl.col("confidence") != "hint").is_empty()
