"""The lines that `codex exec --json` prints: what was run, without the ids of calls."""

from __future__ import annotations

import msgspec

from analyzer.read.cursor import Cursor
from analyzer.read.openai.executions import execution_of, outcome_of
from analyzer.read.openai.rollout import Line
from analyzer.read.openai.thread import Thread
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, arguments, first, text_of

PRINTED = frozenset(
    {
        *("thread.started", "turn.started", "turn.completed", "turn.failed"),
        *("item.started", "item.updated", "item.completed"),
    }
)
# Printed arguments are JSON values, and the calls have no ids: another wire to the rules.
_WIRE = "codex-exec"


class _Said(msgspec.Struct, gc=False):
    id: str | None = None
    type: str | None = None
    text: str | None = None


_said = msgspec.json.Decoder(_Said).decode


class Printed:
    """Appends the rows of the lines of one source."""

    def __init__(self, rows: Rows, cursor: Cursor, thread: Thread) -> None:
        self._rows = rows
        self._cursor = cursor
        self._thread = thread
        self._turns = 0

    def take(self, line: Line, native: str) -> bool:
        """One line; false where it holds no item."""
        thread = self._thread
        if native == "thread.started":
            thread.session, thread.turn, self._turns = line.thread_id, None, 0
            self._cursor.event(native, "session", thread.session)
            return True
        if native.startswith("turn."):
            if native == "turn.started":
                self._turns += 1
                thread.turn = f"turn {self._turns}"
            event, _ = self._cursor.event(native, "turn", thread.session, turn=thread.turn)
            status = native[5:] if native != "turn.started" else "in_progress"
            self._rows.turn_states.add(
                event=event, session=thread.session, turn=thread.turn, status=status, error=text_of(line.error)
            )
            return True
        if first(line.item) != b"{":
            return False
        event, _ = self._cursor.event(native, "item", thread.session, turn=thread.turn)
        if native == "item.completed":
            self._item(line.item, event)
        return True

    def _item(self, raw: Raw, event: int) -> None:
        try:
            ran = execution_of(raw)
            said = _said(raw)
        except (msgspec.DecodeError, RecursionError):
            detail = "a member of the item has another type than the wire says"
            self._rows.faults.add(
                event=event, session=self._thread.session, fault="member_type", pointer="/item", detail=detail
            )
            return
        turn = self._thread.turn
        if said.type == "agent_message":
            self._rows.messages.add(
                event=event,
                session=self._thread.session,
                turn=turn,
                item_id=said.id,
                role="assistant",
                text=said.text,
                pointer="/item/text",
            )
        if ran is None:
            return
        text, container = (ran.command, "free") if ran.kind == "hosted" else arguments(ran.arguments)
        item_id = ran.call_id
        self._rows.call_sightings.add(
            event=event,
            session=self._thread.session,
            turn=turn,
            wire=_WIRE,
            stage="executor",
            item_id=item_id,
            pair_id=item_id,
            kind=ran.kind,
            server=ran.server,
            name=ran.name,
            text=text,
            container=container,
            status=ran.status,
            owed_by="server",
            pointer=ran.to_arguments,
        )
        done = outcome_of(ran)
        self._rows.result_sightings.add(
            event=event,
            session=self._thread.session,
            turn=turn,
            wire=_WIRE,
            stage="executor",
            item_id=item_id,
            pair_id=item_id,
            success=done.success,
            status=ran.status,
            error=done.error,
            text=done.text,
            container=done.container,
            structured=done.structured,
            pointer=ran.to_result,
        )
