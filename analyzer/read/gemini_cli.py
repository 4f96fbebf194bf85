"""Gemini CLI sessions: a line for each message, written anew with every change, or one document of all of them."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Cursor, Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Result, Said
from analyzer.read.google.contents import said_of
from analyzer.read.ledger import Recent
from analyzer.read.members import held, listed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of

_SUCCESS = {"success": True, "error": False, "cancelled": False}
_ROLES = {"user": "user", "gemini": "assistant"}
_TYPES = ("user", "gemini", "info", "error", "warning")


class Record(msgspec.Struct, gc=False, rename="camel"):
    """Everything that one record may be: a session's head, a message, a change, a whole session."""

    session_id: str | None = None
    project_hash: str | None = None
    start_time: str | None = None
    kind: str | None = None
    messages: Raw = ABSENT
    id: str | None = None
    timestamp: str | None = None
    type: str | None = None
    content: Raw = ABSENT
    tool_calls: Raw = ABSENT
    model: str | None = None
    rewind: str | None = msgspec.field(default=None, name="$rewindTo")
    changes: Raw = msgspec.field(default=ABSENT, name="$set")


class _ToolCall(msgspec.Struct, gc=False, rename="camel"):
    """A call that was run, with its result."""

    id: str | None = None
    name: str | None = None
    args: Raw = ABSENT
    result: Raw = ABSENT
    status: str | None = None


_record = msgspec.json.Decoder(Record).decode
_call = msgspec.json.Decoder(_ToolCall).decode


class GeminiCli(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "gemini-cli"
    title: ClassVar[str] = "Gemini CLI sessions"
    known_by: ClassVar[str] = (
        "`sessionId` beside `projectHash`; messages of type `gemini` or `user` with an `id` and a `timestamp`; "
        "`$rewindTo`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "No schemas are in the file: give the table of the program's own tools and of its servers' with --contracts.",
        "A call is written when it has ended: one that was running when the program stopped is not there.",
        "Long outputs may be cut, or kept in a file of their own, before the model sees them.",
        "Approvals are not kept: a refusal shows only as a call that was cancelled.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._cursor = Cursor(rows)
        self._records = Decoding(source, rows, _record, self.knows)
        self._session: str | None = None
        self._model: str | None = None
        self._said: Recent[str, None] = Recent()
        self._memories = (self._said,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is one of a session file."""
        if not isinstance(record, dict):
            return 0.0
        if isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
            return 1.0
        if isinstance(record.get("$rewindTo"), str):
            return 0.9
        if record.keys() == {"$set"} and isinstance(record["$set"], dict):
            return 0.5
        if not {"id", "timestamp", "type", "content"} <= record.keys() or {"role", "uuid", "message"} & record.keys():
            return 0.0
        if record["type"] == "gemini":
            return 1.0
        return 0.5 if record["type"] in _TYPES else 0.0

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        self._cursor.move(place)
        if record.rewind is not None:
            self._cursor.event("$rewindTo", "notice", self._session)
        elif record.session_id is not None and record.project_hash is not None:
            self._begin(record, place)
        elif record.id is not None and record.type in _TYPES and record.content and self._records.own(raw):
            self._message(record)
        elif record.changes:
            changes = held(_record, record.changes, Record())[0]
            self._session = changes.session_id or self._session
            self._cursor.event("$set", "notice", self._session)
            self._all(changes.messages, place, "/$set/messages")
        else:
            return False
        return True

    def _begin(self, record: Record, place: Place) -> None:
        self._session = record.session_id
        event, _ = self._cursor.event("session", "session", self._session, when=record.start_time)
        self._rows.session_states.add(event=event, session=self._session, begins=True)
        self._all(record.messages, place, "/messages")

    def _all(self, messages: Raw, place: Place, to: str) -> None:
        for index, raw in enumerate(listed(messages) if first(messages) == b"[" else ()):
            self._cursor.within(msgspec.structs.replace(place, pointer=f"{place.pointer}{to}/{index}"))
            message = held(_record, raw, Record())[0]
            if message.type is not None:
                self._message(message)

    def _message(self, record: Record) -> None:
        """A message, or once more one that was written before and has changed."""
        session, role = self._session, _ROLES.get(record.type or "")
        fresh = record.id is None or record.id not in self._said
        kind = "error" if record.type == "error" else "item" if role is not None and fresh else "notice"
        event, opaque = self._cursor.event(record.type or "message", kind, session, when=record.timestamp)
        if record.model is not None and record.model != self._model:
            self._model = record.model
            self._rows.session_states.add(event=event, session=session, model=record.model)
        if fresh and role is not None:
            text = _said_in(record.content).text
            if text:
                self._rows.messages.add(
                    event=event, session=session, item_id=record.id, role=role, text=text, pointer="/content"
                )
        if record.id is not None:
            self._said[record.id] = None
        for index, raw in enumerate(listed(record.tool_calls) if first(record.tool_calls) == b"[" else ()):
            call = held(_call, raw, _ToolCall())[0]
            self._ran(call, record, event, "" if opaque else f"/toolCalls/{index}")

    def _ran(self, call: _ToolCall, record: Record, event: int, to: str) -> None:
        """A call, and what came back; both are written again with every change of their message."""
        session = self._session
        text, container = arguments(call.args)
        item_id = f"{record.id}/{call.id}"
        self._rows.call_sightings.add(
            event=event,
            session=session,
            wire=self.name,
            stage="item",
            reply=record.id,
            item_id=item_id,
            call_id=call.id,
            pair_id=call.id if call.id is not None else item_id,
            kind="function",
            name=call.name,
            text=text,
            container=container,
            status=call.status,
            owed_by="client",
            pointer=to and f"{to}/args",
        )
        answer = _answer(call)
        if answer is None:
            return
        self._rows.result_sightings.add(
            event=event,
            session=session,
            wire=self.name,
            stage="message",
            item_id=item_id,
            call_id=call.id,
            pair_id=call.id if call.id is not None else item_id,
            name=call.name,
            success=_SUCCESS.get(call.status or "", answer.success),
            status=call.status,
            text=answer.text,
            container=answer.container,
            pointer=to and to + answer.to,
        )


def _answer(call: _ToolCall) -> Result | None:
    """What was handed back to the model: a part with the function's response, or a text."""
    if not call.result or bytes(call.result) == b"null":
        return None
    if first(call.result) == b'"':
        return Result(call.id, call.name, text_of(call.result), "text", "/result")
    said = _said_in(call.result)
    for result in said.results:
        result.to = f"/result{result.to.removeprefix('/parts')}"
        return result
    return Result(call.id, call.name, said.text, "text" if said.text is not None else "absent", "/result")


def _said_in(raw: Raw) -> Said:
    """What a text, a part or a list of parts says."""
    return said_of(b'{"parts":' + bytes(raw) + b"}" if first(raw) == b"[" else raw)
