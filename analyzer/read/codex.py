"""Codex: rollout files of every age, one for each thread, and the lines that `codex exec --json` prints.

A response item is what the model saw, an event what was run; both speak of one call, joined by its id.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

from analyzer.frames import PART_BITS
from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Cursor, Place
from analyzer.read.decoding import Decoding, Usual
from analyzer.read.ledger import Ledger
from analyzer.read.openai.executions import execution_in, execution_of
from analyzer.read.openai.happened import RAN, TELLING, Happened, kind_of
from analyzer.read.openai.items import At, Items
from analyzer.read.openai.plain import PlainItems
from analyzer.read.openai.printed import PRINTED, Printed
from analyzer.read.openai.replaced import CALLS, Replaced, told_of
from analyzer.read.openai.rollout import (
    Event,
    Line,
    Payload,
    Quick,
    event_of,
    instructions_of,
    item_of,
    line_of,
    quick_of,
)
from analyzer.read.openai.thread import Thread
from analyzer.read.rows import Rows
from analyzer.read.values import first, text_of

_NOTICES = frozenset(
    {
        *("world_state", "token_usage_record", "inter_agent_communication", "inter_agent_communication_metadata"),
        *("retained_context", "security_risk_score", "ghost_snapshot", "realtime_item"),
    }
)
_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"}) | _NOTICES


class Codex(RecordAdapter[Line]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "codex-rollout"
    title: ClassVar[str] = "Codex: rollout files and the lines of `codex exec --json`"
    known_by: ClassVar[str] = (
        "lines with a `payload` and the type session_meta, response_item, event_msg, turn_context or compacted; lines "
        "of the types thread.started, turn.* and item.* with an item"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Schemas of built-in tools and of MCP servers are never written: only dynamic tools, and what a search found.",
        "What the model was offered is not recorded: a declared tool may not have been advertised.",
        "Approvals and errors are not kept.",
        "Outputs are decorated for the model; success stands only in execution events, if there are any.",
        "A fork does not repeat the history before it: audit it together with the file it was forked from.",
        "The lines of --json name no call ids.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._thread = Thread()
        self._records = Decoding(
            *(source, rows, line_of, self.knows),
            when=attrgetter("timestamp"),
            session=lambda: self._thread.session,
            usual=Usual(quick_of, self._usual),
        )
        self._items = Items(self.name, rows, Ledger(), shape="codex", remote_namespaces=True)
        self._cursor = Cursor(rows)
        self._history = Replaced(self.name, rows, self._cursor, self._thread, self._items)
        self._plain = PlainItems(self.name, rows, self._thread, self._items)
        self._happened = Happened(self.name, rows, self._thread)
        self._printed = Printed(rows, self._cursor, self._thread)
        self._header = -2  # the record of the last header
        self._parents: set[str | None] = set()  # of the thread
        self._memories = (self._thread, self._items.ledger)

    @staticmethod
    def knows(record: Any) -> bool:
        """Whether a parsed record is of this wire."""
        if not isinstance(record, dict):
            return False
        native = record.get("type")
        if not isinstance(native, str):
            return False
        if native in PRINTED:
            return native == "thread.started" or "item" in record or native.startswith("turn.")
        if not isinstance(record.get("payload"), dict):
            return False
        return native in _LINES or ("ordinal" in record and "timestamp" in record)

    def _alone(self, line: Line, place: Place) -> bool:
        self._cursor.move(place)
        self._cursor.event(
            line.type or "line", "notice", self._thread.session, turn=self._thread.turn, number=line.ordinal
        )
        return True

    # --- lines ------------------------------------------------------------------------------------------------------

    def _take(self, line: Line, raw: bytes, place: Place) -> bool:
        del raw
        self._cursor.move(place)
        native, payload = line.type, line.payload
        if native is None:
            return False
        if payload is None:
            return native in PRINTED and self._printed.take(line, native)
        number = line.ordinal
        if native == "response_item":
            self._item(payload, number)
        elif native == "event_msg":
            self._event(payload, number)
        elif native == "session_meta":
            self._meta(payload, number)
        elif native == "turn_context":
            turn = payload.turn_id or self._thread.turn
            event, _ = self._cursor.event(native, "turn", self._thread.session, turn=turn, number=number)
            self._context(payload, event)
        elif native == "compacted":
            self._history.take(payload, number)
        elif native in _NOTICES:
            self._cursor.event(native, "notice", self._thread.session, turn=self._thread.turn, number=number)
        elif self._thread.session is not None and line.timestamp is not None:
            self._cursor.event(native, "unknown", self._thread.session, turn=self._thread.turn, number=number)
        else:
            return False
        return True

    # --- the usual lines --------------------------------------------------------------------------------------------

    def _usual(self, line: Quick, event: int) -> bool:
        native, thread = line.type, self._thread
        turn, kind = thread.turn, "notice"
        if native == "response_item":
            item = item_of(line.payload)
            native, kind = item.native, "item"
            noted = item.internal_chat_message_metadata_passthrough or item.metadata
            turn = self._plain.take(item, event, (noted and noted.turn_id) or turn)
        elif native == "event_msg":
            told = event_of(line.payload)
            turn, native = told.turn_id or turn, told.type or ""
            if native in TELLING:
                if native in RAN and told.item is None:
                    return False
                ran = None if told.item is None else execution_in(told.item)
                kind = self._happened.take(native, event, turn, ran, told.error)
        elif native == "turn_context":
            self._context(event_of(line.payload), event)
            turn, kind = thread.turn, "turn"
        elif native not in _NOTICES or first(line.payload) != b"{":
            return False
        self._rows.whole.append((event, thread.session, turn, line.timestamp, line.ordinal, native, kind, ""))
        return True

    def _meta(self, payload: Payload, number: int | None) -> None:
        parent = payload.forked_from_id or payload.parent_thread_id
        record = self._cursor.place.event >> PART_BITS
        own = self._thread.session is None or payload.id == self._thread.session
        # A fork of older versions copies the headers of what it was forked from; others begin a thread of their own.
        copied = not own and (record == self._header + 1 or payload.id in self._parents)
        self._header = record
        if copied:
            self._cursor.event("session_meta", "session", self._thread.session, number=number)
            return
        if self._thread.session is None:
            self._thread.session = payload.id
        elif not own and payload.id is not None:
            self._thread.begin(payload.id)
        self._parents = {payload.forked_from_id, payload.parent_thread_id} - {None}
        event, _ = self._cursor.event("session_meta", "session", self._thread.session, number=number)
        told = payload.base_instructions
        instructions = instructions_of(told).text if first(told) == b"{" else text_of(told)
        self._rows.session_states.add(
            event=event,
            session=self._thread.session,
            agent=payload.id,
            agent_name=payload.agent_nickname,
            model=payload.model,
            instructions=instructions,
            parent=parent,
        )
        if payload.forked_from_id is not None:
            self._rows.summaries.add(event=event, session=self._thread.session, what="fork")
        tools = bytes(payload.dynamic_tools)
        if tools[:1] in {b"[", b"{"}:
            # Not the whole table: what is built in is never written.
            table = self._items.table(tools)
            self._rows.showings.add(
                event=event,
                session=self._thread.session,
                channel="registry",
                scope="add",
                table=table,
                pointer="/payload/dynamic_tools",
            )

    def _event(self, payload: Payload, number: int | None) -> None:
        native, turn = payload.type or "", payload.turn_id or self._thread.turn
        event, _ = self._cursor.event(native, kind_of(native), self._thread.session, turn=turn, number=number)
        ran = execution_of(payload) if native in RAN else None
        self._happened.take(native, event, turn, ran, payload.error)

    def _context(self, told: Event | Payload, event: int) -> None:
        thread = self._thread
        thread.turn = told.turn_id or thread.turn
        if told.model is not None and told.model != thread.model:
            thread.model = told.model
            self._rows.session_states.add(event=event, session=thread.session, model=told.model)
        if first(told.approval_policy) == b'"':  # in newer versions it may be an object of rules
            policy = text_of(told.approval_policy)
            self._rows.approvals.add(
                event=event,
                session=thread.session,
                turn=thread.turn,
                stage="policy",
                policy=policy,
                pointer="/payload/approval_policy",
            )

    def _item(self, payload: Payload, number: int | None) -> None:
        thread = self._thread
        noted = payload.internal_chat_message_metadata_passthrough or payload.metadata
        turn = (noted and noted.turn_id) or thread.turn
        native, call_id = payload.type or "message", payload.call_id
        emission = None
        if call_id is not None:
            if native.endswith("_output"):
                turn = thread.turn_of(call_id, turn)
                emission = thread.answered(call_id, payload.id)
            elif native in CALLS:
                emission = thread.called(call_id, payload.id, turn, told_of(payload))
        event, _ = self._cursor.event(native, "item", thread.session, turn=turn, number=number)
        at = At(event, thread.session, turn, emission=emission, member="/payload")
        self._items.take(payload, at)
