"""Batches: requests in one file, what came of them in another, joined by the name that both give."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import Audit, audit
from tests.read.adapters import lines

PARAMETERS = {"type": "object", "properties": {"bed": {"type": "string"}}, "required": ["bed"]}
ARGUMENTS = {"one": {"bed": "north"}, "two": {"bed": 7}}


def chat(name: str) -> tuple[Any, Any]:
    tool = {"type": "function", "function": {"name": "water", "parameters": PARAMETERS}}
    asked = {"model": "m", "messages": [{"role": "user", "content": f"bed {name}"}], "tools": [tool]}
    call = {"id": f"call_{name}", "type": "function"}
    call["function"] = {"name": "water", "arguments": json.dumps(ARGUMENTS[name])}  # type: ignore[assignment]
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    return asked, {"id": f"chatcmpl-{name}", "object": "chat.completion", "choices": [choice]}


def responses(name: str) -> tuple[Any, Any]:
    tool = {"type": "function", "name": "water", "parameters": PARAMETERS}
    call = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name}", "name": "water"}
    call["arguments"] = json.dumps(ARGUMENTS[name])
    answer = {"id": f"resp_{name}", "object": "response", "status": "completed", "model": "m", "output": [call]}
    return {"model": "m", "input": f"bed {name}", "tools": [tool]}, answer


def messages(name: str) -> tuple[Any, Any]:
    tool = {"name": "water", "input_schema": PARAMETERS}
    asked = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": f"bed {name}"}]}
    call = {"type": "tool_use", "id": f"call_{name}", "name": "water", "input": ARGUMENTS[name]}
    answer = {"id": f"msg_{name}", "type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use"}
    return {**asked, "tools": [tool]}, answer


def openai(made: Any, url: str, names: Sequence[str]) -> tuple[bytes, bytes]:
    asked = [{"custom_id": name, "method": "POST", "url": url, "body": made(name)[0]} for name in names]
    told = [
        {"id": f"b_{name}", "custom_id": name, "response": {"status_code": 200, "body": made(name)[1]}, "error": None}
        for name in reversed(names)
    ]
    return lines(*asked), lines(*told)


def anthropic(names: Sequence[str], *, whole: bool) -> tuple[bytes, bytes]:
    asked = [{"custom_id": name, "params": messages(name)[0]} for name in names]
    told = [{"custom_id": name, "result": {"type": "succeeded", "message": messages(name)[1]}} for name in names[::-1]]
    return json.dumps({"requests": asked}).encode() if whole else lines(*asked), lines(*told)


NAMES = ("one", "two")
BATCHES = {
    "chat": openai(chat, "/v1/chat/completions", NAMES),
    "responses": openai(responses, "/v1/responses", NAMES),
    "messages": anthropic(NAMES, whole=False),
    "messages, one body": anthropic(NAMES, whole=True),
}


def audited(tmp_path: Path, *files: bytes) -> Audit:
    paths = [tmp_path / f"{number}.jsonl" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    found = audit(list(map(str, paths)))
    assert (found.crashed, found.problems) == ([], [])
    return found


@pytest.mark.parametrize("batch", BATCHES)
def test_what_came_of_a_batch_is_judged_by_what_was_asked(tmp_path: Path, batch: str) -> None:
    found = audited(tmp_path, *BATCHES[batch])
    assert found.frames["sessions"].height == 2
    calls = found.frames["calls"].select("call", "call_id").join(found.frames["verdicts"], on="call")
    assert sorted(calls.select("call_id", "verdict_is").rows()) == [("call_one", "valid"), ("call_two", "invalid")]
    assert found.findings.filter(pl.col("severity") == "error")["rule"].to_list() == ["ARG001"]


@pytest.mark.parametrize("batch", BATCHES)
def test_each_line_of_an_output_alone_is_a_session(tmp_path: Path, batch: str) -> None:
    found = audited(tmp_path, BATCHES[batch][1])
    assert found.frames["sessions"].height == 2
    assert found.findings.filter(pl.col("severity") == "error").is_empty()


def test_a_name_that_several_batches_use_joins_nothing(tmp_path: Path) -> None:
    asked, told = openai(chat, "/v1/chat/completions", ["one"])
    found = audited(tmp_path, asked, asked.replace(b"bed one", b"another"), told)
    assert found.frames["sessions"].height == 3
    assert found.frames["verdicts"]["reason"].to_list() == ["schema_unavailable"]


def test_what_failed_is_an_error_of_its_own_request(tmp_path: Path) -> None:
    asked, _ = anthropic(NAMES, whole=False)
    failed = {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}}
    results = [{"custom_id": "one", "result": failed}, {"custom_id": "two", "result": {"type": "expired"}}]
    found = audited(tmp_path, asked, lines(*results))
    errors = found.frames["sessions"].select("session", "events")
    assert errors["events"].to_list() == [3, 3]
    assert found.findings.filter(rule="LOG003").is_empty()
    asked, told = openai(chat, "/v1/chat/completions", NAMES)
    lost = {"id": "b", "custom_id": "two", "response": None, "error": {"code": "batch_expired", "message": "late"}}
    found = audited(tmp_path, asked, told.splitlines(keepends=True)[1] + lines(lost))
    assert found.frames["sessions"]["events"].to_list() == [3, 3]
