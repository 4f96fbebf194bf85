"""Records one at a time: events, envelopes, posted bodies, requests, resources and pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from analyzer.frames import PART_BITS
from analyzer.read.agents_api.events import Events, Place
from analyzer.read.agents_api.exchanges import CREATES, Exchange, exchange_of, wrong_in_create
from analyzer.read.agents_api.known import knows
from analyzer.read.agents_api.parts import At, Parts
from analyzer.read.agents_api.pointing import marks, point, point_at_text
from analyzer.read.agents_api.tables import Tables
from analyzer.read.agents_api.wire import (
    ITEMS,
    KINDS,
    RESOURCES,
    TRACE,
    WEBHOOKS,
    Agent,
    Item,
    Record,
    Session,
    Subject,
    Turn,
    decode_agent,
    decode_item,
    decode_raws,
    decode_record,
    decode_session,
    decode_string,
    decode_subject,
    decode_turn,
)
from analyzer.read.exchange import STRANGE
from analyzer.read.members import held
from analyzer.read.records import Block
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import Raw, first


class Single:
    """Takes records one at a time: those out of the ordinary, and all of a block that holds a broken one."""

    def __init__(self, rows: Rows, events: Events, tables: Tables, parts: Parts) -> None:
        self._rows = rows
        self._events = events
        self._tables = tables
        self._parts = parts

    def read(self, block: Block, source: int) -> list[int]:
        """Append the rows of a block that may hold a record which the fast decoder refuses; see `Adapter.read`."""
        others: list[int] = []
        base = event_number(source, block.first)
        pointers = block.pointer
        for index, raw in enumerate(block.raw):
            event = base + (index << PART_BITS)
            faults: list[Fault] = []
            try:
                if not block.utf8:
                    raw.decode()
                record = self._tables.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                found = _recover(raw)
                if found is None:
                    others.append(index)
                    continue
                record, raw, faults = found  # noqa: PLW2901 - the cleaned text stands for the record from here on
            place = Place(block.offset[index], block.length[index], block.line[index])
            if not self.take(event, record, raw, "" if pointers is None else pointers[index], place):
                others.append(index)
                continue
            for fault in faults:
                self._rows.faults.append((event, self._events.session, *fault))
        return others

    def take(self, event: int, record: Record, raw: bytes, pointer: str, place: Place) -> bool:
        """Append the rows of one record, whose first event has this number; false where it is not of this wire."""
        self._events.next = event
        return self._take(record, raw, pointer, place)

    def regular(self, event: int, record: Record, kind: str) -> None:
        """Append the rows of what an event holds whose own row is there, and which names its session."""
        self._events.regular(record)
        self._parts.append(record, record.type or "", kind, At(event, record.session_id, record.turn_id))

    def _take(self, record: Record, raw: bytes | Raw, pointer: str, place: Place) -> bool:
        """The same for one that may stand inside another."""
        native = record.type
        kind = KINDS.get(native) if native is not None else None
        if native in WEBHOOKS and record.object == "event":
            # They come late and in any order, and use the words of the stream: a beginning among them is none.
            told, _ = held(decode_subject, record.data, Subject())
            self._events.add(record, f"{native} (webhook)", "notice", told.id or place.session, None, pointer, place)
            return True
        if kind is None or native is None:
            if native is None or record.event:
                return self._take_untyped(record, raw, pointer, place)
            if native in WEBHOOKS:
                kind = "notice"
            elif native in ITEMS and record.event_id is None and record.turn_id is not None:
                return self._take_item(record, raw, pointer, place)
            elif native.startswith(("agent.session.", "agent.output.", "agent.environment.")):
                kind = "unknown"
            else:
                return False
        elif kind == "error" and record.session_id is None:
            return False  # "error" alone is a word of many wires
        turn = record.turn_id
        session = record.session_id
        if session is None:
            # What the event holds names its session better than a recorder, which may have ids of its own.
            if record.session is not None:
                session = record.session.id
            elif record.subagent is not None:
                session = record.subagent.session_id
            session = session or place.session
        if session is None:
            session = self._events.session if turn is None else self._events.session_of(turn)
        event = self._events.add(record, native, kind, session, turn, pointer, place)
        self._parts.append(record, native, kind, At(event, session, turn, place.accepted, place.key))
        return True

    def _take_untyped(self, record: Record, raw: bytes | Raw, pointer: str, place: Place) -> bool:
        """Envelopes, posted bodies, exchanges, requests, resources and pages: what has no event type of its own."""
        inner = replace(
            place,
            session=record.session_id or place.session,
            when=record.recorded_at if record.recorded_at is not None else place.when,
            number=record.sequence_number if record.sequence_number is not None else place.number,
        )
        if first(record.event) == b"{":
            return self._inside(record.event, f"{pointer}/event", inner)
        if first(record.event) == b'"':
            return self._text(record.event, f"{pointer}/event", inner)
        if first(record.http) == b"{":
            return self._exchange(record, pointer, inner)
        if first(record.events) == b"[":
            return self._all(decode_raws(record.events), f"{pointer}/events", inner)
        if record.object == "list" and first(record.data) == b"[":
            if TRACE in bytes(record.data)[:400]:
                return False
            return self._page(record, pointer, inner)
        if record.object == "agent.session":
            session, faults = held(decode_session, raw, Session())
            event = self._events.add(record, "agent.session", "session", session.id, None, pointer, inner)
            self._report(event, faults, "")
            self._parts.snapshot(session, At(event, session.id, None), "")
            return True
        if record.object == "agent.session.turn":
            turn, faults = held(decode_turn, raw, Turn())
            event = self._events.add(record, "agent.session.turn", "turn", turn.session_id, turn.id, pointer, inner)
            self._report(event, faults, "")
            self._parts.turn(turn, turn.status or "", At(event, turn.session_id, turn.id))
            return True
        if record.object in RESOURCES:
            self._events.add(record, record.object, "notice", inner.session, None, pointer, inner)
            return True
        if record.object is None and first(record.agent) == b"{":
            return self._request(record, pointer, inner, "create")
        return False

    def _inside(self, raw: Raw | bytes, pointer: str, place: Place) -> bool:
        """Take what stands at `pointer` inside a record."""
        if not self._events.full:
            return self._part(raw, pointer, place)
        before = marks(self._rows)
        taken = self._part(raw, pointer, place)
        point(self._rows, before, pointer)
        return taken

    def _part(self, raw: Raw | bytes, pointer: str, place: Place) -> bool:
        text = bytes(raw)
        try:
            record = self._tables.decode(text)
        except (msgspec.DecodeError, RecursionError):
            found = _recover(text)
            if found is None:
                return False
            record, text, faults = found
            event = self._events.next
            if not self._take(record, text, pointer, place):
                return False
            for fault in faults:
                self._rows.faults.append((event, self._events.session, *fault))
            return True
        return self._take(record, text, pointer, place)

    def _text(self, raw: Raw, pointer: str, place: Place) -> bool:
        """Take an event that stands as text in the row of a table."""
        with self._read_from_text(pointer, in_text=True):
            return self._inside(held(decode_string, raw, "")[0].encode(), pointer, place)

    def _all(self, raws: list[Raw], pointer: str, place: Place) -> bool:
        """Take each element of a list that stands at `pointer` inside a record."""
        taken = [self._inside(raw, f"{pointer}/{index}", place) for index, raw in enumerate(raws)]
        return any(taken) or not raws

    def _request(self, record: Record, pointer: str, place: Place, channel: str) -> bool:
        """The body of a create or update request."""
        if first(record.agent) != b"{":
            return channel == "update"
        agent, faults = held(decode_agent, record.agent, Agent())
        event = self._events.add(record, f"request.{channel}", "request", place.session, None, pointer, place)
        self._report(event, faults, "/agent")
        self._tables.show(agent.tools, event, place.session, channel, "/agent/tools")
        return True

    def _exchange(self, record: Record, pointer: str, place: Place) -> bool:
        """A recorded request and its response, where they are of this API."""
        exchange = exchange_of(record)
        if exchange is None:
            return False
        session = exchange.session or place.session
        place = replace(place, session=session, accepted=exchange.accepted, key=exchange.key)
        event = self._events.add(record, exchange.native, "request", session, None, pointer, place)
        self._rows.faults += [(event, session, *fault) for fault in exchange.unread]
        with self._read_from_text(f"{pointer}/http/body", in_text=exchange.asked_in_text) as at:
            self._posted(exchange, at, place)
            if exchange.native == CREATES and exchange.accepted is not True and first(exchange.asked) == b"{":
                # What it has of another type in its agent is told where that is read.
                told = [each for each in wrong_in_create(exchange.asked) if not _in_agent(each)]
                at_body = at.removeprefix(pointer)
                self._rows.faults += [(event, session, *each._replace(pointer=at_body + each.pointer)) for each in told]
        with self._read_from_text(f"{pointer}/response/body", in_text=exchange.answered_in_text) as at:
            bare = replace(place, accepted=None, key=None)
            answered = [self._inside(answer, at, bare) for answer in exchange.answers]
        if exchange.says_something and not any(answered):
            self._rows.faults.append((event, session, *STRANGE))
        return True

    def _posted(self, exchange: Exchange, pointer: str, place: Place) -> None:
        """What the body of a request posts: a session, changes of one, or inputs."""
        if first(exchange.asked) == b"[":
            self._all(decode_raws(exchange.asked), pointer, place)
        elif first(exchange.asked) == b"{":
            body, _ = held(decode_record, exchange.asked, Record())
            if exchange.channel is not None:
                self._request(body, pointer, place, exchange.channel)
            elif first(body.events) == b"[":
                self._all(decode_raws(body.events), f"{pointer}/events", place)

    @contextmanager
    def _read_from_text(self, pointer: str, *, in_text: bool) -> Iterator[str]:
        """Where what is read meanwhile stands: at the text, if it was read from one."""
        before = marks(self._rows)
        yield pointer
        if in_text:
            point_at_text(self._rows, before, pointer)

    def _page(self, record: Record, pointer: str, place: Place) -> bool:
        """A page of a list endpoint, taken oldest first: the default order of the API is newest first."""
        raws = list(enumerate(decode_raws(record.data)))
        if _newest_first([raw for _, raw in raws]):
            raws.reverse()
        taken = [self._inside(raw, f"{pointer}/data/{index}", place) for index, raw in raws]
        if not any(taken):
            return not raws
        if record.has_more:
            detail = "the page says that there are more, and it is the last one recorded"
            self._rows.faults.add(
                event=self._events.next - 1, session=self._events.session, fault="more_pages", pointer="", detail=detail
            )
        return True

    def _take_item(self, record: Record, raw: bytes | Raw, pointer: str, place: Place) -> bool:
        """An item as list endpoints give it."""
        turn = record.turn_id
        session = place.session or self._events.session_of(turn or "")
        event = self._events.add(record, record.type or "", "item", session, turn, pointer, place)
        item, faults = held(decode_item, raw, Item())
        self._report(event, faults, "")
        self._parts.item(item, "done", At(event, session, turn), None, "")
        return True

    def _report(self, event: int, faults: list[Fault], pointer: str) -> None:
        """Name what in a resource or request was left out because it is of another type."""
        self._rows.faults += [
            (event, self._events.session, *fault._replace(pointer=f"{pointer}{fault.pointer}")) for fault in faults
        ]


def _in_agent(fault: Fault) -> bool:
    return fault.fault == "member_type" and fault.pointer.startswith("/agent/")


def _newest_first(raws: list[Raw]) -> bool:
    """Whether a page runs backwards: a result before its call, or a turn's later state first; else as by default."""
    seen: dict[str, str] = {}
    for raw in raws:
        try:
            item = decode_item(raw)
        except (msgspec.DecodeError, RecursionError):
            continue
        if item.call_id is None:
            continue
        other = seen.setdefault(item.call_id, item.type)
        if other != item.type:
            return other == "function_call_output"
    return True


def _recover(raw: bytes) -> tuple[Record, bytes, list[Fault]] | None:
    """A record that the fast decoder refused, the text that stands for it, its faults; None where it is no object."""
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not isinstance(parsed[0], dict):
        return None
    value, faults = parsed
    if not knows(value):
        return None
    found = typed(decode_record, value)
    if found is None:
        return None
    record, more = found
    return record, msgspec.json.encode(value), faults + more
