"""Messages and tool tables in the attributes of spans, as the conventions have them or flattened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.read.anymessage import call_of, unpacked
from analyzer.read.anymessage import said_of as any_said_of
from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.members import held
from analyzer.read.telemetry.events import opened
from analyzer.read.telemetry.spans import Read
from analyzer.read.values import contained, string

ENTITY_INPUT = "traceloop.entity.input"
ENTITY_OUTPUT = "traceloop.entity.output"
_WRAPPED = {"args", "kwargs", "sanitize_inputs_outputs"}
LLM_REQUEST = "gcp.vertex.agent.llm_request"
LLM_RESPONSE = "gcp.vertex.agent.llm_response"
_json = msgspec.json.Decoder().decode


def messages_of(each: Read, names: Sequence[str]) -> tuple[list[Any], str | None]:
    """The messages in the first of these attributes that a span has, and where they stand."""
    found, where = each.first(names)
    value = opened(found)
    if where == "ai.response.toolCalls":
        value = {"role": "assistant", "tool_calls": value, "content": each.values.get("ai.response.text")}
    elif isinstance(value, dict) and where in (LLM_REQUEST, LLM_RESPONSE):
        value = value.get("contents" if where == LLM_REQUEST else "content")
    messages = value if isinstance(value, list) else [] if value is None else [value]
    flat = [message.get("message", message) if isinstance(message, dict) else message for message in messages]
    return flat, where


def table_of(value: Any) -> Any:
    """A tool table out of its attribute; OpenInference has one text for each tool, others a whole request."""
    value = opened(value)
    if isinstance(value, dict) and isinstance(value.get("config"), dict):
        value = value["config"].get("tools") or []
    if not isinstance(value, list):
        return value
    tools = []
    for each in value:
        tool: Any = opened(each)
        if isinstance(tool, dict) and isinstance(tool.get("tool"), dict) and "json_schema" in tool["tool"]:
            tool = opened(tool["tool"]["json_schema"])
        if isinstance(tool, dict) and isinstance(tool.get("parameters"), str):
            tool = {**tool, "parameters": opened(tool["parameters"])}
        if isinstance(tool, dict) and "inputSchema" in tool and "type" not in tool:
            tool = _function(tool)
        tools.append(tool)
    return tools


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as the host has it, not the server of a listing: what the model is told of is a function."""
    schema = tool["inputSchema"]
    if isinstance(schema, dict) and schema.keys() == {"json"}:
        schema = schema["json"]
    return {**{name: value for name, value in tool.items() if name != "inputSchema"}, "parameters": schema}


def text_in(value: Any) -> tuple[str | None, str]:
    """Arguments or an output, and the container it stood in."""
    return (None, "absent") if value is None else contained(value)


def arguments_in(value: Any, where: str | None) -> tuple[str | None, str]:
    """The arguments of a call that ran; some tracers put what a Python function was given around them."""
    inner = opened(value) if where == "input.value" else None
    if isinstance(inner, dict) and inner.keys() <= _WRAPPED and not inner.get("args"):
        given = inner.get("kwargs")
        return contained(given if isinstance(given, dict) else inner)
    if where == ENTITY_INPUT and isinstance(entity := opened(value), dict):
        for name in ("inputs", "kwargs"):
            if isinstance(entity.get(name), dict) and (entity[name] or not entity.get("args")):
                return contained(entity[name])
    return text_in(value)


def returned(value: Any, where: str | None) -> tuple[str | None, str]:
    """What a call that ran gave; some tracers write it as JSON, with what a framework made of it around it."""
    if where == ENTITY_OUTPUT and isinstance(value, str):
        entity = unpacked(value)[0]
        return contained(entity["output"] if isinstance(entity, dict) and "output" in entity else entity)
    return text_in(value)


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
    said = Said(string(message.get("role")))
    texts: list[str] = []
    for part in _members(message.get("parts")):
        _part(part, said, texts)
    if isinstance(message.get("content"), str):
        texts.append(message["content"])
    elif isinstance(message.get("content"), list):
        _other({"content": message["content"], "role": message.get("role")}, said, texts)
    texts += [words_of(each.get("message_content")) for each in _members(message.get("contents"))]
    calls = [each.get("tool_call", each) for each in _members(message.get("tool_calls"))]
    calls.append(message.get("function_call"))
    if isinstance(message.get("function_call_name"), str):
        text = message.get("function_call_arguments_json")
        calls.append({"name": message["function_call_name"], "arguments": text})
    said.calls += [_call(each) for each in calls if isinstance(each, dict)]
    if said.role == "tool" and not said.results:
        text = "\n".join(texts) if texts else None
        name = string(message.get("name"))
        said.results = [Result(string(message.get("tool_call_id")), name, text, "text" if texts else "absent")]
        texts = []
    said.text = "\n".join(texts) if texts else None
    return said


def joined(parts: Sequence[Said]) -> Said:
    """One reply that was told in several messages."""
    texts = [part.text for part in parts if part.text is not None]
    calls = [call for part in parts for call in part.calls]
    results = [result for part in parts for result in part.results]
    return Said("assistant", "\n".join(texts) if texts else None, calls=calls, results=results)


def _part(part: dict[str, Any], said: Said, texts: list[str]) -> None:
    """A part of a message as the conventions have them, or in another wire's shape."""
    kind = part.get("type")
    if kind == "server_tool_call":
        call = _call({"arguments": part.get(kind), **part})
        call.kind, call.owed_by = "hosted", "server"
        said.calls.append(call)
    elif kind in ("tool_call_response", "server_tool_call_response"):
        output = next((part[name] for name in ("response", "result", kind) if part.get(name) is not None), None)
        text, container = text_in(output)
        said.results.append(Result(string(part.get("id")), string(part.get("name")), text, container))
    elif kind == "tool_call":
        said.calls.append(_call(part))
    elif kind == "text" and isinstance(part.get("content"), str):
        texts.append(part["content"])
    elif kind is None:
        _other({"parts": [part]}, said, texts)


def _call(part: dict[str, Any]) -> Call:
    """A call; where its arguments were not captured nothing is said of them."""
    call = call_of(part, "")
    if call.container in ("absent", "null"):
        call.text, call.container, call.status = None, "absent", "redacted"
    return call


def _other(message: dict[str, Any], said: Said, texts: list[str]) -> None:
    """Put what a message in another wire's shape says to what is said."""
    other = any_said_of(message)
    said.calls += other.calls
    said.results += other.results
    texts += [other.text] if other.text is not None else []


def _members(value: Any) -> list[dict[str, Any]]:
    """The elements of a list, or of one whose indexes are names."""
    if isinstance(value, dict):
        value = [value[name] for name in sorted((name for name in value if name.isdigit()), key=int)]
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
