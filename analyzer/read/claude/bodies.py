"""The bodies of the Messages wire as one typed record, and what tells them from the bodies of other wires."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.read.claude.blocks import Block, blocks_in, blocks_of
from analyzer.read.members import held
from analyzer.read.recorded import Recorded, enclosed_in, sure_of
from analyzer.read.recover import Fault, typed
from analyzer.read.values import ABSENT, Int64, Raw, first

STREAM = {
    "message_start": "item",
    "content_block_start": "delta",
    "content_block_delta": "delta",
    "content_block_stop": "item",
    "message_delta": "item",
    "message_stop": "item",
}


class Delta(msgspec.Struct, gc=False):
    """What a piece of a stream adds."""

    type: str | None = None
    partial_json: str | None = None
    text: str | None = None
    stop_reason: str | None = None


class Piece(msgspec.Struct, gc=False):
    """An event of a streamed reply."""

    type: str
    index: Int64 | None = None
    message: Raw = ABSENT
    content_block: Block | None = None
    delta: Delta | None = None


class Record(Recorded, gc=False):
    """Everything that one record may be: a request, a response, an event of a stream, an exchange, an envelope."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    max_tokens: Raw = ABSENT
    anthropic_version: Raw = ABSENT
    tools: Raw = ABSENT
    tool_choice: Raw = ABSENT
    system: Raw = ABSENT
    output_config: Raw = ABSENT
    output_format: Raw = ABSENT
    index: Int64 | None = None
    content_block: Raw = ABSENT
    delta: Raw = ABSENT
    params: Raw = ABSENT


class Body(msgspec.Struct, gc=False):
    """A bare request, response or event of a stream, as nearly all are."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: list[Block] | str | None = None
    stop_reason: str | None = None
    messages: Raw = ABSENT
    max_tokens: Raw = ABSENT
    anthropic_version: Raw = ABSENT
    response: Raw = ABSENT
    output: Raw = ABSENT
    completion: Raw = ABSENT
    tools: Raw = ABSENT
    tool_choice: Raw = ABSENT
    system: Raw = ABSENT
    output_config: Raw = ABSENT
    output_format: Raw = ABSENT
    index: Int64 | None = None
    message: Raw = ABSENT
    content_block: Block | None = None
    delta: Delta | None = None


class Message(msgspec.Struct, gc=False):
    """One message of a request, or the beginning of a streamed one."""

    id: str | None = None
    role: str | None = None
    content: Raw = ABSENT


class _Plain(msgspec.Struct, gc=False):
    """A message as nearly all are."""

    role: str | None = None
    content: list[Block] | str | None = None


class Sentence(msgspec.Struct, gc=False):
    """A message of a request, read."""

    role: str | None
    blocks: Sequence[Block]
    faults: Sequence[Fault] = ()


class Tool(msgspec.Struct, gc=False):
    """What tells a tool of the provider's own from one of the client's."""

    type: str | None = None
    name: str | None = None
    input_schema: Raw = ABSENT


class _Choice(msgspec.Struct, gc=False):
    disable_parallel_tool_use: bool | None = None


class _Config(msgspec.Struct, gc=False):
    format: Raw = ABSENT


record_of = msgspec.json.Decoder(Record).decode
_pieces = msgspec.json.Decoder(list[Piece]).decode
_message = msgspec.json.Decoder(Message).decode
body_of = msgspec.json.Decoder(Body).decode
_plain = msgspec.json.Decoder(_Plain).decode
_delta = msgspec.json.Decoder(Delta).decode
_block = msgspec.json.Decoder(Block).decode
_tools = msgspec.json.Decoder(list[Tool]).decode
_choice = msgspec.json.Decoder(_Choice).decode
_config = msgspec.json.Decoder(_Config).decode


def _or(decode: Any, raw: Raw, default: Any) -> Any:
    """What a member holds, or the default where it holds something else."""
    try:
        return decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return default


def sentence_of(raw: bytes) -> Sentence:
    """A message of a request."""
    try:
        plain = _plain(raw)
    except (msgspec.DecodeError, RecursionError):
        message = held(_message, raw, Message())[0]
        return Sentence(message.role, *blocks_of(message.content))
    return Sentence(plain.role, blocks_in(plain.content))


def name_of(message: Raw) -> str | None:
    """The id of a message that starts."""
    return held(_message, message, Message())[0].id


def piece_of(record: Record) -> Piece:
    """A record that is an event of a stream, without what in it is of another type."""
    block, delta = _or(_block, record.content_block, None), _or(_delta, record.delta, None)
    return Piece(record.type or "", record.index, record.message, block, delta)


def pieces_of(frames: tuple[bytes, ...]) -> list[Piece] | None:
    """All events of a stream, read at once; None where one of them is something else."""
    try:
        pieces = _pieces(b"[" + b",".join(frames) + b"]")
    except (msgspec.DecodeError, RecursionError):
        return None
    for each in pieces:
        if each.type not in STREAM and each.type != "ping":
            return None
        if each.type == "message_start" and first(each.message) != b"{":
            return None
    return pieces


def hosted_in(tools: Raw) -> frozenset[str]:
    """The tools of the provider's own in a table: they have a type of their own and no schema."""
    listed: list[Tool] = _or(_tools, tools, [])
    own = [tool for tool in listed if tool.type not in (None, "custom") and not tool.input_schema]
    return frozenset([tool.name for tool in own if tool.name is not None])


def parallel_of(record: Record | Body) -> bool | None:
    """Whether a request allows several calls in one reply; None where it says nothing of it."""
    if first(record.tool_choice) != b"{":
        return None
    choice: _Choice = _or(_choice, record.tool_choice, _Choice())
    return None if choice.disable_parallel_tool_use is None else not choice.disable_parallel_tool_use


def format_of(record: Record | Body) -> str | None:
    """The JSON text of the format that a request asks the answer in."""
    config: _Config = (
        _or(_config, record.output_config, _Config()) if first(record.output_config) == b"{" else _Config()
    )
    return bytes(config.format).decode() or bytes(record.output_format).decode() or None


def is_url(url: str) -> bool:
    """Whether an exchange under this address is one of this wire."""
    path = url.partition("?")[0].rstrip("/")
    return path.endswith("/messages") and _OF_OTHERS.search(path) is None


def is_cloud(url: str) -> bool:
    """Whether models of several wires are asked under this address: then the body says whether it is this one."""
    return url.partition("?")[0].endswith(
        ("/invoke", "/invoke-with-response-stream", ":rawPredict", ":streamRawPredict")
    )


# Other services keep messages, too: those of a thread, a channel or a session, which has a name.
_OF_OTHERS = re.compile(r"/(?:threads|conversations|channels|chats|rooms|sessions)/")
_OUTCOMES = ("succeeded", "errored", "canceled", "expired")
_OURS = (b'"tool_use"', b'"tool_result"', b'"cache_control"', b'"max_uses"')
_CHATS = (b'"tool_calls"', b'"tool_call_id"', b'"parameters"')


def asks(record: Record | Body) -> bool:
    """Whether a record with messages is a request of this wire and not of chat completions."""
    tools = bytes(record.tools)
    if record.anthropic_version or b'"input_schema"' in tools:
        return True
    messages = bytes(record.messages)
    if record.system or any(mark in messages or mark in tools for mark in _OURS):
        return not any(mark in messages for mark in _CHATS[:2])
    if any(mark in messages or mark in tools for mark in _CHATS):
        return False
    return bool(record.max_tokens) and "claude" in (record.model or "")


def holds_blocks(message: dict[str, Any]) -> bool:
    """Whether a message without a body around it has calls or results in blocks, as this wire has them."""
    content = message.get("content")
    bare = message.get("role") in ("user", "assistant") and not {"type", "uuid", "id"} & message.keys()
    blocks = content if bare and isinstance(content, list) else ()
    return any(isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result") for block in blocks)


def knows(record: Any) -> float:
    """How surely a parsed record is of this wire: a body, what holds one, or a message that stands alone in a list."""
    return 0.9 if isinstance(record, dict) and holds_blocks(record) else _knows(record)


def _knows(record: Any) -> float:
    if not isinstance(record, dict) or {"uuid", "sessionId"} <= record.keys():  # a message in a row of Claude Code's
        return 0.0
    native = record.get("type")
    if isinstance(native, str) and native in STREAM:
        return (
            1.0 if native.startswith(("message_s", "content_block")) or isinstance(record.get("delta"), dict) else 0.0
        )
    if native == "message":
        return float(record.get("role") == "assistant" and isinstance(record.get("content"), list) and "id" in record)
    if native == "error":
        return 0.5 if isinstance(record.get("error"), dict) and isinstance(record["error"].get("type"), str) else 0.0
    if {"toolConfig", "inferenceConfig"} & record.keys():
        return 0.0
    if native is None and isinstance(record.get("messages"), list):
        named = ("messages", "tools", "system", "max_tokens", "model", "anthropic_version")
        found = typed(record_of, {name: record[name] for name in named if name in record})
        return float(found is not None and asks(found[0]))
    if "custom_id" in record and isinstance(record.get("params"), dict):
        return _knows(record["params"])  # a request of a batch
    if "custom_id" in record and isinstance(record.get("result"), dict):
        return float(record["result"].get("type") in _OUTCOMES)
    sure = sure_of(record, lambda url: 1.0 if is_url(url) else None, lambda body: "messages" in body and _knows(body))
    if sure:
        return sure
    return max(map(_knows, enclosed_in(record)), default=0.0)
