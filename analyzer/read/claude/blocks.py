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


_blocks = msgspec.json.Decoder(list[Block]).decode
_block = msgspec.json.Decoder(Block).decode
_raws = msgspec.json.Decoder(list[Raw]).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_failure = msgspec.json.Decoder(_Failure).decode
_NO_BLOCK = Block()


class Result(msgspec.Struct, frozen=True, gc=False):
    """What a result block says."""

    success: bool
    error: str | None
    text: str | None
    container: str


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


def is_call(block: Block) -> bool:
    """Whether a block asks for a tool."""
    return block.type in _CALLS


def is_result(block: Block) -> bool:
    """Whether a block answers a call; server tools have type names of their own."""
    return block.type.endswith("tool_result")


def is_known(block: Block) -> bool:
    """Whether the type of a block has a meaning here."""
    return block.type in _KNOWN or is_call(block) or is_result(block)


def blocks_of(raw: Raw) -> tuple[list[Block], list[Fault]]:
    """The blocks of a message's content, a string being one text; members of other types are named and left out."""
    kind = first(raw)
    if kind == b'"':
        return [Block(type="text", text=text_of(raw))], []
    if kind != b"[":
        return [], []
    try:
        return _blocks(raw), []
    except (msgspec.DecodeError, RecursionError):
        pass
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
    return "\n".join([block.text for block in blocks if block.type == "text" and block.text is not None])


def result_of(block: Block) -> Result:
    """What a result block says: without the flag it is a success."""
    text, container = output_of(block.content)
    error = None
    if block.type not in ("tool_result", "mcp_tool_result") and container == "object":
        failure = _read_failure(block.content)
        if failure.type.endswith("_error"):
            error = failure.error_code or failure.type
    return Result(success=block.is_error is not True and error is None, error=error, text=text, container=container)


def output_of(raw: Raw) -> tuple[str | None, str]:
    """The text of an output, and the container it stood in; content parts come back as their joined texts."""
    kind = first(raw)
    if kind != b"[":
        return (text_of(raw), "text") if kind == b'"' else arguments(raw)
    try:
        parts = _parts(raw)
    except msgspec.DecodeError:
        return bytes(raw).decode(), "array"
    if any(part.type not in _PARTS for part in parts):
        return bytes(raw).decode(), "array"
    return "\n".join([part.text for part in parts if part.text is not None]), "parts"


def _read_failure(raw: Raw) -> _Failure:
    try:
        return _failure(raw)
    except msgspec.DecodeError:
        return _Failure()


class Blocks:
    """Appends the rows of calls and results for one wire."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._wire = wire
        self._rows = rows

    def call(self, block: Block, at: At, *, kind: str | None = None, member: str = "/input") -> None:
        """A call; `kind` is that of its tool where the block's type does not say it: the client runs all of these."""
        text, container = arguments(block.input)
        native = _CALLS[block.type]
        owed_by = "client" if native == "function" else "server"
        self._rows.call_sightings.append(
            (
                *(at.event, at.session, at.turn, self._wire, at.stage, at.reply, at.emission, block.id),
                *(block.id, kind or native, block.server_name, block.name, text, container),
                *(at.status, owed_by, None, at.pointer(member if block.input else "")),
            )
        )

    def result(self, block: Block, at: At, *, structured: str | None = None, error: str | None = None) -> None:
        """A result; `structured` and `error` are what the record says of it outside the block."""
        said = result_of(block)
        self._rows.result_sightings.append(
            (
                *(at.event, at.session, at.turn, self._wire, at.stage, at.emission, block.tool_use_id),
                *(block.tool_use_id, None, said.success, at.status, said.error or error, said.text, said.container),
                *(structured, at.accepted, None, at.pointer("/content" if block.content else "")),
            )
        )

    def faults(self, faults: list[Fault], at: At) -> None:
        """What was wrong with the blocks of a content at `at`."""
        self._rows.faults += [
            (at.event, at.session, fault, at.pointer(where), detail, None) for fault, where, detail, _ in faults
        ]

    def unknown(self, block: Block, at: At) -> None:
        """A block whose type means nothing here."""
        detail = f"a block of type {block.type[:80]!r}"
        self._rows.faults.append((at.event, at.session, "unknown_item", at.pointer("/type"), detail, None))


def type_of(value: Any) -> str:
    """The type member of a parsed block."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""
