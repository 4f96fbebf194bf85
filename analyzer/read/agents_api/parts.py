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
                self._rows.faults.add(
                    event=at.event, session=at.session, fault="member_missing", pointer="/item", detail=detail
                )
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
            self._rows.call_sightings.add(
                event=at.event,
                session=at.session,
                turn=turn,
                wire=NAME,
                stage=stage,
                item_id=item.id,
                call_id=item.call_id,
                pair_id=item.call_id if item.call_id is not None else item.id,
                kind="function",
                name=item.name,
                text=text,
                container=container,
                status=item.status,
                owed_by="client",
                index=index,
                pointer=f"{pointer}/arguments",
            )
        elif native == "function_call_output":
            self._result(item, at, turn, pointer)
        elif native == "message":
            self._rows.messages.add(
                event=at.event,
                session=at.session,
                turn=turn,
                item_id=item.id,
                role=item.role,
                phase=item.phase,
                status=item.status,
                text=words(item.content),
                pointer=f"{pointer}/content",
            )
        elif native == "mcp_call":
            text, container = arguments(item.arguments)
            self._rows.call_sightings.add(
                event=at.event,
                session=at.session,
                turn=turn,
                wire=NAME,
                stage=stage,
                item_id=item.id,
                pair_id=item.id,
                kind="mcp",
                server=item.server_label,
                name=item.name,
                text=text,
                container=container,
                status=item.status,
                owed_by="server",
                index=index,
                pointer=f"{pointer}/arguments",
            )
            if item.status in ("completed", "failed"):
                self._result(item, at, turn, pointer)
        elif native not in PLAIN_ITEMS:
            detail = f"an item of type {native[:80]!r}"
            self._rows.faults.add(
                event=at.event, session=at.session, fault="unknown_item", pointer=f"{pointer}/type", detail=detail
            )

    def _result(self, item: Item, at: At, turn: str | None, pointer: str) -> None:
        text, container = output(item.output, SUPPORTED)
        error = text_of(item.error)
        self._rows.result_sightings.add(
            event=at.event,
            session=at.session,
            turn=turn,
            wire=NAME,
            stage="echo",
            item_id=item.id,
            call_id=item.call_id,
            pair_id=item.call_id if item.call_id is not None else item.id,
            success=succeeded(item.status, error),
            status=item.status,
            error=error,
            text=text,
            container=container,
            pointer=f"{pointer}/{shown(container, error)}",
        )

    def _input(self, record: Record, at: At) -> None:
        native = record.type
        if native == "agent.session.input.tool_result":
            text, container = output(record.output, SUPPORTED)
            error = text_of(record.error)
            where = "/" + shown(container, error) if error is not None or container != "absent" else ""
            self._rows.result_sightings.add(
                event=at.event,
                session=at.session,
                turn=at.turn,
                wire=NAME,
                stage="post",
                call_id=record.call_id,
                pair_id=record.call_id,
                success=record.success,
                error=error,
                text=text,
                container=container,
                accepted=at.accepted,
                key=at.key,
                pointer=where,
            )
        elif native == "agent.session.input.mcp_approval_request_result":
            decision = _decision(record.response) if first(record.response) == b"{" else None
            if at.accepted is not False:
                self._rows.approvals.add(
                    event=at.event,
                    session=at.session,
                    request_id=record.request_id,
                    stage="decision",
                    decision=decision,
                    pointer="/response",
                )
        elif native == "agent.session.input.message":
            self._rows.messages.add(
                event=at.event,
                session=at.session,
                role="user",
                text=words(record.input),
                key=at.key,
                pointer="/input",
            )

    def snapshot(self, snapshot: Session, at: At, pointer: str) -> None:
        """Append the rows of the state of a session that stands at `pointer`."""
        agent = snapshot.agent or Agent()
        actions = snapshot.required_actions
        for index, action in enumerate(actions or ()):
            place = f"{pointer}/required_actions/{index}"
            if action.type == "function_call":
                text, container = arguments(action.arguments)
                self._rows.call_sightings.add(
                    event=at.event,
                    session=at.session,
                    turn=action.turn_id,
                    wire=NAME,
                    stage="action",
                    call_id=action.call_id,
                    pair_id=action.call_id,
                    kind="function",
                    name=action.name,
                    text=text,
                    container=container,
                    owed_by="client",
                    pointer=f"{place}/arguments",
                )
            else:
                self.action(action, at, place)
        many = None if agent.multi_agent is None else agent.multi_agent.max_concurrent_subagents
        self._rows.session_states.add(
            event=at.event,
            session=at.session,
            status=snapshot.status,
            agent=agent.id,
            agent_name=agent.name,
            model=agent.model,
            max_subagents=many,
            text_format=bytes(agent.text).decode() or None,
            instructions=agent.instructions,
            pending=None if actions is None else len(actions),
        )
        self._tables.show(agent.tools, at.event, at.session, "session", f"{pointer}/agent/tools")

    def action(self, action: Action, at: At, pointer: str) -> None:
        """Append the rows of a required action other than a call of a function."""
        if action.type == "mcp_approval_request" and first(action.request) == b"{":
            request, _ = held(decode_mcp_request, action.request, McpRequest())
            text, _ = arguments(request.arguments)
            self._rows.approvals.add(
                event=at.event,
                session=at.session,
                turn=action.turn_id,
                request_id=action.request_id,
                stage="request",
                server=request.server_label,
                name=request.name,
                text=None if first(request.arguments) == b"n" else text,
                pointer=f"{pointer}/request",
            )

    def turn(self, turn: Turn, word: str, at: At) -> None:
        """Append the row of the state of a turn; `word` is its state where it does not say it itself."""
        self._rows.turn_states.add(
            event=at.event,
            session=at.session,
            turn=at.turn or turn.id,
            agent=turn.agent_id,
            subagent=turn.subagent_id,
            status=turn.status or word,
            error=text_of(turn.error),
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
