"""Events of an Agents API session as the wire carries them, made small."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from analyzer.auditing import Audit, audit

Event = dict[str, Any]
SESSION = "sess_a"
ARGUMENTS = {"id": "x"}
CLOSED = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False}


def function(name: str, parameters: Any = CLOSED, **members: Any) -> Event:
    return {"type": "function", "name": name, "description": name, "parameters": parameters, **members}


TOOLS = (function("get"),)


def session(*actions: Event, tools: Sequence[Event] = TOOLS, status: str = "in_progress", name: str = SESSION) -> Event:
    agent = {"id": "agent_a", "model": "m", "tools": list(tools)}
    return {
        "id": name,
        "object": "agent.session",
        "agent": agent,
        "status": status,
        "required_actions": list(actions),
    }


def snapshot(*actions: Event, word: str = "in_progress", **members: Any) -> Event:
    return {"type": f"agent.session.{word}", "session": session(*actions, **members)}


def asked(*actions: Event, **members: Any) -> Event:
    return snapshot(*actions, word="requires_action", status="requires_action", **members)


def turn(word: str = "created", name: str = "t1") -> Event:
    inner = {"id": name, "object": "agent.session.turn", "session_id": SESSION, "status": word, "subagent_id": None}
    return {"type": f"agent.session.turn.{word}", "turn": inner, "session_id": SESSION, "turn_id": name}


def action(call: str = "c1", name: str = "get", arguments: Any = ARGUMENTS, at: str = "t1") -> Event:
    return {"type": "function_call", "turn_id": at, "call_id": call, "name": name, "arguments": arguments}


def called(
    call: str = "c1", name: str = "get", arguments: Any = ARGUMENTS, *, item: str | None = None, at: str = "t1"
) -> Event:
    return {**action(call, name, arguments, at), "id": item or f"fc_{call}", "status": "in_progress"}


def answered(call: str = "c1", output: Any = "{}", *, item: str | None = None, at: str = "t1", **more: Any) -> Event:
    return {
        "type": "function_call_output",
        "id": item or f"out_{call}",
        "turn_id": at,
        "call_id": call,
        "status": "completed",
        "output": output,
        "error": None,
        **more,
    }


def remote(item: str = "m1", name: str = "wipe", arguments: Any = ARGUMENTS, status: str = "completed") -> Event:
    return {
        "type": "mcp_call",
        "id": item,
        "turn_id": "t1",
        "server_label": "docs",
        "name": name,
        "arguments": arguments,
        "output": "done" if status == "completed" else None,
        "error": None if status == "completed" else "not run",
        "status": status,
    }


def added(item: Event, *, index: int | None = 0, **more: Any) -> Event:
    return {
        "type": "agent.session.turn.item.added",
        "item": item,
        "output_index": index,
        "session_id": SESSION,
        "turn_id": item["turn_id"],
        **more,
    }


def done(item: Event) -> Event:
    status = "completed" if item.get("status") == "in_progress" else item.get("status")
    return {**added({**item, "status": status}), "type": "agent.session.turn.item.done"}


def post(call: str = "c1", output: Any = "{}", *, success: bool = True, at: str | None = "t1", **more: Any) -> Event:
    turn_id = {} if at is None else {"turn_id": at}
    return {
        "type": "agent.session.input.tool_result",
        **turn_id,
        "call_id": call,
        "success": success,
        "output": output,
        **more,
    }


def exchange(method: str, below: str, body: Any, answer: Any = None, status: int = 200) -> Event:
    http = {"method": method, "path": f"/v1/agents/sessions{below}", "headers": {}, "body": body}
    return {"http": http, "response": {"status": status, "body": answer}}


def begun(**members: Any) -> list[Event]:
    return [snapshot(word="created", **members), turn(), turn("in_progress")]


def ended(**members: Any) -> list[Event]:
    return [turn("completed"), snapshot(word="idle", status="idle", **members)]


def lines(events: Iterable[Event]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def stream(events: Iterable[Event]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def run(folder: Path, events: Iterable[Event] | bytes, name: str = "log.ndjson") -> Audit:
    """The audit of one log."""
    file = folder / name
    file.write_bytes(events if isinstance(events, bytes) else lines(events))
    return audit([str(file)])


def told(done_: Audit, *rules: str) -> list[str]:
    """The rules that spoke, in order; all but those about what is merely advertised, or those named."""
    found = done_.findings["rule"].to_list()
    return [rule for rule in found if (rule in rules if rules else not rule.startswith("TOOL"))]
