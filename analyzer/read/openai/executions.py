"""What Codex says of the execution of a call: in `item_completed`, in older events, on standard output."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.values import ABSENT, Raw, first, text_of


class Execution(msgspec.Struct, gc=False):
    """One execution; the pointers begin at the payload, or at the line where it was printed."""

    call_id: str
    kind: str
    server: str | None
    name: str | None
    status: str | None
    arguments: Raw
    command: str | None
    success: bool | None
    exit_code: int | None
    output: str | None
    content: Raw
    result: Raw
    error: Raw
    to_arguments: str
    to_result: str


class Outcome(msgspec.Struct, gc=False):
    """What came of it."""

    success: bool | None
    error: str | None
    text: str | None
    container: str
    structured: str | None


class Ran(msgspec.Struct, gc=False):
    """An item that may tell of an execution."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    server: str | None = None
    tool: str | None = None
    namespace: str | None = None
    arguments: Raw = ABSENT
    command: Raw = ABSENT
    status: str | None = None
    success: bool | None = None
    exit_code: int | None = None
    aggregated_output: str | None = None
    content_items: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class _McpResult(msgspec.Struct, gc=False):
    content: Raw = ABSENT
    isError: bool | None = None  # noqa: N815 - the protocol's name
    is_error: bool | None = None
    structuredContent: Raw = ABSENT  # noqa: N815 - the protocol's name
    structured_content: Raw = ABSENT
    Ok: Raw = ABSENT
    Err: Raw = ABSENT


class _Part(msgspec.Struct, gc=False):
    text: str | None = None


_parts = msgspec.json.Decoder(list[_Part]).decode
_ran = msgspec.json.Decoder(Ran).decode
_mcp_result = msgspec.json.Decoder(_McpResult).decode

_MCP = frozenset({"McpToolCall", "mcp_tool_call", "mcp_tool_call_end"})
_DYNAMIC = frozenset({"DynamicToolCall", "dynamic_tool_call", "dynamic_tool_call_response"})
_COMMAND = frozenset({"CommandExecution", "command_execution", "exec_command_end"})


def execution_of(holder: Any) -> Execution | None:
    """The execution that the payload of an event, or an item as it was printed, tells of, if it tells of one."""
    if isinstance(holder, Raw):
        return execution_in(_ran(holder))
    if first(holder.item) == b"{":
        return execution_in(_lenient(holder.item))
    held = _lenient(holder.invocation) if first(holder.invocation) == b"{" else Ran()
    ran = Ran(
        *(holder.type, None, holder.call_id, held.server, held.tool or holder.name, None),
        *(held.arguments, ABSENT, holder.status, holder.success, holder.exit_code, holder.aggregated_output),
        *(holder.content_items, holder.result, holder.error),
    )
    return execution_in(ran, "", "/invocation/arguments")


def execution_in(ran: Ran, where: str = "/item", to_arguments: str = "/item/arguments") -> Execution | None:
    """The execution that an item tells of, if it tells of one."""
    call_id, native = ran.call_id or ran.id, ran.type
    if call_id is None:
        return None
    kind, name, server, command, asked = "function", ran.tool, ran.namespace, None, ran.arguments
    if native in _MCP:
        kind, server = "mcp", ran.server
        to_result = where + ("/result" if ran.result and bytes(ran.result) != b"null" else "/error")
    elif native in _DYNAMIC:
        to_result = where + "/content_items"
    elif native in _COMMAND:
        kind, name, to_arguments, asked = "hosted", "exec_command", where + "/command", ABSENT
        to_result = where if ran.aggregated_output is None else where + "/aggregated_output"
        command = text_of(ran.command)
    else:
        return None
    return Execution(
        call_id,
        kind,
        server,
        name,
        ran.status,
        asked,
        command,
        ran.success,
        ran.exit_code,
        ran.aggregated_output,
        ran.content_items,
        ran.result,
        ran.error,
        to_arguments,
        to_result,
    )


def outcome_of(ran: Execution) -> Outcome:
    """The result of an execution. Codex keeps no flag for it in the transcript: this is where it stands."""
    failed = ran.status in {"failed", "declined"}
    if ran.kind == "hosted":
        success = None if ran.exit_code is None else ran.exit_code == 0
        return Outcome(success, None, ran.output, "text" if ran.output is not None else "absent", None)
    if ran.kind == "function":
        success = ran.success if ran.success is not None else not failed
        return Outcome(success, None, _texts(ran.content), "parts", None)
    error = _error(ran.error)
    result = _McpResult()
    if ran.result:
        try:
            result = _mcp_result(ran.result)
        except (msgspec.DecodeError, RecursionError):
            error = error or (text_of(ran.result) if first(ran.result) == b'"' else None)
    if result.Ok:
        result = _result(result.Ok)
    elif result.Err:
        error = error or text_of(result.Err)
    structured = bytes(result.structuredContent) or bytes(result.structured_content)
    success = not (failed or result.isError or result.is_error or error is not None)
    text = _texts(result.content)
    container = "absent" if text is None else "parts"
    return Outcome(success, error, text, container, structured.decode() if structured[:1] in {b"{", b"["} else None)


def _lenient(raw: Raw) -> Ran:
    try:
        return _ran(raw)
    except (msgspec.DecodeError, RecursionError):
        return Ran()


def _result(raw: Raw) -> _McpResult:
    try:
        return _mcp_result(raw)
    except (msgspec.DecodeError, RecursionError):
        return _McpResult()


def _error(raw: Raw) -> str | None:
    if not raw:
        return None
    if first(raw) == b"{":
        value = msgspec.json.decode(raw)
        message = value.get("message")
        return message if isinstance(message, str) else bytes(raw).decode()
    return text_of(raw)


def _texts(raw: Raw) -> str | None:
    if not raw:
        return None
    try:
        return "\n".join([part.text for part in _parts(raw) if part.text is not None])
    except msgspec.DecodeError:
        parts = msgspec.json.decode(raw)
    if not isinstance(parts, list):
        return None
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
