"""Pydantic AI message histories: requests and responses, each of parts, as lists, lines, or in the state of a run.

A tool's return is part of the next request. What the library or a tool refused is told as a return to be tried again,
in versions before 2 as a prompt to retry.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Call, Dialogue, Result, Said
from analyzer.read.ledger import Recent
from analyzer.read.members import held, listed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, contained, encoded, first, marked, string, under

_KINDS = ("request", "response")
_WAYS = (
    *(("messages",), ("message_history",), ("all_messages",), ("new_messages",)),
    *(("state", "message_history"), ("_state", "message_history")),
)
_OUTCOMES = {"success": True, "failed": False, "retried": False, "denied": False, "interrupted": False}
_CUT = ("incomplete", "interrupted")
_TEXTS = ("text", "user-prompt", "system-prompt", "retry-feedback", "retry-prompt")


class Record(msgspec.Struct, gc=False):
    """A message, or what holds a list of them."""

    kind: str | None = None
    parts: Raw = ABSENT
    timestamp: str | None = None
    instructions: str | None = None
    model_name: str | None = None
    conversation_id: str | None = None
    finish_reason: str | None = None
    state: Raw = ABSENT
    items: Raw = ABSENT
    """The record itself, where it is a list."""


_record = msgspec.json.Decoder(Record).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_json = msgspec.json.Decoder().decode


def _opened(raw: bytes) -> Record:
    return Record(items=Raw(raw)) if raw.lstrip()[:1] == b"[" else _record(raw)


class PydanticAI(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "pydantic-ai"
    title: ClassVar[str] = "Pydantic AI message histories: lists, lines, states of runs"
    known_by: ClassVar[str] = (
        "messages of `kind` request or response whose `parts` have a `part_kind`; lists of them, also in `messages`, "
        "`message_history`, `all_messages` and `new_messages`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "No schemas are in the history, neither of tools nor of the output: give them with --contracts.",
        "A return without an outcome (before version 2) counts as a success: what failed was a prompt to retry.",
        "A tool that raised and what ended the run are not in the history.",
        "A call of an output tool is answered by the library itself.",
        "Nothing names a session but a `conversation_id`, which older versions do not write.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _opened, self.knows)
        self._dialogue = Dialogue(self.name, rows, _said)
        self._known: Recent[tuple[str, int], None] = rows.shared.setdefault("messages of pydantic-ai", Recent())
        """The messages of each session: a history repeats those before it."""
        self._begun: Recent[int, str] = rows.shared.setdefault("histories of pydantic-ai", Recent())
        """The sessions of histories by their first message."""
        self._told: Recent[str, tuple[str | None, str | None]] = Recent()
        """Model and instructions of each session."""
        self._memories = (self._dialogue, self._known, self._begun, self._told)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a message, or holds some."""
        if isinstance(record, list):
            return max(map(_is_message, record), default=0.0) if all(map(_is_message, record)) else 0.0
        if not isinstance(record, dict):
            return 0.0
        found = [PydanticAI.knows(value) for way in _WAYS if isinstance(value := under(record, way), list)]
        return max(_is_message(record), *found, 0.0)

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        if not self._records.own(raw):
            return False
        if record.kind in _KINDS and first(record.parts) == b"[":
            self._messages([raw], place, None)
            return True
        if record.items:
            self._messages(listed(record.items), place, "")
            return True
        members = _members(raw)
        for way in _WAYS:
            found = members.get(way[0], ABSENT)
            if len(way) > 1:
                found = _members(found).get(way[1], ABSENT) if first(found) == b"{" else ABSENT
            if first(found) == b"[":
                self._messages(listed(found), place, "/" + "/".join(way))
                return True
        return False

    def _messages(self, raws: list[bytes], place: Place, to: str | None) -> None:
        """A message alone, or a history, which goes on with one that was told before where it begins like it."""
        if to is not None:
            self._dialogue.part()
        session = self._begun.get(marked(raws[0])) if to is not None and raws else self._dialogue.running
        self._dialogue.move(place)
        for index, raw in enumerate(raws):
            here = place if to is None else replace(place, pointer=f"{place.pointer}{to}/{index}")
            told = self._message(raw, here, session)
            if to is not None and index == 0:
                self._begun[marked(raw)] = told
            session = told
        if self._dialogue.cursor.next == place.event:
            self._dialogue.cursor.event("messages", "notice", session)

    def _message(self, raw: bytes, place: Place, session: str | None) -> str:
        message = held(_opened, raw, Record())[0]
        session, mark = message.conversation_id or session, marked(raw)
        if session is not None and (session, mark) in self._known:
            return session
        session = self._dialogue.append(raw, replace(place, when=message.timestamp), session=session)
        self._known[session, mark] = None
        before = self._told.get(session, (None, None))
        told = (message.model_name or before[0], message.instructions or before[1])
        if told != before:
            self._told[session] = told
            event = self._dialogue.cursor.next - 1
            self._rows.session_states.add(event=event, session=session, model=told[0], instructions=told[1])
        return session


def _is_message(value: Any) -> float:
    if not isinstance(value, dict) or value.get("kind") not in _KINDS or not isinstance(value.get("parts"), list):
        return 0.0
    named = [isinstance(part, dict) and isinstance(part.get("part_kind"), str) for part in value["parts"]]
    return 1.0 if any(named) else 0.6 if not named else 0.0


def _said(raw: bytes) -> Said:
    """What a message says; the results that it holds are those of calls before."""
    try:
        message = _json(raw)
    except (msgspec.DecodeError, RecursionError):
        return Said()
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return Said()
    said, texts = Said("assistant" if message.get("kind") == "response" else None), []
    for index, part in enumerate(parts):
        if not isinstance(part, dict):
            continue
        kind, to = part.get("part_kind"), f"/parts/{index}"
        if kind in ("tool-call", "builtin-tool-call"):
            said.calls.append(_call(part, to, hosted=kind != "tool-call"))
        elif kind in ("tool-return", "builtin-tool-return") or (kind == "retry-prompt" and part.get("tool_name")):
            said.results.append(_result(part, to))
        elif kind in _TEXTS:
            content = part.get("content")
            texts.append(content if isinstance(content, str) else encoded(content).decode())
            said.to = said.to or f"{to}/content"
            said.role = said.role if said.role == "assistant" else "system" if kind == "system-prompt" else "user"
    if texts:
        said.text = "\n".join(texts)
    if said.calls and (message.get("finish_reason") == "length" or message.get("state") in _CUT):
        said.calls[-1].status = "incomplete"
    return said


def _call(part: dict[str, Any], to: str, *, hosted: bool) -> Call:
    """A call; without arguments it is one with none."""
    given = part.get("args")
    text, container = ("{}", "object") if given in (None, "") else contained(given)
    call = Call(string(part.get("tool_call_id")), string(part.get("tool_name")), text, container, f"{to}/args")
    if hosted:
        call.kind, call.owed_by = "hosted", "server"
    return call


def _result(part: dict[str, Any], to: str) -> Result:
    """What came back: a return with its outcome, or a prompt to try again."""
    again = part.get("part_kind") == "retry-prompt"
    outcome = part.get("outcome", "retried" if again else "success")
    outcome = outcome if isinstance(outcome, str) else "success"
    text, container = contained(part.get("content"))
    ids = string(part.get("tool_call_id")), string(part.get("tool_name"))
    success = _OUTCOMES.get(outcome)
    return Result(*ids, text, container, f"{to}/content", success, status=None if success else outcome)
