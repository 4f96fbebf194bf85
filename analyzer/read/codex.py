"""Codex: rollout files of every age, one for each thread, and the lines that `codex exec --json` prints.

A response item is what the model saw, an event what was run; both speak of one call, joined by its id.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.decoding import Decoding
from analyzer.read.openai.cursor import Cursor, Place
from analyzer.read.openai.executions import Execution, execution_of, outcome_of
from analyzer.read.openai.items import At, Item, Items
from analyzer.read.openai.ledger import Ledger, Recent
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of


class Passthrough(msgspec.Struct, gc=False):
    """What the harness notes beside an item."""

    turn_id: str | None = None


class Payload(Item, gc=False):
    """The payload of any line: an item, an event, a header."""

    turn_id: str | None = None
    internal_chat_message_metadata_passthrough: Passthrough | None = None
    metadata: Passthrough | None = None
    item: Raw = ABSENT
    # session_meta, turn_context
    model: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    agent_nickname: str | None = None
    dynamic_tools: Raw = ABSENT
    base_instructions: Raw = ABSENT
    # compacted
    message: Raw = ABSENT
    replacement_history: Raw = ABSENT
    # results of older versions
    invocation: Raw = ABSENT
    success: bool | None = None
    exit_code: int | None = None
    aggregated_output: str | None = None
    content_items: Raw = ABSENT


class Line(msgspec.Struct, gc=False):
    """One line: of a rollout, or of standard output (`thread_id` and `item` are its own)."""

    timestamp: str | float | None = None
    ordinal: int | None = None
    type: str | None = None
    payload: Payload | None = None
    thread_id: str | None = None
    item: Raw = ABSENT
    error: Raw = ABSENT


class _Kept(msgspec.Struct, gc=False):
    """An item of a replacement history, as far as pairs are concerned."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT


class _Instructions(msgspec.Struct, gc=False):
    text: str | None = None


_line = msgspec.json.Decoder(Line).decode
_kept = msgspec.json.Decoder(list[_Kept]).decode
_instructions = msgspec.json.Decoder(_Instructions).decode

_NOTICES = frozenset(
    {
        *("world_state", "token_usage_record", "inter_agent_communication", "inter_agent_communication_metadata"),
        *("retained_context", "security_risk_score", "ghost_snapshot", "realtime_item"),
    }
)
_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"}) | _NOTICES
_ENDS = {"task_complete": "completed", "turn_complete": "completed", "turn_aborted": "cancelled"}
_BEGINS = frozenset({"task_started", "turn_started"})
_RAN = frozenset({"item_completed", "mcp_tool_call_end", "exec_command_end", "dynamic_tool_call_response"})
_PRINTED = frozenset(
    {
        *("thread.started", "turn.started", "turn.completed", "turn.failed"),
        *("item.started", "item.updated", "item.completed"),
    }
)
# Printed arguments are JSON values, and the calls have no ids: another wire to the rules.
_PRINTED_WIRE = "codex-exec"
_CALLS = ("function_call", "custom_tool_call", "tool_search_call", "local_shell_call")


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
        self._records = Decoding(
            source, rows, _line, self.knows, when=attrgetter("timestamp"), session=lambda: self._session
        )
        self._items = Items(self.name, rows, Ledger(), shape="codex", remote_namespaces=True)
        self._cursor = Cursor(rows)
        self._session: str | None = None
        self._turn: str | None = None
        self._model: str | None = None
        self._printed = 0
        # By call id: the turn of its latest call, how many there were, a hash of the arguments; then of its results.
        self._turns: Recent[str, str | None] = Recent()
        self._calls: Recent[str, int] = Recent()
        self._texts: Recent[str, int] = Recent()
        self._outputs: Recent[str, tuple[int, str]] = Recent()
        self._ran: Recent[str, int] = Recent()
        self._memories = (self._turns, self._calls, self._texts, self._outputs, self._ran, self._items.ledger)

    @staticmethod
    def knows(record: Any) -> bool:
        """Whether a parsed record is of this wire."""
        if not isinstance(record, dict):
            return False
        native = record.get("type")
        if not isinstance(native, str):
            return False
        if native in _PRINTED:
            return native == "thread.started" or "item" in record or native.startswith("turn.")
        if not isinstance(record.get("payload"), dict):
            return False
        return native in _LINES or ("ordinal" in record and "timestamp" in record)

    def _alone(self, line: Line, place: Place) -> bool:
        self._cursor.move(place)
        self._cursor.event(line.type or "line", "notice", self._session, turn=self._turn, number=line.ordinal)
        return True

    # --- lines ------------------------------------------------------------------------------------------------------

    def _take(self, line: Line, raw: bytes, place: Place) -> bool:
        del raw
        self._cursor.move(place)
        native, payload = line.type, line.payload
        if native is None:
            return False
        if payload is None:
            return native in _PRINTED and self._print(line, native)
        number = line.ordinal
        if native == "response_item":
            self._item(payload, number)
        elif native == "event_msg":
            self._event(payload, number)
        elif native == "session_meta":
            self._meta(payload, number)
        elif native == "turn_context":
            self._context(payload, number)
        elif native == "compacted":
            self._compacted(payload, number)
        elif native in _NOTICES:
            self._cursor.event(native, "notice", self._session, turn=self._turn, number=number)
        elif self._session is not None and line.timestamp is not None:
            self._cursor.event(native, "unknown", self._session, turn=self._turn, number=number)
        else:
            return False
        return True

    def _meta(self, payload: Payload, number: int | None) -> None:
        copied = self._session is not None and payload.id != self._session
        self._session = self._session or payload.id
        event, _ = self._cursor.event("session_meta", "session", self._session, number=number)
        if copied:
            return  # a fork of older versions copies the header of what it was forked from
        parent = payload.forked_from_id or payload.parent_thread_id
        told = payload.base_instructions
        instructions = _instructions(told).text if first(told) == b"{" else text_of(told)
        self._rows.session_states.append(
            (
                *(event, self._session, None, payload.id, payload.agent_nickname, payload.model, None, None, None),
                *(instructions, parent, None),
            )
        )
        if payload.forked_from_id is not None:
            self._rows.summaries.append((event, self._session, None, "fork", None, None))
        tools = bytes(payload.dynamic_tools)
        if tools[:1] in {b"[", b"{"}:
            # Not the whole table: what is built in is never written.
            table = self._items.table(tools)
            self._rows.showings.append((event, self._session, "registry", "add", table, "/payload/dynamic_tools"))

    def _context(self, payload: Payload, number: int | None) -> None:
        self._turn = payload.turn_id or self._turn
        event, _ = self._cursor.event("turn_context", "turn", self._session, turn=self._turn, number=number)
        if payload.model is not None and payload.model != self._model:
            self._model = payload.model
            state = (None, None, None, payload.model, None, None, None, None, None, None)
            self._rows.session_states.append((event, self._session, *state))

    def _item(self, payload: Payload, number: int | None) -> None:
        noted = payload.internal_chat_message_metadata_passthrough or payload.metadata
        turn = (noted.turn_id if noted is not None else None) or self._turn
        native, call_id = payload.type or "message", payload.call_id
        emission = None
        if call_id is not None:
            if native.endswith("_output"):
                turn = self._turns.get(call_id, turn)
                nth, _ = self._outputs.get(call_id, (0, ""))
                emission = payload.id or f"{call_id}!{nth}"
                self._outputs[call_id] = (nth + 1, emission)
            elif native in _CALLS:
                nth = self._calls.get(call_id, 0)
                emission = payload.id or f"{call_id}#{nth}"
                self._turns[call_id], self._calls[call_id] = turn, nth + 1
                self._texts[call_id] = _digest(payload)
        event, _ = self._cursor.event(native, "item", self._session, turn=turn, number=number)
        at = At(event, self._session, turn, emission=emission, member="/payload")
        self._items.take(payload, at)

    def _event(self, payload: Payload, number: int | None) -> None:
        native = payload.type or ""
        if native in _BEGINS or native in _ENDS:
            turn = payload.turn_id or self._turn
            event, _ = self._cursor.event(native, "turn", self._session, turn=turn, number=number)
            status = _ENDS.get(native, "in_progress")
            self._rows.turn_states.append((event, self._session, turn, None, None, status, text_of(payload.error)))
            self._turn = turn
            return
        turn = payload.turn_id or self._turn
        event, _ = self._cursor.event(native, "notice", self._session, turn=turn, number=number)
        if native in _RAN:
            ran = execution_of(payload)
            if ran is not None:
                self._executed(ran, event, turn)
        elif native == "thread_rolled_back":
            self._rows.summaries.append((event, self._session, turn, "rollback", None, None))

    def _executed(self, ran: Execution, event: int, turn: str | None) -> None:
        """What was run for a call: its arguments, and its result where that is not in the transcript yet."""
        call_id = ran.call_id
        turn = self._turns.get(call_id, turn)
        if bytes(ran.arguments):
            text, container = arguments(ran.arguments)
            self._rows.call_sightings.append(
                (
                    *(event, self._session, turn, self.name, "executor", None, None, call_id, call_id),
                    *(ran.kind, ran.server, ran.name, text, container, ran.status, "client", None),
                    f"/payload{ran.to_arguments}",
                )
            )
        nth = self._ran.get(call_id, 0)
        self._ran[call_id] = nth + 1
        if self._outputs.get(call_id, (0, ""))[0] >= max(1, self._calls.get(call_id, 0)):
            return  # a process in the background ends long after the model had its answer
        done = outcome_of(ran)
        self._rows.result_sightings.append(
            (
                *(event, self._session, turn, self.name, "executor", f"{call_id}@{nth}", call_id, call_id),
                *(None, done.success, ran.status, done.error, done.text, done.container, done.structured, None, None),
                f"/payload{ran.to_result}",
            )
        )

    def _compacted(self, payload: Payload, number: int | None) -> None:
        """A new beginning of the history: the calls and results it keeps are copies."""
        event, _ = self._cursor.event("compacted", "notice", self._session, turn=self._turn, number=number)
        raw = payload.replacement_history
        try:
            history = _kept(raw) if first(raw) == b"[" else []
        except (msgspec.DecodeError, RecursionError):
            history = []
            detail = "an item of the replacement history has another type than the wire says"
            self._rows.faults.append(
                (event, self._session, "member_type", "/payload/replacement_history", detail, None)
            )
        kept = [item.call_id for item in history if item.call_id is not None and item.type in _CALLS]
        said = text_of(payload.message)
        told = kept if first(raw) == b"[" else None
        self._rows.summaries.append((event, self._session, self._turn, "compaction", told, said))
        # A pair that is kept whole and as it was says nothing new, and a long thread repeats it with every compaction.
        answered = {item.call_id for item in history if (item.type or "").endswith("_output")}
        whole = {
            item.call_id
            for item in history
            if item.call_id in answered and self._texts.get(item.call_id or "") == _digest(item) and item.type in _CALLS
        }
        for index, item in enumerate(history):
            native = item.type or ""
            if item.call_id is None or item.call_id in whole:
                continue
            if native in _CALLS or native.endswith("_output"):
                self._copied(item, native, f"/payload/replacement_history/{index}", number)

    def _copied(self, item: _Kept, native: str, member: str, number: int | None) -> None:
        """A half of a pair, or a call that is not as it was, in a replacement history."""
        call_id = item.call_id or ""
        turn = self._turns.get(call_id, self._turn)
        event, _ = self._cursor.event(native, "item", self._session, member=member, turn=turn, number=number)
        place = (event, self._session, turn, self.name, "history")
        if native.endswith("_output"):
            emission = self._outputs.get(call_id, (0, f"{call_id}!0"))[1]
            nothing = (None, None, None, None, None, "absent", None, None, None)
            self._rows.result_sightings.append((*place, emission, call_id, call_id, *nothing, ""))
            return
        emission = self._items.ledger.emission(self._session, call_id, item.id) or f"{call_id}#0"
        text: str | None = None
        container, where = "absent", ""
        if self._texts.get(call_id) != _digest(item):
            free = bool(bytes(item.input))
            text, container = (text_of(item.input), "free") if free else arguments(item.arguments)
            where = "/input" if free else "/arguments"
        kind, server, name = self._items.server_of(item.name, item.namespace)
        if native != "function_call":
            kind, name = {"custom_tool_call": ("custom", name)}.get(native, ("search", "tool_search"))
        self._rows.call_sightings.append(
            (
                *(*place, None, emission, call_id, call_id, kind, server, name, text, container),
                *(None, "client", None, where),
            )
        )

    # --- standard output --------------------------------------------------------------------------------------------

    def _print(self, line: Line, native: str) -> bool:
        if native == "thread.started":
            self._session, self._turn, self._printed = line.thread_id, None, 0
            self._cursor.event(native, "session", self._session)
            return True
        if native.startswith("turn."):
            if native == "turn.started":
                self._printed += 1
                self._turn = f"turn {self._printed}"
            event, _ = self._cursor.event(native, "turn", self._session, turn=self._turn)
            status = native[5:] if native != "turn.started" else "in_progress"
            self._rows.turn_states.append((event, self._session, self._turn, None, None, status, text_of(line.error)))
            return True
        if first(line.item) != b"{":
            return False
        event, _ = self._cursor.event(native, "item", self._session, turn=self._turn)
        if native == "item.completed":
            self._printed_item(line.item, event)
        return True

    def _printed_item(self, raw: Raw, event: int) -> None:
        try:
            ran = execution_of(raw)
            said = _said(raw)
        except (msgspec.DecodeError, RecursionError):
            detail = "a member of the item has another type than the wire says"
            self._rows.faults.append((event, self._session, "member_type", "/item", detail, None))
            return
        if said.type == "agent_message":
            place = (event, self._session, self._turn, said.id)
            self._rows.messages.append((*place, "assistant", None, None, said.text, "/item/text"))
        if ran is None:
            return
        text, container = (ran.command, "free") if ran.kind == "hosted" else arguments(ran.arguments)
        shown = (event, self._session, self._turn, _PRINTED_WIRE, "executor")
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


def _digest(item: Item | _Kept) -> int:
    """A number that equal arguments share, in this process."""
    return hash(bytes(item.arguments or item.input))


class _Said(msgspec.Struct, gc=False):
    id: str | None = None
    type: str | None = None
    text: str | None = None


_said = msgspec.json.Decoder(_Said).decode
