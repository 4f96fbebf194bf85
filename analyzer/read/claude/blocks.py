"""Content blocks of messages: which are calls and which are results, and what they say."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of

_PARTS = frozenset({"text", "image", "document", "search_result", "tool_reference", "file", "resource"})
_CALLS = {"tool_use": "function", "server_tool_use": "hosted", "mcp_tool_use": "mcp"}
_KNOWN = frozenset(
    {
        *("text", "thinking", "redacted_thinking", "image", "document", "search_result", "container_upload", "file"),
        *("compaction", "fallback", "tool_reference", "tool_addition", "tool_removal"),
    }
)


_MEANINGS = {**dict.fromkeys(_KNOWN, "said"), **dict.fromkeys(_CALLS, "call")}


class Block(msgspec.Struct, gc=False):
    """The members of a content block that the audit reads."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    server_name: str | None = None
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    text: str | None = None
    source: Raw = ABSENT


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


class _Failure(msgspec.Struct, gc=False):
    type: str = ""
    error_code: str | None = None


_content = msgspec.json.Decoder(list[Block] | str | None).decode
_block = msgspec.json.Decoder(Block).decode
_raws = msgspec.json.Decoder(list[Raw]).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_failure = msgspec.json.Decoder(_Failure).decode
_NO_BLOCK = Block()


class At(msgspec.Struct, gc=False):
    """Where and in which role a block stands; `to` leads to it from its event."""

    event: int
    session: str | None
    stage: str
    to: str
    turn: str | None = None
    reply: str | None = None
    emission: str | None = None
    accepted: bool | None = None
    status: str | None = None
    opaque: bool = False

    def pointer(self, member: str) -> str:
        """A pointer below the block."""
        return "" if self.opaque else f"{self.to}{member}"


def meaning(block: Block) -> str:
    """What a block is: a `call`, a `result`, something `said`, or nothing known (an empty string)."""
    return _MEANINGS.get(block.type) or ("result" if block.type.endswith("tool_result") else "")


def is_call(block: Block) -> bool:
    """Whether a block asks for a tool."""
    return block.type in _CALLS


def is_result(block: Block) -> bool:
    """Whether a block answers a call; server tools have type names of their own."""
    return block.type.endswith("tool_result")


def blocks_of(raw: Raw) -> tuple[list[Block], list[Fault]]:
    """The blocks of a message's content, a string being one text; members of other types are named and left out."""
    if raw is ABSENT:
        return [], []
    try:
        content = _content(raw)
        return ([Block(type="text", text=content)] if isinstance(content, str) else content or []), []
    except (msgspec.DecodeError, RecursionError):
        pass
    if first(raw) != b"[":
        return [], []
    blocks: list[Block] = []
    faults: list[Fault] = []
    for index, each in enumerate(_raws(raw)):
        parsed = parse(bytes(each))
        found = None
        if not isinstance(parsed, Unreadable) and isinstance(parsed[0], dict):
            found = typed(_block, parsed[0])
            faults += [Fault(fault, f"/{index}{where}", detail) for fault, where, detail, _ in parsed[1]]
        if found is None:
            faults.append(Fault("member_type", f"/{index}", "a content block is an object"))
        else:
            faults += [Fault(fault, f"/{index}{where}", detail) for fault, where, detail, _ in found[1]]
        blocks.append(_NO_BLOCK if found is None else found[0])
    return blocks, faults


def words_of(blocks: list[Block]) -> str:
    """The texts among the blocks of a message."""
    texts = [block.text for block in blocks if block.type == "text" and block.text is not None]
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def output_of(raw: Raw) -> tuple[str | None, str]:
    """The text of an output, and the container it stood in; content parts come back as their joined texts."""
    kind = first(raw)
    if kind != b"[":
        return (text_of(raw), "text") if kind == b'"' else arguments(raw)
    try:
        parts = _parts(raw)
    except msgspec.DecodeError:
        return bytes(raw).decode(), "array"
    texts = []
    for part in parts:
        if part.type not in _PARTS:
            return bytes(raw).decode(), "array"
        if part.text is not None:
            texts.append(part.text)
    return "\n".join(texts), "parts"


def _failure_of(raw: Raw) -> str | None:
    """The error in the place of a server tool's result."""
    try:
        failure = _failure(raw)
    except msgspec.DecodeError:
        return None
    return failure.error_code or failure.type if failure.type.endswith("_error") else None


class Blocks:
    """Appends the rows of calls and results for one wire."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._wire = wire
        self._rows = rows

    def call(self, block: Block, at: At, *, kind: str | None = None, member: str = "/input") -> None:
        """A call; `kind` is that of its tool where the block's type does not say it: the client runs all of these."""
        text, container = arguments(block.input)
        native, name = _CALLS[block.type], block.id
        where = "" if at.opaque else at.to + member if block.input else at.to
        self._rows.call_sightings.append(
            (
                *(at.event, at.session, at.turn, self._wire, at.stage, at.reply, at.emission, name, name),
                *(kind or native, block.server_name, block.name, text, container, at.status),
                *("client" if native == "function" else "server", None, where),
            )
        )

    def result(self, block: Block, at: At, *, structured: str | None = None, error: str | None = None) -> None:
        """A result; `structured` and `error` are what the record says of it outside the block."""
        text, container = output_of(block.content)
        failure = None
        if container == "object" and block.type not in ("tool_result", "mcp_tool_result"):
            failure = _failure_of(block.content)
        success = block.is_error is not True and failure is None  # without the flag it is a success
        where = "" if at.opaque else at.to + "/content" if block.content else at.to
        name = block.tool_use_id
        self._rows.result_sightings.append(
            (
                *(at.event, at.session, at.turn, self._wire, at.stage, at.emission, name, name, None, success),
                *(at.status, failure or error, text, container, structured, at.accepted, None, where),
            )
        )

    def faults(self, faults: list[Fault], at: At) -> None:
        """What was wrong with the blocks of a content at `at`."""
        for fault, where, detail, _ in faults:
            self._rows.faults.append((at.event, at.session, fault, at.pointer(where), detail, None))

    def unknown(self, block: Block, at: At) -> None:
        """A block whose type means nothing here."""
        detail = f"a block of type {block.type[:80]!r}"
        self._rows.faults.append((at.event, at.session, "unknown_item", at.pointer("/type"), detail, None))


def type_of(value: Any) -> str:
    """The type member of a parsed block."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""
