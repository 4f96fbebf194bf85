"""OpenHands: events of a trajectory, of the first generation (`action`, `observation`) and of the SDK (`kind`).

An action is a call of the model as it was asked for, which stands whole in the event; what came back is an observation
of its own. Events stand in a list, in lines, in pairs, in the `history` of a run's row, or one to a file.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Dialogue
from analyzer.read.hands.events import said_in
from analyzer.read.ledger import Recent
from analyzer.read.members import held, listed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first, marked

_SOURCES = ("agent", "user", "environment", "hook")
_KINDS = ("Event", "Observation", "Condensation", "CondensationRequest", "CondensationSummaryEvent")

_json = msgspec.json.Decoder().decode


class Record(msgspec.Struct, gc=False):
    """An event, or what holds a list of them."""

    id: Any = None
    timestamp: str | None = None
    kind: str | None = None
    action: Raw = ABSENT
    observation: Raw = ABSENT
    args: Raw = ABSENT
    tools: Raw = ABSENT
    history: Raw = ABSENT
    items: Raw = ABSENT
    """The record itself, where it is a list."""


class _System(msgspec.Struct, gc=False):
    tools: Raw = ABSENT


_record = msgspec.json.Decoder(Record).decode
_system = msgspec.json.Decoder(_System).decode


def _opened(raw: bytes) -> Record:
    return Record(items=Raw(raw)) if raw.lstrip()[:1] == b"[" else _record(raw)


class OpenHands(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "openhands"
    title: ClassVar[str] = "OpenHands trajectories: events of both generations, histories of runs"
    known_by: ClassVar[str] = (
        "events with an `action` and its `args` or an `observation` and its `extras`, beside a `source`; events of a "
        "`kind` that ends in Event or Observation beside a `source`; lists of them, also in `history`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Tool tables are recorded only where the system message has them with their schemas: else give --contracts.",
        "Nothing names a session: it begins with a system prompt, or where the numbers of events begin anew.",
        "Actions of the first generation without `tool_call_metadata` are no calls of the model, and are not judged.",
        "What was run may have other arguments than what was asked for: only the latter is judged.",
        "An observation of the first generation has no flag but that it is an error, or the exit status of a command.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _opened, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_in)
        memory = rows.shared.setdefault("events of openhands", ({}, Recent()))
        self._running: dict[str, str] = memory[0]
        """The session that goes on, from file to file."""
        self._seen: Recent[tuple[str, str], int] = memory[1]
        """What the events of a session say, by their ids."""
        self._memories = (self._dialogue, self._seen)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is an event, or holds some."""
        history = record.get("history") if isinstance(record, dict) else record
        if not isinstance(history, list) or not history:
            return _is_known(record)
        pair = history[0] if isinstance(record, dict) else record
        return min(map(_is_known, pair), default=0.0) if isinstance(pair, list) else _is_known(pair)

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        if not self._records.own(raw):
            return False
        listing, to = (record.history, "/history") if record.history else (record.items, "")
        if first(listing) == b"[":
            self._list(listing, replace(place, pointer=place.pointer + to), new=bool(to))
            if self._dialogue.cursor.next <= place.event:
                self._dialogue.move(place)
                self._dialogue.cursor.event("history", "notice", None)
            return True
        self._event(raw, record, place)
        return True

    def _list(self, listing: Raw, place: Place, *, new: bool, pairs: bool = True) -> None:
        """Events, or pairs of an action and what came of it; a row's history is a session of its own."""
        if new:
            self._running.clear()
        for index, each in enumerate(listed(listing)):
            here = replace(place, pointer=f"{place.pointer}/{index}")
            if pairs and first(each) == b"[":
                self._list(Raw(each), here, new=False, pairs=False)
            elif first(each) == b"{":
                self._event(each, held(_opened, each, Record())[0], here)

    def _event(self, raw: bytes, event: Record, place: Place) -> None:
        session, name = self._running.get(""), str(event.id)
        place, mark = replace(place, when=event.timestamp), marked(raw)
        known = session is not None and event.id is not None and (session, name) in self._seen
        said = said_in(raw)
        if (known and self._seen[session or "", name] == mark) or not (said.calls or said.results or said.role):
            # Delivered again, the same file twice, or what the program tells of itself.
            self._dialogue.move(place)
            self._dialogue.cursor.event(event.kind or _word(event), "notice", session)
            return
        system = event.kind == "SystemPromptEvent"
        if known or system:
            self._dialogue.part()
            session = None
        session = self._running[""] = self._dialogue.append(raw, place, session=session)
        self._seen[session, name] = mark
        tools, to = (
            (event.tools, "/tools") if system else (held(_system, event.args, _System())[0].tools, "/args/tools")
        )
        if _is_table(tools):
            table = self._rows.table(bytes(tools), "chat")
            self._rows.showings.append((self._dialogue.cursor.next - 1, session, "request", "all", table, to))


def _is_known(record: Any) -> float:
    """How surely a value is an event."""
    if not isinstance(record, dict):
        return 0.0
    if record.get("source") not in _SOURCES:
        return 1.0 if isinstance(record.get("tool_call_metadata"), dict) and _is_event(record) else 0.0
    kind = record.get("kind")
    if isinstance(kind, str):
        return 1.0 if kind.endswith(_KINDS) and "id" in record else 0.0
    return 1.0 if _is_event(record) else 0.0


def _is_event(value: dict[str, Any]) -> bool:
    """Whether it is an event of the first generation."""
    did = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return did or (isinstance(value.get("observation"), str) and "content" in value and "extras" in value)


def _is_table(tools: Raw) -> bool:
    """Whether it is a tool table with schemas, as it was sent; the SDK keeps the names of its classes instead."""
    listing = _json(tools) if first(tools) == b"[" else None
    if not isinstance(listing, list) or not listing:
        return False
    return all(isinstance(each, dict) and isinstance(each.get("function"), dict) for each in listing)


def _word(event: Record) -> str:
    for each in (event.action, event.observation):
        if first(each) == b'"':
            return str(_json(each))
    return "event"
