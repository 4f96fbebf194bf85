"""The wire by the types of the `openai` package (`openai.types.beta`, header `agents=v1`): words and records."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from analyzer.read.values import ABSENT, Int64, Raw

NAME = "openai-agents-api"

_SESSION_EVENTS = ("created", "in_progress", "idle", "requires_action", "failed")
_TURN_EVENTS = ("created", "in_progress", "completed", "failed", "cancelled")
_DELTAS = (
    "turn.content_part.added",
    "turn.content_part.done",
    "turn.output_text.delta",
    "turn.output_text.done",
    "turn.reasoning_summary_part.added",
    "turn.reasoning_summary_part.done",
    "turn.reasoning_summary_text.delta",
    "turn.reasoning_summary_text.done",
)
_NOTICES = (
    *(f"subagent.{word}" for word in ("created", "active", "closed")),
    *(
        f"environment.{word}"
        for word in ("pending", "ready", "connected", "disconnected", "suspended", "expired", "failed", "reset")
    ),
)
_INPUTS = ("message", "cancel", "tool_result", "mcp_approval_request_result", "computer_use_approval_request_result")

KINDS: dict[str, str] = {
    **{f"agent.session.{word}": "session" for word in _SESSION_EVENTS},
    **{f"agent.session.turn.{word}": "turn" for word in _TURN_EVENTS},
    **{f"agent.session.turn.item.{word}": "item" for word in ("added", "done")},
    **{f"agent.session.{word}": "delta" for word in _DELTAS},
    "agent.output.command_execution_output.delta": "delta",
    **{f"agent.session.{word}": "notice" for word in _NOTICES},
    **{f"agent.session.input.{word}": "input" for word in _INPUTS},
    "error": "error",
}
_DELTA_TYPES = tuple(native for native, kind in KINDS.items() if kind == "delta")
WEBHOOKS = frozenset(
    {
        *(f"agent.session.{word}" for word in ("action_required", *_SESSION_EVENTS)),
        *(f"agent.environment.{word}" for word in ("ready", "failed", "suspended", "expired")),
    }
)
PLAIN_ITEMS = frozenset(
    {
        "reasoning",
        "command_execution",
        "web_search_call",
        "computer_use_call",
        "computer_use_approval_request",
        "computer_use_approval_request_result",
        "create_subagent_call",
        "send_subagent_input_call",
        "resume_subagent_call",
        "interrupt_subagent_call",
        "close_subagent_call",
        "wait_for_subagents_call",
        "agent_message",
    }
)
ITEMS = PLAIN_ITEMS | {"function_call", "function_call_output", "mcp_call", "message"}
RESOURCES = frozenset({"agent.session.subagent", "agent.session.artifact"})
TRACE = b'"agent.session.trace"'  # OTLP inside: for another adapter


class Item(msgspec.Struct, gc=False):
    """The members of an item that the audit reads."""

    id: str | None = None
    type: str = ""
    status: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    role: str | None = None
    phase: str | None = None
    content: Raw = ABSENT
    server_label: str | None = None


class Action(msgspec.Struct, gc=False):
    """One required action."""

    type: str = ""
    turn_id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    request_id: str | None = None
    request: Raw = ABSENT


class MultiAgent(msgspec.Struct, gc=False):
    """Subagent settings."""

    max_concurrent_subagents: Int64 | None = None


class Agent(msgspec.Struct, gc=False):
    """The agent inside a session snapshot or a request."""

    id: str | None = None
    name: str | None = None
    model: str | None = None
    multi_agent: MultiAgent | None = None
    text: Raw = ABSENT
    instructions: str | None = None
    tools: Raw = ABSENT


class Create(msgspec.Struct, gc=False):
    """The body of a request that makes a session, as far as its shape is published."""

    environment: Environment | None = None
    agent: Agent | None = None
    agent_id: str | None = None
    input: str | list[Raw] | None = None
    metadata: Raw = ABSENT
    vault_ids: list[str] | None = None


class Environment(msgspec.Struct, gc=False):
    """Where the agent's programs run."""

    type: str | None = None


class Session(msgspec.Struct, gc=False):
    """A session snapshot."""

    id: str | None = None
    status: str | None = None
    required_actions: list[Action] | None = None
    agent: Agent | None = None


class Turn(msgspec.Struct, gc=False):
    """A turn resource."""

    id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    subagent_id: str | None = None
    status: str | None = None
    error: Raw = ABSENT


class Subagent(msgspec.Struct, gc=False):
    """A subagent resource."""

    id: str | None = None
    session_id: str | None = None


class Record(msgspec.Struct, gc=False):
    """Everything that one record may be: an event, an envelope, a body, an exchange, a resource or a page.

    In the order of the wire, in which the decoder looks for them.
    """

    event_id: str | None = None
    type: str | None = None
    session_id: str | None = None
    sequence_number: Int64 | None = None
    recorded_at: str | int | float | None = None
    turn_id: str | None = None
    output_index: Int64 | None = None
    item: Item | None = None
    call_id: str | None = None
    success: bool | None = None
    output: Raw = ABSENT
    error: Raw = ABSENT
    session: Session | None = None
    turn: Turn | None = None
    subagent: Subagent | None = None
    direction: str | None = None
    input: Raw = ABSENT
    request_id: str | None = None
    response: Raw = ABSENT
    event: Raw = ABSENT
    events: Raw = ABSENT
    http: Raw = ABSENT
    agent: Raw = ABSENT
    object: str | None = None
    data: Raw = ABSENT
    has_more: bool | None = None


class Subject(msgspec.Struct, gc=False):
    """What a webhook is about."""

    id: str | None = None


class Http(msgspec.Struct, gc=False):
    """The request half of a recorded exchange."""

    method: str = ""
    path: str = ""
    url: str = ""
    headers: dict[str, Any] = {}
    body: Raw = ABSENT


class Response(msgspec.Struct, gc=False):
    """The response half of a recorded exchange."""

    status: int | None = None
    body: Raw = ABSENT


class Piece(msgspec.Struct, gc=False):
    """What a row of EVENTS needs of a piece of a streamed text: cheaper than looking for every member of Record."""

    event_id: str | None = None
    type: Literal[_DELTA_TYPES] | None = None  # type: ignore[valid-type]
    session_id: str | None = None
    sequence_number: Int64 | None = None
    recorded_at: str | int | float | None = None
    turn_id: str | None = None


class McpRequest(msgspec.Struct, gc=False):
    """What an MCP approval request asks for."""

    server_label: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


decode_record = msgspec.json.Decoder(Record).decode
decode_piece = msgspec.json.Decoder(Piece).decode
decode_item = msgspec.json.Decoder(Item).decode
decode_metadata = msgspec.json.Decoder(dict[str, str] | None).decode
decode_create = msgspec.json.Decoder(Create).decode
decode_session = msgspec.json.Decoder(Session).decode
decode_turn = msgspec.json.Decoder(Turn).decode
decode_agent = msgspec.json.Decoder(Agent).decode
decode_subject = msgspec.json.Decoder(Subject).decode
decode_http = msgspec.json.Decoder(Http).decode
decode_response = msgspec.json.Decoder(Response).decode
decode_mcp_request = msgspec.json.Decoder(McpRequest).decode
decode_string = msgspec.json.Decoder(str).decode
decode_raws = msgspec.json.Decoder(list[Raw]).decode
