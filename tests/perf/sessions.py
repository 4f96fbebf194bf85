"""A session as long as agents have them, in the six most recorded wires: python -m tests.perf.sessions FOLDER.

The samples beside the traces are small, to be read by people: records of 300 to 900 bytes, no history to speak of. Here
one agent takes 24 steps with twelve tools: a sentence or two, a call, a result of a file, a page or some rows (a median
of 1.2 KB, some of 20 KB), reasoning that only its digest shows. Wires that send the whole history with every request do
so. Written with a fixed seed: the same bytes each time.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

_WORDS = (
    *("bed", "row", "seed", "soil", "frost", "valve", "pump", "light", "shade", "root", "stem", "leaf", "moisture"),
    *("litres", "percent", "sensor", "north", "gate", "order", "tray", "label", "stock", "price", "crate", "route"),
    *("depot", "dry", "wet", "early", "late", "the", "of", "and", "in", "at", "for", "with", "is", "was", "has"),
)
_STEPS = 24
_TOOLS = 12

Json = dict[str, Any]


class Step(NamedTuple):
    """What the model says and calls, and what comes back."""

    said: str
    thought: str  # encrypted reasoning, as it is recorded
    call: int
    tool: str
    arguments: Json
    output: str


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def tools(chance: random.Random) -> list[tuple[str, str, Json]]:
    """Twelve tools: name, description, schema of the arguments."""
    found = []
    for number in range(_TOOLS):
        members = {
            name: {"type": "string", "description": _text(chance, 9)}
            for name in ("bed", "query", "unit", "note")[: 2 + number % 3]
        }
        schema = {
            "type": "object",
            "properties": {**members, "limit": {"type": "integer", "minimum": 1, "maximum": 500}},
            "required": ["bed"],
            "additionalProperties": False,
        }
        found.append((f"{chance.choice(('find', 'read', 'list'))}_{_WORDS[number]}", _text(chance, 35), schema))
    return found


def steps(chance: random.Random, names: list[str]) -> list[Step]:
    """What happens in the session."""
    found = []
    for number in range(_STEPS):
        rows = [
            {"bed": f"bed-{chance.randrange(400)}", "reading": round(chance.random() * 40, 2), "note": _text(chance, 6)}
            for _ in range(max(1, min(230, int(chance.lognormvariate(2.6, 0.9)))))
        ]
        found.append(
            Step(
                _text(chance, chance.randrange(4, 40)),
                "".join(chance.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=600)),
                chance.randrange(10**12),
                chance.choice(names),
                {"bed": f"bed-{number}", "query": _text(chance, 6), "limit": 20},
                json.dumps(rows, separators=(",", ":")),
            )
        )
    return found


def _when(second: int) -> str:
    return f"2026-11-{1 + second // 86400:02}T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.250Z"


def responses(table: list[tuple[str, str, Json]], story: list[Step], system: str) -> Iterator[Json]:
    """Exchanges with the whole input each time, as hosts without stored responses send it."""
    offered = [{"type": "function", "name": n, "description": d, "parameters": s} for n, d, s in table]
    history: list[Json] = [{"role": "user", "content": [{"type": "input_text", "text": system[:200]}]}]
    for number, step in enumerate(story):
        out: list[Json] = [
            {"type": "reasoning", "id": f"rs_{step.call}", "summary": [], "encrypted_content": step.thought},
            {
                "type": "function_call",
                "id": f"fc_{step.call}",
                "call_id": f"call_{step.call}",
                "name": step.tool,
                "arguments": json.dumps(step.arguments),
                "status": "completed",
            },
        ]
        body = {"model": "gpt-5.4", "instructions": system, "input": history, "tools": offered, "store": False}
        answer = {
            "id": f"resp_{step.call}",
            "object": "response",
            "created_at": 1796000000 + number,
            "model": "gpt-5.4",
            "status": "completed",
            "error": None,
            "output": out,
            "parallel_tool_calls": True,
            "usage": {"input_tokens": 9000, "output_tokens": 90, "total_tokens": 9090},
        }
        yield {"recorded_at": _when(number), "request": body, "response": answer}
        history = [
            *history,
            *out,
            {"type": "function_call_output", "call_id": f"call_{step.call}", "output": step.output},
        ]


def chat(table: list[tuple[str, str, Json]], story: list[Step], system: str) -> Iterator[Json]:
    """Exchanges with the whole conversation each time."""
    offered = [{"type": "function", "function": {"name": n, "description": d, "parameters": s}} for n, d, s in table]
    history: list[Json] = [{"role": "system", "content": system}, {"role": "user", "content": system[:200]}]
    for number, step in enumerate(story):
        called = {
            "id": f"call_{step.call}",
            "type": "function",
            "function": {"name": step.tool, "arguments": json.dumps(step.arguments)},
        }
        said = {"role": "assistant", "content": step.said, "tool_calls": [called]}
        answer = {
            "id": f"chatcmpl-{step.call}",
            "object": "chat.completion",
            "created": 1796000000 + number,
            "model": "gpt-5.4",
            "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 9000, "completion_tokens": 90, "total_tokens": 9090},
        }
        yield {
            "recorded_at": _when(number),
            "request": {"model": "gpt-5.4", "messages": history, "tools": offered},
            "response": answer,
        }
        history = [*history, said, {"role": "tool", "tool_call_id": f"call_{step.call}", "content": step.output}]


def anthropic(table: list[tuple[str, str, Json]], story: list[Step], system: str) -> Iterator[Json]:
    """Exchanges with the whole conversation each time."""
    offered = [{"name": n, "description": d, "input_schema": s} for n, d, s in table]
    history: list[Json] = [{"role": "user", "content": system[:200]}]
    for number, step in enumerate(story):
        use = {"type": "tool_use", "id": f"toolu_{step.call}", "name": step.tool, "input": step.arguments}
        said: Json = {"role": "assistant", "content": [{"type": "text", "text": step.said}, use]}
        answer = {
            "id": f"msg_{step.call}",
            "type": "message",
            "model": "claude-opus-4-8",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 9000, "output_tokens": 90},
            **said,
        }
        body = {"model": "claude-opus-4-8", "max_tokens": 8192, "system": system, "messages": history, "tools": offered}
        yield {"recorded_at": _when(number), "request": body, "response": answer}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{step.call}", "content": step.output}
        history = [*history, said, {"role": "user", "content": [result]}]


def claude_code(table: list[tuple[str, str, Json]], story: list[Step], system: str) -> Iterator[Json]:
    """A project file: one line for each block of a message, results beside what the host made of them."""
    del table
    before = None
    line = 0

    def written(kind: str, second: int, **rest: Any) -> Json:
        nonlocal before, line
        line += 1
        record = {
            "parentUuid": before,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/atlas",
            "sessionId": "7b1f0a52-1111-4000-8000-00000000c0de",
            "version": "2.1.144",
            "gitBranch": "main",
            "type": kind,
            "uuid": f"7b1f0a52-2222-4000-8000-{line:012}",
            "timestamp": _when(second),
            **rest,
        }
        before = record["uuid"]
        return record

    yield written("user", 0, message={"role": "user", "content": system[:200]})
    for number, step in enumerate(story, 1):
        for block in (
            {"type": "thinking", "thinking": "", "signature": step.thought},
            {"type": "text", "text": step.said},
            {"type": "tool_use", "id": f"toolu_{step.call}", "name": step.tool, "input": step.arguments},
        ):
            message = {
                "id": f"msg_{step.call}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-8",
                "content": [block],
                "stop_reason": None,
                "usage": {"input_tokens": 3, "cache_read_input_tokens": 9000, "output_tokens": 90},
            }
            yield written("assistant", number, message=message, requestId=f"req_{step.call}")
        result = {"type": "tool_result", "tool_use_id": f"toolu_{step.call}", "content": step.output}
        yield written(
            "user",
            number,
            message={"role": "user", "content": [result]},
            toolUseResult={"type": "text", "file": {"filePath": "/srv/atlas/beds.json", "content": step.output}},
        )


def codex(table: list[tuple[str, str, Json]], story: list[Step], system: str) -> Iterator[Json]:
    """A rollout: items, and the events of the host between them."""
    turn = "0199f00d-3333-7000-8000-00000000c0de"
    thread = "0199f00d-1111-7000-8000-00000000c0de"
    line = 0

    def written(kind: str, second: int, payload: Json) -> Json:
        nonlocal line
        line += 1
        return {"timestamp": _when(second), "ordinal": line - 1, "type": kind, "payload": payload}

    offered = [{"type": "function", "name": n, "description": d, "inputSchema": s} for n, d, s in table]
    yield written(
        "session_meta",
        0,
        {
            "session_id": thread,
            "id": thread,
            "timestamp": _when(0),
            "cwd": "/srv/garden",
            "originator": "garden_app",
            "cli_version": "0.171.0",
            "source": "vscode",
            "model_provider": "example",
            "base_instructions": {"text": system},
            "dynamic_tools": offered,
        },
    )
    yield written("event_msg", 0, {"type": "task_started", "turn_id": turn, "root_turn_id": turn})
    yield written("turn_context", 0, {"turn_id": turn, "cwd": "/srv/garden", "model": "gpt-5.4"})
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": system[:200]}]}
    yield written("response_item", 0, asked)
    passed = {"internal_chat_message_metadata_passthrough": {"turn_id": turn}}
    for number, step in enumerate(story, 1):
        reasoning = {"type": "reasoning", "id": f"rs_{step.call}", "summary": [], "encrypted_content": step.thought}
        call = {
            "type": "function_call",
            "id": f"fc_{step.call}",
            "name": step.tool,
            "arguments": json.dumps(step.arguments),
            "call_id": f"call_{step.call}",
            "status": "completed",
        }
        result = {"type": "function_call_output", "call_id": f"call_{step.call}", "output": step.output}
        yield written("response_item", number, {**reasoning, **passed})
        yield written("response_item", number, {**call, **passed})
        yield written("response_item", number, {**result, **passed})
        usage = {"input_tokens": 9000, "cached_input_tokens": 8000, "output_tokens": 90, "total_tokens": 9090}
        info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258400}
        yield written("event_msg", number, {"type": "token_count", "info": info, "rate_limits": None})


def mcp(table: list[tuple[str, str, Json]], story: list[Step], system: str) -> Iterator[Json]:
    """Messages of one connection over stdio, as recorders wrap them."""
    del system
    said = 0

    def written(direction: str, second: int, message: Json) -> Json:
        return {"ts": _when(second), "server": "garden", "dir": direction, "msg": {"jsonrpc": "2.0", **message}}

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "3"}}
    offers = {"capabilities": {"tools": {}}, "serverInfo": {"name": "garden", "version": "1"}}
    yield written("c2s", 0, {"id": said, "method": "initialize", "params": client})
    yield written("s2c", 0, {"id": said, "result": {"protocolVersion": "2025-06-18", **offers}})
    yield written("c2s", 0, {"method": "notifications/initialized"})
    said += 1
    yield written("c2s", 0, {"id": said, "method": "tools/list", "params": {}})
    offered = [{"name": n, "description": d, "inputSchema": s} for n, d, s in table]
    yield written("s2c", 0, {"id": said, "result": {"tools": offered}})
    for number, step in enumerate(story, 1):
        said += 1
        params = {"name": step.tool, "arguments": step.arguments, "_meta": {"progressToken": said}}
        yield written("c2s", number, {"id": said, "method": "tools/call", "params": params})
        content = [{"type": "text", "text": step.output}]
        yield written("s2c", number, {"id": said, "result": {"content": content, "isError": False}})


Wire = Callable[[list[tuple[str, str, Json]], list[Step], str], Iterator[Json]]
WIRES: dict[str, Wire] = {
    "openai-responses": responses,
    "openai-chat": chat,
    "anthropic-messages": anthropic,
    "claude-code-jsonl": claude_code,
    "codex-rollout": codex,
    "mcp-jsonrpc": mcp,
}


def session(wire: str) -> bytes:
    """The session in a wire, as lines."""
    chance = random.Random(7)
    table = tools(chance)
    story = steps(chance, [name for name, _, _ in table])
    records = WIRES[wire](table, story, _text(chance, 400))
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def main() -> None:
    """Write one file for each wire."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for wire in WIRES:
        (folder / f"{wire}.jsonl").write_bytes(session(wire))


if __name__ == "__main__":
    main()
