"""The messages of JSON-RPC as MCP uses it, and what recorders put around them."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.recorded import HALVES
from analyzer.read.recover import Unreadable, parse
from analyzer.read.values import ABSENT, Raw, first, text_of

CALL = "tools/call"
ENVELOPES = ("msg", "message", "payload", "frame", "data")
_PARTS = frozenset({"text", "image", "audio", "resource", "resource_link"})


class Params(msgspec.Struct, gc=False):
    """The members of `params` that the audit reads."""

    name: str | None = None
    arguments: Raw = ABSENT
    cursor: str | None = None
    request_id: Raw = msgspec.field(default=ABSENT, name="requestId")
    request_state: Raw = msgspec.field(default=ABSENT, name="requestState")
    input_responses: Raw = msgspec.field(default=ABSENT, name="inputResponses")
    task_id: str | None = msgspec.field(default=None, name="taskId")
    meta: Raw = msgspec.field(default=ABSENT, name="_meta")


class Meta(msgspec.Struct, gc=False):
    """What a request says of its connection, since there is none."""

    protocol: str | None = msgspec.field(default=None, name="io.modelcontextprotocol/protocolVersion")


class Server(msgspec.Struct, gc=False):
    """Who the server says it is."""

    name: str | None = None


class Task(msgspec.Struct, gc=False):
    """What stands for a result that comes later."""

    task_id: str | None = msgspec.field(default=None, name="taskId")


class Result(msgspec.Struct, gc=False):
    """The members of `result` that the audit reads."""

    content: Raw = ABSENT
    structured: Raw = msgspec.field(default=ABSENT, name="structuredContent")
    is_error: bool | None = msgspec.field(default=None, name="isError")
    tools: Raw = ABSENT
    next_cursor: str | None = msgspec.field(default=None, name="nextCursor")
    server: Server | None = msgspec.field(default=None, name="serverInfo")
    result_type: str | None = msgspec.field(default=None, name="resultType")
    request_state: Raw = msgspec.field(default=ABSENT, name="requestState")
    task: Task | None = None
    protocol: Raw = msgspec.field(default=ABSENT, name="protocolVersion")


class Message(msgspec.Struct, gc=False):
    """A request, a notification or a response."""

    jsonrpc: str | None = None
    id: Raw = ABSENT
    method: str | None = None
    params: Params | None = None
    result: Result | None = None
    error: Raw = ABSENT


class Line(Message, gc=False):
    """A message, or the envelope of one, or a recorded exchange."""

    msg: Message | None = None
    message: Raw = ABSENT
    payload: Raw = ABSENT
    frame: Raw = ABSENT
    data: Raw = ABSENT
    server: Raw = ABSENT
    dir: str | None = None
    direction: str | None = None
    ts: str | int | float | None = None
    timestamp: str | int | float | None = None
    time: Raw = ABSENT
    recorded_at: str | int | float | None = None
    http: Raw = ABSENT
    request: Raw = ABSENT
    response: Raw = ABSENT
    server_name: Raw = ABSENT
    serverName: Raw = ABSENT  # noqa: N815 - so proxies write it
    mcp_server: Raw = ABSENT
    connection_id: Raw = ABSENT
    connectionId: Raw = ABSENT  # noqa: N815


class Half(msgspec.Struct, gc=False):
    """The request or the response of a recorded exchange."""

    headers: Raw = ABSENT


class Part(msgspec.Struct, gc=False):
    """A content part of a result."""

    type: str
    text: str | None = None


_OTHER_HALVES = tuple(name for pair in HALVES[2:] for name in pair)
decode_line = msgspec.json.Decoder(Line).decode
decode_half = msgspec.json.Decoder(Half).decode
_parts = msgspec.json.Decoder(list[Part]).decode
_meta = msgspec.json.Decoder(Meta).decode
decode_list = msgspec.json.Decoder(list[Raw]).decode
_texts = msgspec.json.Decoder(dict[str, Any]).decode


def answers_client(result: Result | None) -> bool:
    """Whether only a server answers like this."""
    return result is not None and bool(
        first(result.content) == b"[" or result.structured or result.tools or result.server or result.task
    )


def output_of(raw: Raw) -> tuple[str | None, str]:
    """The texts of a result's content parts joined, and the container."""
    try:
        parts = _parts(raw)
    except msgspec.DecodeError:
        if first(raw) == b"[":
            return bytes(raw).decode(), "array"
        return text_of(raw), {b"": "absent", b'"': "text", b"{": "object", b"n": "null"}.get(first(raw), "number")
    if len(parts) == 1 and parts[0].type in _PARTS:
        return parts[0].text or "", "parts"
    if any(part.type not in _PARTS for part in parts):
        return bytes(raw).decode(), "array"
    return "\n".join([part.text for part in parts if part.text is not None]), "parts"


def protocol_in(meta: Raw) -> str | None:
    """The version of the protocol that a request names."""
    try:
        return _meta(meta).protocol if first(meta) == b"{" else None
    except msgspec.DecodeError:
        return None


def header(raw: Raw, name: str) -> str | None:
    """A header's value, from an object or from a list of names and values."""
    pairs: list[tuple[Any, Any]]
    if first(raw) == b"{":
        pairs = list(_texts(raw).items())
    elif first(raw) == b"[":
        entries = msgspec.json.decode(raw)
        pairs = [(each.get("name"), each.get("value")) for each in entries if isinstance(each, dict)]
    else:
        return None
    found = [value for key, value in pairs if isinstance(key, str) and key.lower() == name]
    value = found[0][0] if found and isinstance(found[0], list) and found[0] else found[0] if found else None
    return value if isinstance(value, str) else None


def when_of(record: Line) -> str | int | float | None:
    """When the recorder says it was."""
    if record.ts is not None:
        return record.ts
    when = record.timestamp if record.timestamp is not None else record.recorded_at
    return when if when is not None else text_of(record.time) if record.time else None


def knows(record: Any) -> bool:
    """Whether a parsed record is of this wire."""
    if isinstance(record, list):
        return any(isinstance(each, dict) and knows(each) for each in record[:8])
    if not isinstance(record, dict):
        return False
    if isinstance(record.get("jsonrpc"), str):
        return any(name in record for name in ("method", "result", "error", "id"))
    inner = [record.get(name) for name in (*ENVELOPES, *_OTHER_HALVES)]
    for half in (record.get("http"), record.get("request"), record.get("response")):
        for body in half.values() if isinstance(half, dict) else ():
            inner += [body, *(body.get("text"), body.get("string"))] if isinstance(body, dict) else [body]
        inner.append(half)
    return any(map(_holds, inner))


def _holds(value: Any) -> bool:
    """Whether a member of an envelope or an exchange is a message, a batch, or the text of one."""
    if isinstance(value, str):
        if '"jsonrpc"' not in value:
            return False
        opened = parse(value.encode("utf-8", "replace"))
        return isinstance(opened, Unreadable) or _holds(opened[0])  # what is no JSON may be a stream
    return (
        knows(value) if isinstance(value, list) else isinstance(value, dict) and isinstance(value.get("jsonrpc"), str)
    )
