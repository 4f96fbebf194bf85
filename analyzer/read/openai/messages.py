"""Messages of chat completions: what they say, the calls and results in them, and calls that only the provider saw."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.members import held
from analyzer.read.recover import Fault
from analyzer.read.values import ABSENT, Int64, Raw, arguments, first, parts_of, text_of

_PARTS = frozenset({"text", "image_url", "input_audio", "file", "refusal", "image", "audio", "thinking", "reference"})
_ANSWERS = ("tool", "function")
_NAMED = re.compile(r"<function=(\w[\w.-]*)[^{<]*(\{.*)", re.DOTALL)


class Function(msgspec.Struct, gc=False):
    """The function of a call."""

    name: str | None = None
    arguments: Raw = ABSENT


class Custom(msgspec.Struct, gc=False):
    """The free text of a call."""

    name: str | None = None
    input: str | None = None


class Piece(msgspec.Struct, gc=False):
    """A piece of an entry of `tool_calls`."""

    id: str | None = None
    function: Function | None = None
    index: Int64 | None = None


class ToolCall(msgspec.Struct, gc=False):
    """An entry of `tool_calls`; tau2 has name and arguments outside, and Inspect a function that is its name."""

    id: str | None = None
    function: Function | str | None = None
    custom: Custom | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class Message(msgspec.Struct, gc=False):
    """A message, or the delta of one."""

    role: str | None = None
    content: Raw = ABSENT
    tool_calls: Raw = ABSENT
    function_call: Raw = ABSENT
    tool_call_id: str | None = None
    tool_call_ids: list[str] | None = None
    name: str | None = None
    tool_name: str | None = None
    refusal: str | None = None
    id: str | None = None
    error: Raw = ABSENT
    requestor: str | None = None


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


class _PlainFunction(msgspec.Struct, gc=False):
    arguments: str
    name: str | None = None


class _PlainCall(msgspec.Struct, gc=False):
    function: _PlainFunction | None = None
    id: str | None = None
    custom: Custom | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class Plain(msgspec.Struct, gc=False):
    """A message as nearly all are: calls of functions with arguments in texts, content of texts and parts."""

    role: str | None
    content: str | list[_Part] | None
    tool_calls: list[_PlainCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    refusal: str | None = None
    function_call: _PlainFunction | None = None
    tool_call_ids: list[str] | None = None
    id: str | None = None
    requestor: str | None = None
    error: bool | None = None


message_of = msgspec.json.Decoder(Message).decode
calls_of = msgspec.json.Decoder(list[ToolCall]).decode
function_of = msgspec.json.Decoder(Function).decode
_call = msgspec.json.Decoder(ToolCall).decode
_plain = msgspec.json.Decoder(Plain).decode
_raws = msgspec.json.Decoder(list[Raw]).decode


def said_of(raw: bytes) -> Said:
    """What one message says."""
    try:
        return said_in(_plain(raw)) or _said_of(raw)
    except (msgspec.DecodeError, RecursionError):
        return _said_of(raw)


def said_in(message: Plain) -> Said | None:
    """The same for a plain one; None where something in it is odd."""
    content, role, container = message.content, message.role, "text"
    if isinstance(content, list):
        if not _PARTS.issuperset([part.type for part in content]):
            return None
        text: str | None = "\n".join([part.text for part in content if part.text is not None])
        container = "parts"
    else:
        text = content
    if role in _ANSWERS:
        ids: Sequence[str | None] = message.tool_call_ids or (message.tool_call_id,)
        if message.tool_call_id is None and message.tool_call_ids is None and role == "tool":
            if message.id is None:
                return None  # another member may name its tool
            ids = (message.id,)  # tau2 names a result by the id of its call
        success, container = False if message.error else None, "null" if text is None else container
        results = [Result(each, message.name, text, container, "/content", success) for each in ids]
        return Said(role, results=results)
    refused = text is None and message.refusal is not None
    if refused:
        text = message.refusal
    if message.function_call is None and not message.tool_calls:
        return Said(role, text, "/refusal" if refused else "/content", refused=refused)
    owed_by = "unknown" if message.requestor == "user" else "client"
    calls, faults = [], []
    for index, each in enumerate(message.tool_calls or ()):
        to, plain = f"/tool_calls/{index}", each.function
        if plain is not None and each.custom is None:
            call = Call(each.id, plain.name, plain.arguments, "text", f"{to}/function/arguments")
        else:
            call = _outside(each, to)
        if call.name or call.call_id or call.text:
            call.owed_by = owed_by
            calls.append(call)
        else:
            faults.append(_nothing(to))
    if message.function_call is not None:
        function = message.function_call
        calls.append(Call(None, function.name, function.arguments, "text", "/function_call/arguments"))
    return Said(role, text, "/refusal" if refused else "/content", calls, faults=faults, refused=refused)


def _nothing(to: str) -> Fault:
    return Fault("member_missing", to, "an entry without id, name and arguments")


def _said_of(raw: bytes) -> Said:
    """The same for a message that may hold anything."""
    message, faults = held(message_of, raw, Message())
    said = Said(message.role, faults=faults)
    if message.role in _ANSWERS:
        ids: Sequence[str | None] = message.tool_call_ids or [message.tool_call_id]
        if message.tool_call_id is None and message.tool_call_ids is None and message.role == "tool":
            ids = [message.id]  # tau2 names a result by the id of its call
        text, container = _content(message.content)
        failed = bytes(message.error) == b"true" or first(message.error) == b"{"  # Inspect says what went wrong
        success = False if failed else None
        name = message.name or message.tool_name
        said.results = [Result(each, name, text, container, "/content", success) for each in ids]
        return said
    text, _ = _content(message.content)
    said.text, said.to = text, "/content" if message.content else ""
    if text is None and message.refusal is not None:
        said.text, said.to, said.refused = message.refusal, "/refusal", True
    if first(message.tool_calls) == b"[":
        entries, more = _entries(message.tool_calls)
        said.faults += more
        for index, entry in enumerate(entries):
            to = f"/tool_calls/{index}"
            call = _called(entry, to)
            if not call.name and not call.call_id and not call.text:
                said.faults.append(_nothing(to))
                continue
            call.owed_by = "unknown" if message.requestor == "user" else "client"
            said.calls.append(call)
    elif message.tool_calls and bytes(message.tool_calls) != b"null":
        said.faults.append(Fault("member_type", "/tool_calls", "no list"))
    if first(message.function_call) == b"{":
        function = held(function_of, message.function_call, Function())[0]
        text, container = arguments(function.arguments)
        said.calls.append(Call(None, function.name, text, container, "/function_call/arguments"))
    return said


def _entries(raw: Raw) -> tuple[list[ToolCall], list[Fault]]:
    try:
        return calls_of(raw), []
    except (msgspec.DecodeError, RecursionError):
        pass
    entries, faults = [], []
    for index, each in enumerate(_raws(raw)):
        entry, more = held(_call, each, ToolCall())
        entries.append(entry)
        faults += [Fault(fault, f"/tool_calls/{index}{where}", detail) for fault, where, detail, _ in more]
    return entries, faults


def _called(entry: ToolCall, to: str) -> Call:
    if not isinstance(entry.function, Function) or entry.custom is not None:
        return _outside(entry, to)
    text, container = arguments(entry.function.arguments)
    where = f"{to}/function/arguments" if entry.function.arguments else to
    call = Call(entry.id, entry.function.name, text, container, where)
    # So Ollama writes calls, and so do chat templates; what else is of this wire has ids and texts.
    call.wire = "ollama" if entry.id is None and container == "object" else None
    return call


def _outside(entry: ToolCall | _PlainCall, to: str) -> Call:
    """A call that is none of a `function`: a custom one, or one with name and arguments outside, as others write it."""
    if entry.custom is not None:
        return Call(entry.id, entry.custom.name, entry.custom.input, "free", f"{to}/custom/input", "custom")
    text, container = arguments(entry.arguments)
    called = entry.function if isinstance(entry.function, str) else None
    call = Call(entry.id, entry.name or called, text, container, f"{to}/arguments" if entry.arguments else to)
    if container == "object":
        # What the wire says of arguments does not hold for those who write calls like this, nor does its name.
        call.wire = "inspect" if called is not None else "tau2-bench"
    return call


def _content(raw: Raw) -> tuple[str | None, str]:
    """The text of a content, and the container it stood in; known parts come back as their joined texts."""
    kind = first(raw)
    if kind == b'"':
        return text_of(raw), "text"
    if kind == b"[" and (texts := parts_of(raw, _PARTS)) is not None:
        return "\n".join(texts), "parts"
    text, container = arguments(raw)
    return (None, "null") if container == "null" else (text, container)


def refused(text: str) -> list[Call]:
    """The calls in a text that the provider could not take for calls."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        match = _NAMED.search(text)
        if match is None:
            return []
        body = match[2].partition("</function>")[0]
        return [Call(None, match[1], body, "text", owed_by="nobody")]
    calls = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            inner = each.get("arguments", each.get("parameters"))
            body = inner if isinstance(inner, str) else msgspec.json.encode(inner).decode()
            calls.append(Call(None, each["name"], body, "text", owed_by="nobody"))
    return calls
