"""The messages of the Codex app-server, and what it calls things."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.values import ABSENT, Raw

OURS = ("thread/", "turn/", "item/")
OTHERS = ("tools/", "resources/", "prompts/", "notifications/", "sampling/", "roots/", "completion/", "ping")
MEMBERS = {"id", "method", "params", "result", "error", "jsonrpc"}
START, CALL = "thread/start", "item/tool/call"
NATIVE = {
    "mcpToolCall": "mcp_tool_call",
    "dynamicToolCall": "dynamic_tool_call",
    "commandExecution": "command_execution",
}
STATUSES = {"inProgress": "in_progress", "interrupted": "cancelled"}
DECISIONS = {"accept": "approve", "acceptForSession": "approve", "decline": "deny", "cancel": "cancel"}
ASKED = {"item/commandExecution/requestApproval": "exec_command", "item/fileChange/requestApproval": "apply_patch"}


class Item(msgspec.Struct, gc=False):
    """One step of a turn."""

    type: str | None = None
    id: str | None = None
    text: str | None = None
    phase: str | None = None
    content: Raw = ABSENT
    server: str | None = None
    tool: str | None = None
    namespace: str | None = None
    arguments: Raw = ABSENT
    command: Raw = ABSENT
    status: str | None = None
    success: bool | None = None
    exitCode: int | None = None  # noqa: N815 - the protocol's names
    aggregatedOutput: str | None = None  # noqa: N815
    contentItems: Raw = ABSENT  # noqa: N815
    result: Raw = ABSENT
    error: Raw = ABSENT


class _Named(msgspec.Struct, gc=False):
    id: str | None = None
    status: str | None = None
    error: Raw = ABSENT


class Params(msgspec.Struct, gc=False):
    """What a request or a notification holds, and what a response does."""

    threadId: str | None = None  # noqa: N815
    turnId: str | None = None  # noqa: N815
    itemId: str | None = None  # noqa: N815
    callId: str | None = None  # noqa: N815
    thread: _Named | None = None
    turn: _Named | None = None
    item: Item | None = None
    tool: str | None = None
    namespace: str | None = None
    arguments: Raw = ABSENT
    dynamicTools: Raw = ABSENT  # noqa: N815
    model: str | None = None
    contentItems: Raw = ABSENT  # noqa: N815
    success: bool | None = None
    decision: Raw = ABSENT


class Message(msgspec.Struct, gc=False):
    """A request, a notification or a response."""

    method: str | None = None
    id: Raw = ABSENT
    params: Params | None = None
    result: Params | None = None
    error: Raw = ABSENT
    jsonrpc: str | None = None


class Question(msgspec.Struct, gc=False):
    """A request that waits for its answer."""

    method: str
    params: Params
    place: Place


decode = msgspec.json.Decoder(Message).decode
texts_in = msgspec.json.Decoder(list[dict[str, Any]]).decode
