"""Codex app-server: threads with tools of the program's own, items, approvals; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import Audit, audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

NAME = "codex-app-server"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
WHERE = {"threadId": "t1", "turnId": "u1"}
Message = dict[str, Any]


def ask(number: int, method: str, **params: Any) -> Message:
    return {"id": number, "method": method, "params": params}


def tell(method: str, **params: Any) -> Message:
    return {"method": method, "params": params}


def answer(number: int, **result: Any) -> Message:
    return {"id": number, "result": result}


def item(when: str, kind: str, name: str, **more: Any) -> Message:
    return tell(f"item/{when}", **WHERE, item={"type": kind, "id": name, **more})


def dynamic(at: Any, *, success: bool = True, text: str = "seen") -> list[Message]:
    """A call of a tool of the program's own, asked for and answered."""
    own = {"tool": "look", "arguments": {"at": at}}
    given = {"contentItems": [{"type": "inputText", "text": text}], "success": success}
    return [
        item("started", "dynamicToolCall", "c1", status="inProgress", **own),
        ask(0, "item/tool/call", **WHERE, callId="c1", **own),
        answer(0, **given),
        item("completed", "dynamicToolCall", "c1", status="completed" if success else "failed", **own, **given),
    ]


BEGIN = [
    ask(0, "thread/start", model="m", dynamicTools=[{"name": "look", "description": "", "inputSchema": SCHEMA}]),
    answer(0, thread={"id": "t1"}, model="m"),
    tell("turn/started", threadId="t1", turn={"id": "u1", "status": "inProgress"}),
]


def audited(tmp_path: Path, *messages: Message) -> Audit:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(*messages))
    found = audit([str(path)])
    assert (found.crashed, found.problems) == ([], [])
    assert [each["format"] for each in found.inputs] == [NAME]
    return found


def errors(found: Audit) -> set[str]:
    return set(found.findings.filter(pl.col("severity") == "error")["rule"])


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize("rpc", [False, True], ids=["without jsonrpc", "with jsonrpc"])
def test_a_tool_of_the_program_is_judged_by_what_it_declared(tmp_path: Path, *, rpc: bool) -> None:
    messages = [{"jsonrpc": "2.0", **each} if rpc else each for each in [*BEGIN, *dynamic(7)]]
    found = audited(tmp_path, *messages)
    assert found.frames["calls"].select("session", "turn", "call_id", "tool", "outcome", "sightings").rows() == [
        ("t1", "u1", "c1", "function::look", "ok", 3)
    ]
    assert found.frames["results"].select("text", "call").rows() == [("seen", 0)]
    assert errors(found) == {"ARG001", "RUN001"}
    assert found.frames["sessions"].select("from_start", "model").row(0) == (True, "m")


def test_answers_go_to_who_asked_though_both_count_from_0(tmp_path: Path) -> None:
    late = [*BEGIN[:1], *BEGIN[2:], *dynamic("door")[:2], answer(0, thread={"id": "t1"}), *dynamic("door")[2:]]
    found = audited(tmp_path, *late)
    assert found.frames["calls"].select("session", "outcome").rows() == [("t1", "ok")]


def test_altered_arguments_are_told(tmp_path: Path) -> None:
    started, asked, given, done = dynamic("door")
    asked["params"]["arguments"] = {"at": "window"}
    assert "ARG007" in errors(audited(tmp_path, *BEGIN, started, asked, given, done))


def test_a_tool_that_is_asked_for_and_not_answered_is_owed(tmp_path: Path) -> None:
    done = tell("turn/completed", threadId="t1", turn={"id": "u1", "status": "completed"})
    said = item("completed", "agentMessage", "i1", text="It is shut.")
    found = audited(tmp_path, *BEGIN, *dynamic("door")[:2], said, done)
    assert "CALL004" in errors(found)


def test_what_is_no_success_is_none(tmp_path: Path) -> None:
    found = audited(tmp_path, *BEGIN, *dynamic("door", success=False, text="no door"))
    assert found.frames["results"].select("success", "text").rows() == [(False, "no door")]
    refused = [*dynamic("door")[:2], {"id": 0, "error": {"code": -32601, "message": "unknown tool"}}]
    found = audited(tmp_path, *BEGIN, *refused)
    assert found.frames["results"]["success"].to_list() == [False]
    failed = {"status": "failed", "server": "s", "tool": "look", "arguments": {}, "error": {"message": "shut"}}
    found = audited(tmp_path, *BEGIN, item("completed", "mcpToolCall", "m1", **failed))
    assert found.frames["results"].select("success", "error").rows() == [(False, "shut")]


@pytest.mark.parametrize(
    ("decision", "told"), [("accept", "approve"), ("acceptForSession", "approve"), ("decline", "deny")]
)
def test_an_approval_is_asked_for_and_given(decision: str, told: str) -> None:
    asked = ask(4, "item/commandExecution/requestApproval", **WHERE, itemId="c1", command="ls")
    _, frames = recorded(lines(*BEGIN, asked, answer(4, decision=decision)))
    assert frames["approvals"].select("request_id", "stage", "decision").rows() == [
        ("c1", "request", None),
        ("c1", "decision", told),
    ]


def test_what_the_only_thread_declared_is_its_own_though_its_start_is_not_answered(tmp_path: Path) -> None:
    found = audited(tmp_path, *BEGIN[:1], *BEGIN[2:], *dynamic(7))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


def test_messages_of_the_protocol_beside_it_are_not_taken(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    gave = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}]}}
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(call, gave))
    assert audit([str(path)]).inputs[0]["format"] == "mcp-jsonrpc"
