"""Events of spans that hold what the conventions otherwise keep in attributes: messages, or those attributes."""

from __future__ import annotations

from typing import Any

import msgspec

_MOST_DEPTH = 40
_HELD = (
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"),
    *("gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
)
_SENT = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_json = msgspec.json.Decoder().decode


def told(events: Any) -> dict[str, tuple[Any, str]]:
    """What the events of a span say, by the attribute that it would be, each with where it stands."""
    found: dict[str, tuple[Any, str]] = {}
    sent, said = list[Any](), list[Any]()
    for index, event in enumerate(events if isinstance(events, list) else ()):
        named = event.get("name") if isinstance(event, dict) else None
        if not isinstance(named, str) or not named.startswith("gen_ai."):
            continue
        to = f"/events/{index}/attributes"
        values = attributes_of(event.get("attributes"))
        found |= {name: (values[name], to) for name in _HELD if name in values and name not in found}
        if named in _SENT:
            sent.append((message_in(values, _SENT[named]), to))
        elif named == "gen_ai.choice":
            said.append((message_in(values, "assistant"), to))
    for name, listed in (("gen_ai.input.messages", sent), ("gen_ai.output.messages", said)):
        if listed and name not in found:
            found[name] = [message for message, _ in listed], listed[0][1] if len(listed) == 1 else "/events"
    return found


def attributes_of(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values, by name."""
    if isinstance(attributes, dict):
        return attributes
    pairs = [each for each in attributes if isinstance(each, dict)] if isinstance(attributes, list) else []
    return {str(each.get("key")): plain(each.get("value"), 0)[0] for each in pairs}


def role_of(named: Any) -> str | None:
    """Whose message an event of this name is; None where it is none."""
    return "assistant" if named == "gen_ai.choice" else _SENT.get(named) if isinstance(named, str) else None


def message_in(values: dict[str, Any], role: str) -> dict[str, Any]:
    """The message of an event: its members are attributes, or stand in one of them as a text."""
    held = opened(values.get("gen_ai.event.content"))
    whole: dict[str, Any] = {**values, **held} if isinstance(held, dict) else values
    inner = opened(whole.get("message"))
    if isinstance(inner, dict):
        whole = {**whole, **inner}
    elif inner is not None:
        whole = {**whole, "content": inner}
    message: dict[str, Any] = {
        name: opened(whole[name]) for name in ("content", "tool_calls", "name", "parts") if name in whole
    }
    message["role"] = whole.get("role") if isinstance(whole.get("role"), str) else role
    message["tool_call_id"] = whole.get("id") if role == "tool" else None
    message["finish_reason"] = whole.get("finish_reason")
    return message


def opened(value: Any) -> Any:
    """A value out of the text that it was written into."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return _json(value)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return value
    return value


def plain(value: Any, depth: int) -> tuple[Any, str]:
    """What an attribute holds, and the step from its value to a text."""
    if not isinstance(value, dict) or depth > _MOST_DEPTH:
        return value, ""
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue", "string_value", "bool_value", "double_value"):
        if name in value:
            return value[name], f"/{name}"
    for name in ("intValue", "int_value"):
        if name in value:
            number = value[name]
            whole = isinstance(number, str) and number.removeprefix("-").isdigit() and len(number) < 20
            return int(number) if whole else number, f"/{name}"
    for name in ("arrayValue", "array_value"):
        if isinstance(value.get(name), dict):
            inner = value[name].get("values")
            return [plain(each, depth + 1)[0] for each in inner] if isinstance(inner, list) else [], f"/{name}"
    for name in ("kvlistValue", "kvlist_value"):
        if isinstance(value.get(name), dict):
            inner = value[name].get("values")
            pairs = [each for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
            return {str(each.get("key")): plain(each.get("value"), depth + 1)[0] for each in pairs}, f"/{name}"
    return None, ""
