"""What a host says of arguments that it refused is a finding where no schema is known, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit

MISSING = (
    "InputValidationError: Edit failed due to the following issue:\nThe required parameter `new_string` is missing"
)


def claude_code(text: str, *, failed: bool = True) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/a"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": failed, "content": text}
    common = {"sessionId": "s", "timestamp": "2026-03-04T10:00:00Z"}
    return [
        {"type": "assistant", "uuid": "a", **common, "message": {"id": "m", "role": "assistant", "content": [use]}},
        {
            "type": "user",
            "uuid": "b",
            "parentUuid": "a",
            **common,
            "message": {"role": "user", "content": [result]},
        },
    ]


def codex(text: str) -> list[dict[str, Any]]:
    items = [
        {"type": "function_call", "name": "shell", "arguments": '{"cmd":"ls"}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": text},
    ]
    meta = {"id": "s", "timestamp": "2026-03-04T10:00:00Z", "cwd": "/", "originator": "o", "cli_version": "1"}
    return [
        {"timestamp": "2026-03-04T10:00:00Z", "type": "session_meta", "payload": meta},
        *({"timestamp": "2026-03-04T10:00:01Z", "type": "response_item", "payload": item} for item in items),
    ]


def mcp(text: str) -> list[dict[str, Any]]:
    params = {"name": "find", "arguments": {"people": "x"}}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": text}},
    ]


def refused(folder: Path, rows: list[dict[str, Any]], **options: Any) -> list[tuple[str, str, str]]:
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made = audit([str(log)], **options)
    assert made.crashed == []
    found = made.findings
    found = found.filter(found["rule"] == "ARG001")
    return list(found.select("severity", "confidence", "message").iter_rows())


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (claude_code(f"<tool_use_error>{MISSING}</tool_use_error>"), "`new_string` is missing"),
        (codex("failed to parse function arguments: missing field `command` at line 1"), "missing field `command`"),
        (mcp("Invalid arguments for tool find: people: Expected number, received string"), "Expected number"),
    ],
)
def test_the_refusal_of_a_host_is_a_finding(rows: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    ((severity, confidence, message),) = refused(tmp_path, rows)
    assert (severity, confidence) == ("error", "likely")
    assert says in message
    assert "tool_use_error" not in message


@pytest.mark.parametrize(
    "rows",
    [
        claude_code("<tool_use_error>File has not been read yet.</tool_use_error>"),
        claude_code(f"a log of another session: {MISSING}", failed=False),
        claude_code(f"{'x' * 300} {MISSING}"),
        codex("ls: cannot access 'b': No such file"),
        mcp("Tool find not found"),
    ],
)
def test_other_failures_are_none(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    assert refused(tmp_path, rows) == []


def test_where_the_schema_is_known_it_decides(tmp_path: Path) -> None:
    file = tmp_path / "contracts.json"
    schema = {"type": "object", "properties": {}, "required": ["new_string"]}
    file.write_text(json.dumps([{"name": "Edit", "input_schema": schema}]), encoding="utf-8")
    ((_, confidence, message),) = refused(tmp_path, claude_code(MISSING), contracts=[str(file)])
    assert confidence == "certain"
    assert "/new_string is missing" in message


def unknown(folder: Path, rows: list[dict[str, Any]], **options: Any) -> list[tuple[str, str]]:
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made = audit([str(log)], **options)
    assert made.crashed == []
    return made.findings.filter(made.findings["rule"] == "ARG002").select("confidence", "message").rows()


def test_a_tool_that_the_host_does_not_know(tmp_path: Path) -> None:
    [(confidence, message)] = unknown(tmp_path, codex("unsupported call: shell"))
    assert confidence == "likely"
    assert message == 'The tool shell is not known where it was to run: "unsupported call: shell".'
    for rows in (
        codex("unsupported custom tool call: shell"),
        claude_code("<tool_use_error>Error: No such tool available: Edit</tool_use_error>"),
        mcp("Unknown tool: find"),
        mcp("Tool find not found"),
    ):
        assert len(unknown(tmp_path, rows)) == 1, rows


def test_words_about_another_thing_do_not_make_a_tool_unknown(tmp_path: Path) -> None:
    for rows in (
        codex("unsupported call: exec"),
        codex("Process exited with code 0\nOutput:\nshell is a tool"),
        claude_code("No such tool available: Edit", failed=False),
        claude_code("The file was not found"),
        mcp("Invalid arguments for tool find: people must be a number"),
        mcp("no such order"),
    ):
        assert unknown(tmp_path, rows) == [], rows


@pytest.mark.parametrize("envelope", [None, "msg", "message"])
@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        ({"id": 1}, ["CALL016"]),
        ({"id": 1, "result": None, "error": None}, ["CALL016"]),
        ({"id": 1, "result": "x"}, ["LOG010"]),
        ({"id": 1, "result": {}}, []),
        ({"id": 1, "error": {"code": -1, "message": "no"}}, []),
        ({"id": 1, "jsonrpc": "1.0", "result": {}}, ["CALL016"]),
    ],
)
def test_a_response_of_neither_result_nor_error_is_no_success(
    tmp_path: Path, answer: dict[str, Any], rules: list[str], envelope: str | None
) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f", "arguments": {}}}
    rows = [call, {"jsonrpc": "2.0", **answer}]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({envelope: row} if envelope else row) + "\n" for row in rows), encoding="utf-8")
    made = audit([str(log)], select=["CALL", "LOG010"])
    assert made.findings["rule"].to_list() == rules
    if answer == {"id": 1}:
        assert made.frames["calls"]["outcome"].to_list() == ["unknown"]


def test_a_tool_that_its_host_does_not_know_is_told_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = codex("unsupported call: shell")
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert audit([str(log)], select=["ARG002", "LOG008"]).findings["rule"].to_list() == ["ARG002"]
    rows = codex("a.txt")
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert audit([str(log)], select=["ARG002", "LOG008"]).findings["rule"].to_list() == ["LOG008"]
