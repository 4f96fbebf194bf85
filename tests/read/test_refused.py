"""Requests that a provider refused: nothing that they set was ever in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from tests.read.adapters import lines

Body = dict[str, Any]
PARAMETERS = {"type": "object", "properties": {"bed": {"type": "string"}}, "required": ["bed"]}
BROKEN = {"type": "object", "properties": {"bed": {"type": "array"}, "x": {}}, "required": ["x"]}
REFUSAL = {"status": 400, "body": {"error": {"type": "invalid_request_error", "message": "no"}}}


def responses(schema: Body) -> tuple[str, Body, Body]:
    tools = [{"type": "function", "name": "water", "parameters": schema}]
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "water", "arguments": '{"bed":"a"}'}
    reply = {"id": "resp_1", "object": "response", "status": "completed", "output": [call]}
    return "/v1/responses", {"model": "m", "input": [{"role": "user", "content": "Water."}], "tools": tools}, reply


def chat(schema: Body) -> tuple[str, Body, Body]:
    tools = [{"type": "function", "function": {"name": "water", "parameters": schema}}]
    call = {"id": "c", "type": "function", "function": {"name": "water", "arguments": '{"bed":"a"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    reply = {"id": "r", "object": "chat.completion", "choices": [choice]}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Water."}], "tools": tools}
    return "/v1/chat/completions", asked, reply


def anthropic(schema: Body) -> tuple[str, Body, Body]:
    tools = [{"name": "water", "input_schema": schema}]
    block = {"type": "tool_use", "id": "c", "name": "water", "input": {"bed": "a"}}
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Water."}], "tools": tools}
    return "/v1/messages", asked, reply


def gemini(schema: Body) -> tuple[str, Body, Body]:
    tools = [{"functionDeclarations": [{"name": "water", "parametersJsonSchema": schema}]}]
    content = {"role": "model", "parts": [{"functionCall": {"name": "water", "args": {"bed": "a"}}}]}
    reply = {"responseId": "g", "candidates": [{"content": content, "finishReason": "STOP"}]}
    return (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Water."}]}], "tools": tools},
        reply,
    )


def _exchange(path: str, asked: Body, answer: Body) -> Body:
    return {"request": {"method": "POST", "url": f"https://example.com{path}", "body": asked}, "response": answer}


@pytest.mark.parametrize("wire", [responses, chat, anthropic, gemini])
def test_a_refused_table_was_never_in_force(wire: Any, tmp_path: Path) -> None:
    path, asked, reply = wire(PARAMETERS)
    log = tmp_path / "log.jsonl"
    refused = _exchange(path, wire(BROKEN)[1], REFUSAL)
    log.write_bytes(lines(refused, _exchange(path, asked, {"status": 200, "body": reply})))
    told = audit(str(log))
    assert told.summary["calls"] == 1
    assert told.summary["verdicts"]["valid"] == 1
    assert not {"DRIFT002", "ARG001"} & set(told.findings["rule"])


def test_a_refusal_that_shows_what_the_model_wrote_is_judged_by_its_table(tmp_path: Path) -> None:
    path, asked, _ = chat(PARAMETERS)
    written = '<function=water>{"bed": 7}</function>'
    error = {"code": "tool_use_failed", "failed_generation": written}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(_exchange(path, asked, {"status": 400, "body": {"error": error}})), encoding="utf-8")
    assert "ARG001" in set(audit(str(log)).findings["rule"])


@pytest.mark.parametrize("wire", [responses, chat, anthropic, gemini])
def test_what_was_wrong_with_a_refused_table_is_told(wire: Any, tmp_path: Path) -> None:
    path, asked, _ = wire({"type": "object", "properties": {"bed": {"type": "odd"}}})
    log = tmp_path / "log.jsonl"
    log.write_bytes(lines(_exchange(path, asked, REFUSAL)))
    assert "TOOL001" in set(audit(str(log)).findings["rule"])
