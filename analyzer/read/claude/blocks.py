"""Content blocks of messages: which are calls and which are results, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.values import ABSENT, Raw, first

CALLS = {"tool_use": "function", "server_tool_use": "hosted", "mcp_tool_use": "mcp"}
_KNOWN = frozenset(
    {
        *("text", "thinking", "redacted_thinking", "image", "document", "search_result", "container_upload", "file"),
        *("compaction", "fallback", "tool_reference", "tool_addition", "tool_removal"),
    }
)


CLIENTS = ("tool_result", "mcp_tool_result")
MEANINGS = {
    **dict.fromkeys(_KNOWN, "said"),
    **dict.fromkeys(CALLS, "call"),
    **dict.fromkeys(CLIENTS, "result"),
}


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
    tool: Raw = ABSENT


_content = msgspec.json.Decoder(list[Block] | str | None).decode
_block = msgspec.json.Decoder(Block).decode
_json = msgspec.json.Decoder().decode
_raws = msgspec.json.Decoder(list[Raw]).decode
_contents = msgspec.json.Decoder(list[list[Block] | str | None]).decode
_NO_BLOCK = Block()


def meaning(block: Block) -> str:
    """What a block is: a `call`, a `result`, something `said`, or nothing known (an empty string)."""
    return MEANINGS.get(block.type) or ("result" if block.type.endswith("tool_result") else "")


def is_result(block: Block) -> bool:
    """Whether a block answers a call; server tools have type names of their own."""
    return block.type.endswith("tool_result")


def blocks_in(content: list[Block] | str | None) -> list[Block]:
    """The blocks of a content, a string being one text."""
    return [Block(type="text", text=content)] if isinstance(content, str) else content or []


def blocks_of(raw: Raw) -> tuple[list[Block], list[Fault]]:
    """The blocks of a message's content, a string being one text; members of other types are named and left out."""
    if raw is ABSENT:
        return [], []
    try:
        return blocks_in(_content(raw)), []
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


def contents_of(raws: Sequence[Raw]) -> list[tuple[list[Block] | str, Sequence[Fault]]]:
    """The blocks of many contents at once, or the text where one is a string, and what was wrong."""
    try:
        found = _contents(b"[" + b",".join([raw or b"null" for raw in raws]) + b"]")
    except (msgspec.DecodeError, RecursionError):
        return list(map(blocks_of, raws))
    return [(content or [] if type(content) is not str else content, ()) for content in found]


def arguments_of(blocks: Sequence[Block]) -> str:
    """The arguments of the calls among the blocks, however they are written: for a comparison."""
    return "\0".join([_compact(block.input) for block in blocks if block.type in CALLS])


def _compact(raw: Raw) -> str:
    try:
        return msgspec.json.encode(_json(raw)).decode()
    except (msgspec.DecodeError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def words_of(blocks: Sequence[Block]) -> str:
    """The texts among the blocks of a message."""
    texts = [block.text for block in blocks if block.type == "text" and block.text is not None]
    return texts[0] if len(texts) == 1 else "\n".join(texts)
