"""What tracers keep of a call of the model: messages, replies and tool tables, in the payloads of any framework."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.anymessage import call_of, move, said_of, unpacked
from analyzer.read.dialogue import Said
from analyzer.read.values import encoded

_LISTS = ("messages", "input", "contents", "prompt")
_TABLES = ("tools", "functions", "gen_ai.tool.definitions", "ai.prompt.tools", "llm.tools")
_json = msgspec.json.Decoder().decode


def is_step(asked: Any, told: Any) -> bool:
    """Whether an input holds messages, of whatever framework, and there is an output."""
    messages = messages_of(opened(asked))[0] if told is not None and not isinstance(asked, int | float) else []
    return bool(messages) and all(isinstance(each, dict) and isinstance(each.get("role"), str) for each in messages)


def messages_of(value: Any) -> tuple[list[Any], str]:
    """The messages in what was sent, and the pointer to their list."""
    if isinstance(value, list):
        return value, ""
    if isinstance(value, dict):
        for name in _LISTS:
            inner, layers = unpacked(value.get(name))
            if isinstance(inner, list):
                to = "" if layers else f"/{name}"
                return (inner[0], to and f"{to}/0") if inner and isinstance(inner[0], list) else (inner, to)
        return ([value], "") if "role" in value else ([], "")
    return ([value], "") if isinstance(value, str) else ([], "")


def replies_of(value: Any, to: str = "") -> list[tuple[Said, str]]:
    """What the model said, one for each alternative, and the pointers to the messages."""
    if isinstance(value, list) and value:
        whole = Said("assistant")
        for each in value:
            for said, _ in replies_of(each):
                whole.calls += said.calls
                whole.results += said.results
                whole.text = said.text if whole.text is None else whole.text
        move(whole, None)
        return [(whole, to)]
    if not isinstance(value, dict):
        return [(said_of(value), to)]
    for name, member in (("choices", "message"), ("candidates", "content")):
        listed = value.get(name)
        if isinstance(listed, list) and listed and isinstance(listed[0], dict):
            each = enumerate(one.get(member) for one in listed if isinstance(one, dict))
            return [(said_of(one), f"{to}/{name}/{index}/{member}") for index, one in each]
    generations = value.get("generations")
    if isinstance(generations, list) and generations and isinstance(generations[0], list):  # of several prompts
        each = enumerate(one.get("message", one) for one in generations[0] if isinstance(one, dict))
        return [(said_of(one), f"{to}/generations/0/{index}/message") for index, one in each]
    for name in ("message", "output", "generation"):
        if isinstance(value.get(name), dict | list) and "role" not in value:
            return replies_of(value[name], f"{to}/{name}")
    if value.get("type") in ("tool_use", "tool-call", "tool_call", "function_call"):
        return [(Said("assistant", calls=[call_of(value, "")]), to)]
    return [(said_of(value), to)]


def opened(value: Any) -> Any:
    """A payload out of the texts that it was written into."""
    return unpacked(value)[0]


def defined(definitions: dict[str, Any] | None) -> bytes:
    """The tool table that the service itself made out of what it was sent."""
    tools = []
    for name, each in (definitions or {}).items():
        told = opened(each)
        if isinstance(told, dict):
            tools.append({"name": name, **told, "parameters": opened(told.get("parameters"))})
    return encoded(tools) if tools else b""


def table_of(value: Any, metadata: Any) -> tuple[bytes, str | None]:
    """The tool table that was sent, wherever the tracer put it; the pointer to it from the value, if it is there."""
    told, _ = unpacked(metadata)
    attributes = unpacked(told.get("attributes"))[0] if isinstance(told, dict) else None
    config = value.get("config") if isinstance(value, dict) else None
    invocation = told.get("invocation_params") if isinstance(told, dict) else None
    for holder, to in ((value, ""), (config, "/config"), (told, None), (attributes, None), (invocation, None)):
        for name in _TABLES:
            tools, layers = unpacked(holder.get(name)) if isinstance(holder, dict) else (None, 0)
            if isinstance(tools, list) and tools:
                plain = to is not None and not layers and not any(isinstance(each, str) for each in tools)
                return encoded([unpacked(each)[0] for each in tools]), f"{to}/{name}" if plain else None
    return b"", None


def call_id_in(*holders: Any) -> str | None:
    """The id of a call in the first of these that names one."""
    for holder in holders:
        for name in ("toolCallId", "tool_call_id", "call_id") if isinstance(holder, dict) else ():
            if isinstance(holder.get(name), str) and holder[name]:
                return str(holder[name])
    return None


def said_in(raw: bytes) -> Said:
    """What a message says, which may stand in a text."""
    try:
        return said_of(unpacked(_json(raw))[0])
    except (msgspec.DecodeError, RecursionError):
        return Said()
