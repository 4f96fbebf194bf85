"""A record that has to be read with more care costs no other one its rows."""

from __future__ import annotations

import json
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.read import limits
from tests.wires.every import WIRES
from tests.wires.script import planted

#: Members of other types than their wire says, deep enough for the fast decoders to be far into the record.
ODD: dict[str, Any] = {
    "chat": {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"message": {"tool_calls": [{"id": 5, "function": 7}]}}],
    },
    "chat request": {"model": "m", "messages": [{"role": 5, "content": {"a": 1}}], "tools": 7},
    "messages": {"type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": 5, "input": 7}]},
    "message_start": {"type": "message_start", "message": {"id": 5, "content": 7}},
    "mcp": {"jsonrpc": "2.0", "id": {"a": 1}, "method": 5, "params": []},
    "mcp call": {"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": 5},
    "codex": {"type": "response_item", "timestamp": 5, "payload": {"type": "function_call", "name": 5}},
    "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"name": 5, "args": 7}}]}}]},
    "agents api": {"type": "agent.session.turn.item.done", "session_id": 5, "item": {"type": "function_call", "id": 5}},
    "responses": {"object": "response", "id": 5, "output": [{"type": "function_call", "call_id": 5, "arguments": 5}]},
    "claude code": {"type": "assistant", "uuid": 5, "sessionId": "s", "message": {"role": "assistant", "content": 5}},
}


def _told(file: Path, lines: list[str]) -> Counter[tuple[Any, ...]]:
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    made = audit([str(file)])
    told = Counter(made.findings.drop_nulls("call_id").select("call_id", "slug").iter_rows())
    for name in ("calls", "results"):
        told.update(("of " + name, *row) for row in made.frames[name].select("call_id", "text").iter_rows())
    told.update(made.frames["faults"].select("fault", "detail").iter_rows())
    return told


@pytest.mark.parametrize("wire", [name for name in WIRES if len(list(WIRES[name](planted("missing").session))) > 2])
def test_an_odd_record_takes_nothing_of_those_behind_it(wire: str, tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in WIRES[wire](planted("missing").session)]
    alone = _told(tmp_path / "log.jsonl", lines)
    odd = [json.dumps(record) for record in ODD.values()]
    assert {*alone} <= {*_told(tmp_path / "log.jsonl", [*odd, *lines])}
    if wire != "anthropic-messages streamed":  # whose pieces say nothing of which message they are
        between = [each for pair in zip_longest(lines[1:], odd) for each in pair if each is not None]
        assert {*alone} <= {*_told(tmp_path / "log.jsonl", [lines[0], *between])}


@pytest.mark.parametrize("wire", ["openai-chat", "mcp-jsonrpc"])
def test_a_record_that_is_too_large_is_told_whatever_stands_before_it(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 50_000)
    records = [json.dumps(record) for record in WIRES[wire](planted("missing").session)]
    events = [*records[:1], *map(json.dumps, ODD.values()), json.dumps({"x": "y" * 60_000}), *records[1:]]
    told = _told(tmp_path / "log.sse", [f"data: {each}\n" for each in events])
    assert [fault for fault, *_ in told if fault == "too_large"] == ["too_large"]
