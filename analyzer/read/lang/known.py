"""What tells messages of LangChain from those of others, and where the records of LangGraph hold them."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.values import Raw, first, under

Members = dict[str, Raw]
"""The members of a record as they stand; a record that is a list stands under no name."""

LIST = ""
DEEPEST = 3  # of what stands in a piece of a stream in another one
MODES = frozenset({"values", "updates", "messages", "custom", "debug", "tasks", "checkpoints", "events"})
#: Where a record may hold the messages of a state: of one alone, of a thread, of a checkpoint, of what is streamed.
WAYS = (
    *(("messages",), ("chat_history",), ("values", "messages"), ("channel_values", "messages")),
    *(("checkpoint", "channel_values", "messages"), ("payload", "values", "messages"), ("data", "messages")),
    *(("data", "values", "messages"), ("data", "payload", "values", "messages")),
)
#: Where it may say whose state it is.
THREADS = (
    *(("thread_id",), ("config", "configurable", "thread_id"), ("checkpoint", "thread_id"), ("metadata", "thread_id")),
    *(("payload", "config", "configurable", "thread_id"), ("data", "payload", "config", "configurable", "thread_id")),
)
SPACES = (("config", "configurable", "checkpoint_ns"), ("checkpoint", "checkpoint_ns"))
TABLES = (("tools",), ("kwargs", "tools"), ("invocation_params", "tools"))
_TYPES = frozenset({"human", "ai", "system", "tool", "function", "developer", "remove"})
_CHUNK = "MessageChunk"
_MEMBERS = frozenset(
    {
        *("content", "additional_kwargs", "response_metadata", "type", "name", "id", "example", "tool_calls", "status"),
        *("invalid_tool_calls", "usage_metadata", "tool_call_id", "artifact", "tool_call_chunks", "chunk_position"),
    }
)
_OWN = frozenset({"additional_kwargs", "response_metadata", "invalid_tool_calls"})
_HALVES = frozenset({"request", "response", "input", "output", "inputs", "outputs", "body"})
_STORED = ("lc", "kwargs", "id")
_SEEN = 64

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_json = msgspec.json.Decoder().decode


def record_of(raw: bytes) -> Members:
    """A record, which may be a list."""
    return {LIST: Raw(raw)} if raw.lstrip()[:1] == b"[" else _members(raw)


def at(members: Members, path: tuple[str, ...]) -> Raw | None:
    """What stands in a record under these names; None where nothing does."""
    found: Raw | None = None
    for depth, name in enumerate(path):
        found = members.get(name)
        if found is None or depth + 1 == len(path):
            break
        if first(found) != b"{":
            return None
        members = _members(found)
    return found


def message_in(raw: bytes) -> dict[str, Any]:
    """The members of a message out of what it is stored in; none of what is no object."""
    message = _json(raw)
    for inner in ("kwargs", "data"):
        held = message.get(inner) if isinstance(message, dict) else None
        message = held if isinstance(held, dict) else message
    return message if isinstance(message, dict) else {}


def is_message(value: Any) -> float:
    """How surely a value is a message of LangChain."""
    if not isinstance(value, dict):
        return 0.0
    if all(name in value for name in _STORED):
        path = value["id"]
        last = path[-1] if isinstance(path, list) and path else None
        return 1.0 if isinstance(last, str) and last.endswith(("Message", _CHUNK)) else 0.0
    kind = value.get("type")
    if not isinstance(kind, str) or not (kind in _TYPES or kind.endswith(_CHUNK)) or "role" in value:
        return 0.0
    data = value.get("data")
    if isinstance(data, dict):
        return 1.0 if value.keys() == {"type", "data"} and "content" in data else 0.0
    if "content" not in value:
        return 0.0
    if _OWN & value.keys():
        return 1.0
    if not value.keys() <= _MEMBERS:
        return 0.0
    return 0.8 if kind in ("human", "ai") or "tool_call_id" in value else 0.3


def knows(record: Any, depth: int = 0) -> float:
    """How surely a parsed record is one of these libraries."""
    if isinstance(record, list) and depth <= DEEPEST:
        return _knows_list(record, depth)
    if not isinstance(record, dict) or depth > DEEPEST:
        return 0.0
    stored = record.get("message_data") if "sqlite_table" in record else record
    sure = max(is_message(stored), *(_holds(under(record, way)) for way in WAYS))
    if sure:
        return sure
    data, event = record.get("data"), record.get("event")
    if isinstance(event, str) and event.startswith("on_") and isinstance(data, dict) and "run_id" in record:
        return 0.9
    if isinstance(data, list | dict) and ((isinstance(event, str) and event in MODES) or "ns" in record):
        return knows(data, depth + 1)
    if isinstance(record.get("values"), dict) and isinstance(record.get("next"), list) and "checkpoint" in record:
        return 0.9
    update = not record.keys() & _HALVES and all(isinstance(each, dict | list | None) for each in record.values())
    return max(map(_holds_update, record.values()), default=0.0) if update else 0.0


def _knows_list(record: list[Any], depth: int) -> float:
    """A list of messages, or a piece of a stream behind the name of what is streamed."""
    if len(record) in {2, 3} and isinstance(record[-2], str) and record[-2] in MODES:
        return max(knows(record[-1], depth + 1), 0.6 if isinstance(record[-1], dict | list) else 0.0)
    if len(record) == 2 and isinstance(record[1], dict) and "langgraph_step" in record[1]:
        return is_message(record[0])
    if len(record) == 2 and isinstance(record[0], list) and isinstance(record[1], dict):
        return knows(record[1], depth + 1)
    return _holds(record)


def _holds(value: Any) -> float:
    """How surely a value is a list of messages."""
    if not isinstance(value, list) or not value:
        return 0.0
    sure = [is_message(each) for each in value[:_SEEN] if not (isinstance(each, dict) and "role" in each)]
    return max(sure) if sure and all(sure) else 0.0


def _holds_update(value: Any) -> float:
    """How surely a value is what a node of a graph gave: messages, or several such."""
    if isinstance(value, list):
        return max((_holds_update(each) for each in value[:_SEEN] if isinstance(each, dict)), default=0.0)
    told = value.get("messages") if isinstance(value, dict) else None
    return max(_holds(told), is_message(told))
