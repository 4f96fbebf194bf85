"""A short Agents API session around one call, so that any schema, arguments and output can be put into it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def session(
    parameters: Any,
    arguments: str,
    *,
    output: str | None = "{}",
    name: str = "f",
    session_id: str = "s",
    tools: Sequence[Any] = (),
    more: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Events as lines; `arguments` and `output` are texts as the wire has them, `more` further calls."""
    advertised = [{"type": "function", "name": name, "description": "d", "parameters": parameters}, *tools]
    agent = {"id": "a", "name": "a", "model": "m", "tools": advertised}
    whole = {"id": session_id, "object": "agent.session", "status": "idle", "required_actions": [], "agent": agent}
    near = {"session_id": session_id, "turn_id": "t"}
    events: list[dict[str, Any]] = [
        {"type": "agent.session.created", "event_id": "1", "session": whole},
        {"type": "agent.session.turn.created", "event_id": "2", **near, "turn": {"id": "t", "status": "queued"}},
    ]
    calls = [("c", arguments), *more]
    for number, (call_id, text) in enumerate(calls):
        item = {"type": "function_call", "id": f"i{number}", "call_id": call_id, "name": name, "arguments": text}
        item |= {"turn_id": "t", "status": "completed"}
        events.append({"type": "agent.session.turn.item.added", "event_id": f"3.{number}", **near, "item": item})
    if output is not None:
        item = {"type": "function_call_output", "id": "o", "call_id": "c", "output": output, "turn_id": "t"}
        item |= {"status": "completed"}
        events.append({"type": "agent.session.turn.item.added", "event_id": "4", **near, "item": item})
    return lines(events)


def lines(events: Sequence[Any]) -> bytes:
    """One JSON text a line."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)
