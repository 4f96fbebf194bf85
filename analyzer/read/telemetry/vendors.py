"""What single tracers write under names of their own, by the attribute of the conventions that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.read.telemetry.events import attributes_of, message_in, opened, role_of

_SENT = "gen_ai.input.messages"
_SAID = "gen_ai.output.messages"
_TABLE = "gen_ai.tool.definitions"
_SYSTEM = "gen_ai.system_instructions"

Named = tuple[str, Any, str]
"""An attribute of the conventions, its value, and the pointer or the attribute where that stands."""


def spelled(values: dict[str, Any], events: Any) -> Iterator[Named]:
    """What a span says in other names."""
    listed = opened(values.get("events"))
    if isinstance(listed, list):
        yield from _listed([each for each in listed if isinstance(each, dict)])
    if "logfire.msg" in values:
        yield from _logfire(values)
    if values.get("gen_ai.operation.name") == "execute_tool" and isinstance(events, list):
        yield from _ran(events)


def _listed(events: list[dict[str, Any]]) -> Iterator[Named]:
    """Events in one attribute, sent and said in one list: what is said is a choice, else what the list ends with."""
    sent, said, latest = list[Any](), list[Any](), list[Any]()
    for event in events:
        role = role_of(event.get("event.name"))
        if role is None:
            continue
        message = message_in(event, role)
        if event["event.name"] == "gen_ai.choice":
            said.append(message)
        elif role == "assistant":
            latest.append(message)
        else:
            sent += [*latest, message]
            latest = []
    if said:
        sent, latest = sent + latest, said
    if sent:
        yield _SENT, sent, "events"
    if latest:
        yield _SAID, latest, "events"


def _logfire(values: dict[str, Any]) -> Iterator[Named]:
    """Requests and responses as the client has them, and the spans of the Agents SDK."""
    request, response = opened(values.get("request_data")), opened(values.get("response_data"))
    if "model_config" in values:  # what the Agents SDK calls a generation; its request holds the reply, too
        yield _SENT, opened(values.get("input")), "input"
        yield _SAID, opened(values.get("output")), "output"
    elif isinstance(request, dict):
        for name, member in ((_SENT, "messages"), (_TABLE, "tools"), (_SYSTEM, "system")):
            if request.get(member):
                yield name, request[member], "request_data"
    if isinstance(response, dict) and isinstance(response.get("message"), dict):
        message = response["message"]
        if values.get("gen_ai.system") == "anthropic":
            message = {**message, "tool_calls": list(_unwrapped(message.get("tool_calls")))}
        yield _SAID, [message], "response_data"
    whole = opened(values.get("response"))
    if isinstance(whole, dict):
        for name, member in ((_TABLE, "tools"), (_SYSTEM, "instructions"), (_SENT, "input"), (_SAID, "output")):
            if whole.get(member):
                yield name, whole[member], "response"
    if "mcp_data" in values and isinstance(values.get("name"), str):
        yield "gen_ai.operation.name", "execute_tool", "name"
        yield "gen_ai.tool.name", values["name"], "name"
        yield "gen_ai.tool.call.arguments", values.get("input"), "input"
        yield "gen_ai.tool.call.result", values.get("output"), "output"
        failure = opened(values.get("error"))
        if isinstance(failure, dict):
            yield "error.type", str(failure.get("message") or "error"), "error"


def _unwrapped(calls: Any) -> Iterator[Any]:
    """Calls of Messages, whose arguments Logfire writes as `{"input": ...}`."""
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            inner = opened(function.get("arguments"))
            if isinstance(inner, dict) and inner.keys() == {"input"}:
                function = {**function, "arguments": inner["input"]}
            yield {**call, "function": function}


def _ran(events: list[Any]) -> Iterator[Named]:
    """What a tool was given and gave, where that stands in the events of its span."""
    for index, event in enumerate(events):
        named = event.get("name") if isinstance(event, dict) else None
        if named not in ("gen_ai.tool.message", "gen_ai.choice"):
            continue
        found = attributes_of(event.get("attributes"))
        name, member = ("arguments", "content") if named == "gen_ai.tool.message" else ("result", "message")
        if found.get(member) is not None:
            yield f"gen_ai.tool.call.{name}", found[member], f"/events/{index}/attributes"
