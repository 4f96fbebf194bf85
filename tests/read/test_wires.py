"""One call on two wires of one file: the model's words against what a server was asked to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.read.adapters import lines, recorded
from tests.read.truths import audited, errors

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "cents": {"type": "integer"}}}
ARGUMENTS = {"to": "a-7", "cents": 100}


def asked(*messages: Any, tool: str = "mcp__bank__pay") -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": tool, "parameters": SCHEMA}}]
    return {"model": "m", "messages": [{"role": "user", "content": "pay"}, *messages], "tools": tools}


def said(*calls: tuple[str, dict[str, Any]], tool: str = "mcp__bank__pay") -> dict[str, Any]:
    made = [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        for name, given in calls
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": choices}


def rpc(number: int, **message: Any) -> dict[str, Any]:
    return {"server": "bank", "msg": {"jsonrpc": "2.0", "id": number, **message}}


def ran(number: int, given: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        rpc(number, method="tools/call", params={"name": "pay", "arguments": given}),
        rpc(number, result={"content": [{"type": "text", "text": "moved"}]}),
    ]


def back(*names: str) -> list[dict[str, Any]]:
    message = said(*[(name, ARGUMENTS) for name in names])["choices"][0]["message"]
    return [message, *({"role": "tool", "tool_call_id": name, "content": "moved"} for name in names)]


LISTED = [
    rpc(0, method="tools/list", params={}),
    rpc(0, result={"tools": [{"name": "pay", "inputSchema": SCHEMA}]}),
]


@pytest.mark.parametrize("tool", ["mcp__bank__pay", "pay", "bank__pay"])
def test_arguments_that_change_on_the_way_to_the_server_are_found(tmp_path: Path, tool: str) -> None:
    other = {**ARGUMENTS, "cents": 10_000}
    log = [*LISTED, asked(tool=tool), said(("c1", ARGUMENTS), tool=tool), *ran(1, other)]
    found = audited(tmp_path, *log)
    altered = found.findings.filter(pl.col("slug") == "args-altered")
    assert altered["call_id"].to_list() == ["c1"]
    assert "10000" in altered["message"][0]


def test_what_ran_as_it_was_asked_is_no_finding_and_no_second_call(tmp_path: Path) -> None:
    log = [*LISTED, asked(), said(("c1", ARGUMENTS)), *ran(1, {"cents": 100, "to": "a-7"}), asked(*back("c1"))]
    found = audited(tmp_path, *log)
    assert errors(found) == set()
    assert found.frames["calls"].group_by("wire").len().sort("wire").rows() == [("mcp-jsonrpc", 1), ("openai-chat", 1)]
    _, frames = recorded(lines(*log))
    shown = frames["call_sightings"].filter(pl.col("call_id") == "c1")
    assert set(shown["stage"]) == {"item", "executor", "history"}


def test_of_several_calls_the_one_with_the_same_arguments_ran(tmp_path: Path) -> None:
    second = {**ARGUMENTS, "cents": 7}
    log = [*LISTED, asked(), said(("c1", ARGUMENTS), ("c2", second)), *ran(1, second), *ran(2, ARGUMENTS)]
    assert "args-altered" not in set(audited(tmp_path, *log).findings["slug"])


def test_where_two_calls_could_be_meant_none_is_said_to_differ(tmp_path: Path) -> None:
    log = [*LISTED, asked(), said(("c1", ARGUMENTS), ("c2", {**ARGUMENTS, "cents": 7})), *ran(1, {"cents": 8})]
    assert "args-altered" not in set(audited(tmp_path, *log).findings["slug"])


def test_what_was_answered_before_is_not_what_ran() -> None:
    log = [asked(), said(("c1", ARGUMENTS)), asked(*back("c1")), *ran(1, {"cents": 8})]
    _, frames = recorded(lines(*log))
    assert "executor" not in frames["call_sightings"]["stage"].to_list()


def test_a_server_alone_runs_no_calls_of_a_model() -> None:
    _, frames = recorded(lines(*LISTED, *ran(1, ARGUMENTS)))
    assert "executor" not in frames["call_sightings"]["stage"].to_list()
    assert frames["events"]["event"].is_unique().all()


def claude(*messages: Any) -> dict[str, Any]:
    tools = [{"name": "pay", "input_schema": SCHEMA}]
    talk = [{"role": "user", "content": "pay"}, *messages]
    return {"model": "m", "max_tokens": 9, "tools": tools, "messages": talk}


@pytest.mark.parametrize("told", [True, False])
def test_a_failure_that_the_model_is_told_as_a_success_is_found(tmp_path: Path, told: bool) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "pay", "input": ARGUMENTS}
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "content": [use], "stop_reason": "tool_use"}
    flag = {"is_error": True} if told else {}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "no such account", **flag}
    failed = rpc(1, result={"isError": True, "content": [{"type": "text", "text": "no such account"}]})
    after = claude({"role": "assistant", "content": [use]}, {"role": "user", "content": [result]})
    log = [*LISTED, claude(), reply, ran(1, ARGUMENTS)[0], failed, after]
    found = audited(tmp_path, *log)
    assert errors(found) == (set() if told else {"error-as-success"})
    assert found.frames["results"].group_by("wire").len().sort("wire").rows() == [
        ("anthropic-messages", 1),
        ("mcp-jsonrpc", 1),
    ]
