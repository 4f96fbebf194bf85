"""The rows of what one event holds: an item, an input, a snapshot of the session, a turn."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from analyzer.read.agents_api.tables import Tables
from analyzer.read.agents_api.wire import (
    NAME,
    PLAIN_ITEMS,
    Action,
    Agent,
    Item,
    McpRequest,
    Record,
    Session,
    Turn,
    decode_mcp_request,
)
from analyzer.read.members import held
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, arguments, first, output, text_of, words

SUPPORTED = frozenset({"input_text", "input_image"})  # parts of an output; a list with any other is no text


class At(NamedTuple):
    """The event that rows belong to."""

    event: int
    session: str | None
    turn: str | None
    accepted: bool | None = None
    key: str | None = None


class Parts:
    """Appends the rows of what events hold; pointers lead from the event."""

    def __init__(self, rows: Rows, tables: Tables) -> None:
        self._rows = rows
        self._tables = tables

    def append(self, record: Record, native: str, kind: str, at: At) -> None:
        """Append the rows of what an event of this type and kind holds."""
        if kind == "item":
            if record.item is not None:
                stage = "item" if native.endswith("added") else "done"
                self.item(record.item, stage, at, record.output_index, "/item")
            else:
                detail = "the event has no item"
                self._rows.faults.append((at.event, at.session, "member_missing", "/item", detail, None))
        elif kind == "input":
            self._input(record, at)
        elif kind == "session":
            if record.session is not None:
                self.snapshot(record.session, at, "/session")
        elif kind == "turn" and record.turn is not None:
            self.turn(record.turn, native.rpartition(".")[2], at)

    def item(self, item: Item, stage: str, at: At, index: int | None, pointer: str) -> None:
        """Append the rows of an item that stands at `pointer`."""
        native = item.type
        turn = item.turn_id or at.turn
        if native == "function_call":
            text, container = arguments(item.arguments)
            self._rows.call_sightings.append(
                (
                    *(at.event, at.session, turn, NAME, stage, None, item.id, item.call_id),
                    *(item.call_id if item.call_id is not None else item.id, "function", None, item.name),
                    *(text, container, item.status, "client", index, f"{pointer}/arguments"),
                )
            )
        elif native == "function_call_output":
            self._result(item, at, turn, pointer)
        elif native == "message":
            self._rows.messages.append(
                (
                    *(at.event, at.session, turn, item.id, item.role, item.phase, item.status),
                    *(words(item.content), f"{pointer}/content"),
                )
            )
        elif native == "mcp_call":
            text, container = arguments(item.arguments)
            self._rows.call_sightings.append(
                (
                    *(at.event, at.session, turn, NAME, stage, None, item.id, None, item.id),
                    *("mcp", item.server_label, item.name, text, container, item.status, "server"),
                    *(index, f"{pointer}/arguments"),
                )
            )
            if item.status in ("completed", "failed"):
                self._result(item, at, turn, pointer)
        elif native not in PLAIN_ITEMS:
            detail = f"an item of type {native[:80]!r}"
            self._rows.faults.append((at.event, at.session, "unknown_item", f"{pointer}/type", detail, None))

    def _result(self, item: Item, at: At, turn: str | None, pointer: str) -> None:
        text, container = output(item.output, SUPPORTED)
        error = text_of(item.error)
        self._rows.result_sightings.append(
            (
                *(at.event, at.session, turn, NAME, "echo", item.id, item.call_id),
                *(item.call_id if item.call_id is not None else item.id, None, succeeded(item.status, error)),
                *(item.status, error, text, container, None, None, None, f"{pointer}/{shown(container, error)}"),
            )
        )

    def _input(self, record: Record, at: At) -> None:
        native = record.type
        if native == "agent.session.input.tool_result":
            text, container = output(record.output, SUPPORTED)
            error = text_of(record.error)
            where = "/" + shown(container, error) if error is not None or container != "absent" else ""
            self._rows.result_sightings.append(
                (
                    *(at.event, at.session, at.turn, NAME, "post", None, record.call_id, record.call_id, None),
                    *(record.success, None, error, text, container, None, at.accepted, at.key, where),
                )
            )
        elif native == "agent.session.input.mcp_approval_request_result":
            decision = _decision(record.response) if first(record.response) == b"{" else None
            if at.accepted is not False:
                self._rows.approvals.append(
                    (
                        *(at.event, at.session, None, record.request_id, "decision"),
                        *(None, None, None, decision, None, "/response"),
                    )
                )
        elif native == "agent.session.input.message":
            self._rows.messages.append(
                (at.event, at.session, None, None, "user", None, None, words(record.input), "/input")
            )

    def snapshot(self, snapshot: Session, at: At, pointer: str) -> None:
        """Append the rows of the state of a session that stands at `pointer`."""
        agent = snapshot.agent or Agent()
        actions = snapshot.required_actions
        for index, action in enumerate(actions or ()):
            place = f"{pointer}/required_actions/{index}"
            if action.type == "function_call":
                text, container = arguments(action.arguments)
                self._rows.call_sightings.append(
                    (
                        *(at.event, at.session, action.turn_id, NAME, "action", None, None, action.call_id),
                        *(action.call_id, "function", None, action.name, text, container, None, "client", None),
                        f"{place}/arguments",
                    )
                )
            else:
                self.action(action, at, place)
        many = None if agent.multi_agent is None else agent.multi_agent.max_concurrent_subagents
        self._rows.session_states.append(
            (
                *(at.event, at.session, snapshot.status, agent.id, agent.name, agent.model, many, None),
                *(bytes(agent.text).decode() or None, agent.instructions, None),
                None if actions is None else len(actions),
            )
        )
        self._tables.show(agent.tools, at.event, at.session, "session", f"{pointer}/agent/tools")

    def action(self, action: Action, at: At, pointer: str) -> None:
        """Append the rows of a required action other than a call of a function."""
        if action.type == "mcp_approval_request" and first(action.request) == b"{":
            request, _ = held(decode_mcp_request, action.request, McpRequest())
            text, _ = arguments(request.arguments)
            self._rows.approvals.append(
                (
                    *(at.event, at.session, action.turn_id, action.request_id, "request", request.server_label),
                    *(request.name, None if first(request.arguments) == b"n" else text, None, None),
                    f"{pointer}/request",
                )
            )

    def turn(self, turn: Turn, word: str, at: At) -> None:
        """Append the row of the state of a turn; `word` is its state where it does not say it itself."""
        self._rows.turn_states.append(
            (
                *(at.event, at.session, at.turn or turn.id, turn.agent_id, turn.subagent_id),
                *(turn.status or word, text_of(turn.error)),
            )
        )


def succeeded(status: str | None, error: str | None) -> bool | None:
    """The success of an output item: the wire keeps no flag, only the status and which member is set."""
    if status == "failed" or error is not None:
        return False
    return True if status == "completed" else None


def shown(container: str, error: str | None) -> str:
    """The member that holds what a result says."""
    return "error" if container in ("absent", "null") and error is not None else "output"


def _decision(raw: Raw) -> str | None:
    decision: Any = msgspec.json.decode(raw).get("decision")
    return decision if isinstance(decision, str) else None
