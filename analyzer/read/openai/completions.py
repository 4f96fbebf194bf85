"""What a record of chat completions may hold, and what tells it from records of other wires."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.members import held
from analyzer.read.openai.chunks import Choice as Piece
from analyzer.read.openai.messages import Plain
from analyzer.read.recorded import Recorded, enclosed_in, sure_of
from analyzer.read.values import ABSENT, Int64, Raw, first

LISTS = {"traj": "/traj", "messages": "/messages", "history": "/history"}
_OTHERS = (
    b'"tool_use"',
    b'"tool_result"',
    b'"input_schema"',
    b'"toolUse"',
    b'"toolResult"',
    b'"inputSchema"',
    b'"tool-call"',
    b'"tool-result"',
)
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class Usual(Piece, gc=False):
    """One of the alternatives of a usual response, or a piece of one."""

    message: Plain | None = None


class Body(msgspec.Struct, gc=False):
    """A bare request or response, as nearly all are."""

    object: str | None = None
    id: str | None = None
    model: str | msgspec.UnsetType | None = msgspec.UNSET
    choices: list[Usual] | None = None
    messages: Raw = ABSENT
    tools: Raw = ABSENT
    functions: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    response_format: Raw = ABSENT
    session_id: str | None = None
    conversation_id: str | None = None
    traj: Raw = ABSENT
    history: Raw = ABSENT
    simulations: Raw = ABSENT
    task_id: Raw = ABSENT
    trial: Raw = ABSENT
    error: Raw = ABSENT
    response: Raw = ABSENT
    output: Raw = ABSENT
    completion: Raw = ABSENT


class Choice(msgspec.Struct, gc=False):
    """One of the alternatives of a response."""

    message: Raw = ABSENT
    delta: Raw = ABSENT
    finish_reason: str | None = None
    index: Int64 | None = None


class Parameters(msgspec.Struct, gc=False):
    """What a gateway logs beside the messages of a request."""

    tools: Raw = ABSENT


class Failure(msgspec.Struct, gc=False):
    """The provider's error."""

    code: Raw = ABSENT
    failed_generation: str | None = None


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    object: str | None = None
    id: Raw = ABSENT
    model: Raw = ABSENT
    traj: Raw = ABSENT
    history: Raw = ABSENT
    trajectory: Raw = ABSENT
    simulations: Raw = ABSENT
    tools: Raw = ABSENT
    functions: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    response_format: Raw = ABSENT
    role: str | None = None
    task_id: Raw = ABSENT
    trial: Raw = ABSENT
    session_id: str | None = None
    conversation_id: str | None = None
    model_parameters: Raw = ABSENT
    done: bool | None = None
    done_reason: str | None = None


record_of = msgspec.json.Decoder(Record).decode
choices_of = msgspec.json.Decoder(list[Choice]).decode
parameters_of = msgspec.json.Decoder(Parameters).decode
failure_of = msgspec.json.Decoder(Failure).decode
body_of = msgspec.json.Decoder(Body).decode


def list_in(record: Record | Body) -> str | None:
    """The member that holds messages, or lists of them."""
    if record.messages and not (record.simulations or record.traj) and first(record.messages) == b"[":
        return "messages"
    names = ["simulations", "traj", "messages"]
    if isinstance(record, Record) and record.trajectory:  # others have a history, too
        names.append("history")
    for name in names:
        raw: Raw = getattr(record, name)
        if raw and first(raw) == b"[":
            return name
    return None


def table_in(record: Record | Body) -> tuple[bytes, str]:
    """The text of a tool table, and where it stands."""
    if isinstance(record, Record) and record.model_parameters and not record.tools:
        return bytes(held(parameters_of, record.model_parameters, Parameters())[0].tools), "/model_parameters/tools"
    return (bytes(record.tools), "/tools") if record.tools else (bytes(record.functions), "/functions")


def knows(record: Any) -> float:
    """How surely a parsed record is of this wire."""
    if not isinstance(record, dict):
        return 0.0
    if record.get("object") in ("chat.completion", "chat.completion.chunk"):
        return 1.0
    if isinstance(record.get("choices"), list):
        held_ = [each for each in record["choices"] if isinstance(each, dict)]
        return 0.9 if any("message" in each or "delta" in each for each in held_) else 0.0
    if isinstance(record.get("simulations"), list):
        return 0.9
    if isinstance(record.get("finishReason"), str):
        return 0.0  # a step of the AI SDK, which holds messages
    if isinstance(record.get("tool_call_metadata"), dict):
        return 0.0  # an event of OpenHands, which keeps the response that it came of
    for name in LISTS:
        if isinstance(record.get(name), list):
            return _knows_list(record, record[name], name)
    if isinstance(record.get("error"), dict) and "type" not in record and "id" not in record:
        return 0.2 if "jsonrpc" not in record else 0.0
    if "role" in record:
        return _is_message(record)
    if isinstance(record.get("done"), bool) and isinstance(record.get("message"), dict):
        return 1.0 if "role" in record["message"] else 0.0
    return max(
        sure_of(record, lambda url: float(is_url(url)), _knows_body),
        *map(knows, enclosed_in(record)),
        0.0,
    )


def is_url(url: str) -> bool:
    """Whether an exchange under this address is one of this wire."""
    return url.partition("?")[0].rstrip("/").endswith(("/chat/completions", "/api/chat"))


def wire_of(listing: bytes) -> str | None:
    """tau2 carries arguments as objects: what holds for this wire does not hold for it."""
    return "tau2-bench" if b'"requestor"' in listing else None


def _is_message(value: Any) -> float:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str) or value["role"] not in ROLES:
        return 0.0
    if any(name in value for name in ("tool_calls", "tool_call_id", "function_call", "tool_call_ids")):
        return 0.9
    return 0.1 if "content" in value and "type" not in value else 0.0


def _knows_list(record: dict[str, Any], messages: list[Any], name: str) -> float:
    if name == "history" and "trajectory" not in record:
        return 0.0
    if messages and not any(isinstance(each, dict) and "role" in each for each in messages):
        return 0.0
    try:
        text = msgspec.json.encode([messages[:64], record.get("tools")])
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        text = b""
    if any(mark in text for mark in _OTHERS) or {"toolConfig", "system", "anthropic_version"} & record.keys():
        return 0.0
    if b'"function"' in text or b'"tool_calls"' in text or b'"tool_call_id"' in text or "functions" in record:
        return 0.95
    return 0.6 if all(map(_is_message, messages)) else 0.0


def _knows_body(body: dict[str, Any]) -> float:
    return knows(body) if "messages" in body and "model" in body else 0.0
