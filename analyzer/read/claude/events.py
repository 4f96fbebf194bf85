"""Events of Managed Agents sessions: their members, their kinds, and what tells them from other records."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.recover import Unreadable, parse, typed
from analyzer.read.values import ABSENT, Raw, first

CALLS = {"agent.tool_use": "hosted", "agent.mcp_tool_use": "mcp", "agent.custom_tool_use": "function"}
RESULTS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}
KINDS = {
    **dict.fromkeys(CALLS, "item"),
    **dict.fromkeys(RESULTS, "item"),
    **dict.fromkeys(("agent.message", "agent.thinking", "agent.thread_context_compacted"), "item"),
    **dict.fromkeys(("agent.thread_message_sent", "agent.thread_message_received"), "notice"),
    **dict.fromkeys(("user.message", "user.interrupt", "user.tool_confirmation", "user.define_outcome"), "input"),
    **{
        f"session.status_{word}": "session" for word in ("running", "idle", "rescheduled", "rescheduling", "terminated")
    },
    **{f"session.thread_status_{word}": "notice" for word in ("running", "idle", "rescheduled", "terminated")},
    **dict.fromkeys(("session.updated", "session.deleted"), "session"),
    **dict.fromkeys(("session.thread_created", "span.model_request_start", "span.model_request_end"), "notice"),
    **{f"span.outcome_evaluation_{word}": "notice" for word in ("start", "ongoing", "end")},
    "session.error": "error",
}
_FAMILIES = ("agent.", "user.", "session.", "span.", "system.")


class Agent(msgspec.Struct, gc=False):
    """The agent inside a session, or the members of it that an update changes."""

    id: str | None = None
    name: str | None = None
    model: Raw = ABSENT
    system: str | None = None
    tools: Raw = ABSENT


class Stop(msgspec.Struct, gc=False):
    """Why a session is idle."""

    type: str | None = None
    event_ids: list[str] | None = None


class Event(msgspec.Struct, gc=False):
    """Everything that one record may be: an event, a session, a page, what is sent, an exchange, an envelope."""

    type: str | None = None
    id: str | None = None
    processed_at: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    server: str | None = msgspec.field(default=None, name="mcp_server_name")
    permission: str | None = msgspec.field(default=None, name="evaluated_permission")
    thread: str | None = msgspec.field(default=None, name="session_thread_id")
    tool_use_id: str | None = None
    mcp_tool_use_id: str | None = None
    custom_tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    result: Raw = ABSENT
    stop_reason: Stop | None = None
    agent: Raw = ABSENT
    status: Raw = ABSENT
    data: Raw = ABSENT
    events: Raw = ABSENT
    event: Raw = ABSENT
    session_id: str | None = None
    created_at: str | None = None
    http: Raw = ABSENT
    request: Raw = ABSENT


event_of = msgspec.json.Decoder(Event).decode
_agent = msgspec.json.Decoder(Agent).decode


def knows(record: Any) -> bool:
    """Whether a parsed record is of this wire."""
    if isinstance(record, list):
        named = len(record) == 2 and isinstance(record[0], str) and record[0].startswith("client.beta.sessions")
        return named and isinstance(record[1], dict | list)
    if not isinstance(record, dict):
        return False
    native = record.get("type")
    if isinstance(native, str):
        own = isinstance(record.get("id"), str) and record["id"].startswith(("sevt_", "sesn_"))
        return native in KINDS or (own and (native == "session" or native.startswith(_FAMILIES)))
    for name in ("events", "data"):
        if isinstance(record.get(name), list):
            return any(
                isinstance(each, dict) and isinstance(each.get("type"), str) and knows(each)
                for each in record[name][:8]
            )
    if isinstance(record.get("event"), dict):
        return knows(record["event"])
    half = record.get("http") if isinstance(record.get("http"), dict) else record.get("request")
    urls = [each.get(name) for each in (half, record) if isinstance(each, dict) for name in ("url", "uri", "path")]
    return any(isinstance(url, str) and is_url(url) for url in urls)


def is_event(event: Event) -> bool:
    """Whether a record is an event of a session."""
    native = event.type
    return native is not None and (native in KINDS or (native.startswith(_FAMILIES) and is_own(event.id)))


def agent_of(raw: Raw) -> Agent:
    """What stands in the place of an agent."""
    if first(raw) != b"{":
        return Agent()
    try:
        return _agent(raw)
    except (msgspec.DecodeError, RecursionError):
        found = typed(_agent, value_of(bytes(raw)))
        return Agent() if found is None else found[0]


def value_of(raw: bytes) -> Any:
    """A record with all that can be read of it; None where it is no JSON."""
    parsed = parse(raw)
    return None if isinstance(parsed, Unreadable) else parsed[0]


def is_own(name: str | None) -> bool:
    """Whether an id is one of an event."""
    return name is not None and name.startswith("sevt_")


def is_url(url: str) -> bool:
    """Whether an exchange under this address is one of this wire."""
    return "/v1/sessions" in url and "/agents/sessions" not in url
