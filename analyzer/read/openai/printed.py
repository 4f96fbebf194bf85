"""The lines that `codex exec --json` prints: what was run, without the ids of calls."""

from __future__ import annotations

import msgspec

from analyzer.read.openai.cursor import Cursor
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
            self._rows.turn_states.append((event, thread.session, thread.turn, None, None, status, text_of(line.error)))
            return True
        if first(line.item) != b"{":
            return False
        event, _ = self._cursor.event(native, "item", thread.session, turn=thread.turn)
        if native == "item.completed":
            self._item(line.item, event)
        return True

    def _item(self, raw: Raw, event: int) -> None:
        place = (event, self._thread.session)
        try:
            ran = execution_of(raw)
            said = _said(raw)
        except (msgspec.DecodeError, RecursionError):
            detail = "a member of the item has another type than the wire says"
            self._rows.faults.append((*place, "member_type", "/item", detail, None))
            return
        turn = self._thread.turn
        if said.type == "agent_message":
            self._rows.messages.append((*place, turn, said.id, "assistant", None, None, said.text, "/item/text"))
        if ran is None:
            return
        text, container = (ran.command, "free") if ran.kind == "hosted" else arguments(ran.arguments)
        shown = (*place, turn, _WIRE, "executor")
        item_id = ran.call_id
        self._rows.call_sightings.append(
            (
                *(*shown, None, item_id, None, item_id, ran.kind, ran.server, ran.name, text, container, ran.status),
                *("server", None, ran.to_arguments),
            )
        )
        done = outcome_of(ran)
        self._rows.result_sightings.append(
            (
                *(*shown, item_id, None, item_id, None, done.success, ran.status, done.error, done.text),
                *(done.container, done.structured, None, None, ran.to_result),
            )
        )
