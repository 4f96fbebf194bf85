"""Messages of Converse: their blocks, and what they say."""

from __future__ import annotations

import msgspec

from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.members import held, listed
from analyzer.read.values import ABSENT, Raw, arguments, first


class ToolUse(msgspec.Struct, gc=False):
    """A call."""

    toolUseId: str | None = None  # noqa: N815 - the wire's names
    name: str | None = None
    input: Raw = ABSENT
    type: str | None = None


class ToolResult(msgspec.Struct, gc=False):
    """A result."""

    toolUseId: str | None = None  # noqa: N815
    content: Raw = ABSENT
    status: str | None = None


class Part(msgspec.Struct, gc=False):
    """A block of a message's content, or of a result's."""

    text: str | None = None
    json: Raw = ABSENT
    toolUse: Raw = ABSENT  # noqa: N815
    toolResult: Raw = ABSENT  # noqa: N815


class Message(msgspec.Struct, gc=False):
    """A message."""

    role: str | None = None
    content: Raw = ABSENT


use_of = msgspec.json.Decoder(ToolUse).decode
_message = msgspec.json.Decoder(Message).decode
_part = msgspec.json.Decoder(Part).decode
_result = msgspec.json.Decoder(ToolResult).decode


def said_of(raw: bytes) -> Said:
    """What one message says."""
    message, faults = held(_message, raw, Message())
    said = Said(message.role, faults=faults)
    texts: list[str] = []
    for index, each in enumerate(listed(message.content)):
        part = held(_part, each, Part())[0]
        to = f"/content/{index}"
        if part.text is not None:
            texts.append(part.text)
            said.to = said.to or f"{to}/text"
        if first(part.toolUse) == b"{":
            use = held(use_of, part.toolUse, ToolUse())[0]
            text, container = arguments(use.input)
            where = f"{to}/toolUse" + ("/input" if use.input else "")
            call = Call(use.toolUseId, use.name, text, container, where)
            if use.type == "server_tool_use":
                call.kind, call.owed_by = "hosted", "server"
            said.calls.append(call)
        if first(part.toolResult) == b"{":
            result = held(_result, part.toolResult, ToolResult())[0]
            text, container = _content(result.content)
            where = f"{to}/toolResult" + ("/content" if result.content else "")
            success = {"error": False, "success": True}.get(result.status or "")
            said.results.append(Result(result.toolUseId, None, text, container, where, success))
    said.text = "\n".join(texts) if texts else None
    return said


def _content(raw: Raw) -> tuple[str | None, str]:
    """The text of a result; a single JSON value is itself."""
    parts = [held(_part, each, Part())[0] for each in listed(raw)]
    values = [part.json for part in parts if part.json]
    if len(parts) == 1 and values:
        return arguments(values[0])
    if first(raw) != b"[":
        return arguments(raw)
    texts = [part.text if part.text is not None else bytes(part.json).decode() for part in parts]
    return "\n".join(filter(None, texts)), "parts"


def words_of(raw: Raw) -> str | None:
    """The texts of a list of blocks."""
    return "\n".join(filter(None, (held(_part, each, Part())[0].text for each in listed(raw)))) or None
