"""Messages and tool tables in the attributes of spans, as the conventions have them or flattened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.members import held
from analyzer.read.telemetry.spans import Read
from analyzer.read.values import contained

_json = msgspec.json.Decoder().decode


def value_of(value: Any) -> Any:
    """What an attribute holds, taken out of its text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return _json(value)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return value
    return value


def messages_of(each: Read, names: Sequence[str]) -> tuple[list[Any], str | None]:
    """The messages in the first of these attributes that a span has, and where they stand."""
    found, where = each.first(names)
    value = value_of(found)
    messages = value if isinstance(value, list) else [] if value is None else [value]
    flat = [message.get("message", message) if isinstance(message, dict) else message for message in messages]
    return flat, where


def table_of(value: Any) -> Any:
    """A tool table out of its attribute; OpenInference has one text for each tool."""
    value = value_of(value)
    if not isinstance(value, list):
        return value
    tools = []
    for each in value:
        tool: Any = value_of(each)
        if isinstance(tool, dict) and isinstance(tool.get("tool"), dict) and "json_schema" in tool["tool"]:
            tool = value_of(tool["tool"]["json_schema"])
        if isinstance(tool, dict) and isinstance(tool.get("parameters"), str):
            tool = {**tool, "parameters": value_of(tool["parameters"])}
        tools.append(tool)
    return tools


def text_in(value: Any) -> tuple[str | None, str]:
    """Arguments or an output, and the container it stood in."""
    return (None, "absent") if value is None else contained(value)


def words_of(value: Any) -> str:
    """The texts in a value, joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(words_of, value)))
    if isinstance(value, dict):
        return words_of(value.get("content", value.get("text", "")))
    return ""


def said_of(raw: bytes) -> Said:
    """What one message says, in parts as the conventions have them, or flattened."""
    message: Any = held(_json, raw, None)[0]
    if not isinstance(message, dict):
        return Said(text=message if isinstance(message, str) else None)
    said = Said(_string(message.get("role")))
    texts: list[str] = []
    for part in _members(message.get("parts")):
        if part.get("type") == "tool_call":
            said.calls.append(_call(part))
        elif part.get("type") == "tool_call_response":
            output = part.get("response", part.get("result"))
            text, container = text_in(output)
            said.results.append(Result(_string(part.get("id")), _string(part.get("name")), text, container))
        elif part.get("type") == "text" and isinstance(part.get("content"), str):
            texts.append(part["content"])
    if isinstance(message.get("content"), str):
        texts.append(message["content"])
    texts += [words_of(each.get("message_content")) for each in _members(message.get("contents"))]
    for each in _members(message.get("tool_calls")):
        inner = each.get("tool_call", each)
        function = inner.get("function") if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            said.calls.append(_call({**inner, **function} if isinstance(function, dict) else inner))
    if said.role == "tool" and not said.results:
        text = "\n".join(texts) if texts else None
        name = _string(message.get("name"))
        said.results = [Result(_string(message.get("tool_call_id")), name, text, "text" if texts else "absent")]
        texts = []
    said.text = "\n".join(texts) if texts else None
    return said


def _call(part: dict[str, Any]) -> Call:
    text, container = text_in(part.get("arguments"))
    return Call(_string(part.get("id")), _string(part.get("name")), text, container)


def _members(value: Any) -> list[dict[str, Any]]:
    """The elements of a list, or of one whose indexes are names."""
    if isinstance(value, dict):
        value = [value[name] for name in sorted((name for name in value if name.isdigit()), key=int)]
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
