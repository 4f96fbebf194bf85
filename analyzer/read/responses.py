"""OpenAI Responses: bodies, requests, exchanges in any recorder's shape, and streams, chained into sessions.

What a request resends of an earlier one, byte by byte, is passed over; what it resends otherwise is a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.openai.bodies import Record, asks, record_of
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Body, exchange_of, unread
from analyzer.read.openai.ledger import Ledger
from analyzer.read.openai.stream import Streaming
from analyzer.read.openai.transcript import Transcript
from analyzer.read.records import Block
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import Raw, first

_BODIES = frozenset({"response", "response.compaction"})
_REFUSED = 400


class Responses:
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "openai-responses"
    title: ClassVar[str] = "OpenAI Responses: requests, responses, streams and exchanges"
    known_by: ClassVar[str] = (
        "`object: response`; types that begin with `response.`; requests with a model and an `input`; exchanges under "
        "/responses, as pairs, HAR or VCR"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Results carry no success flag: a failed call looks like any other unless its text says so.",
        "What the server keeps of a conversation is not in the requests: a result of an unrecorded call has no place.",
        "Without the requests nothing says which calls were answered: open calls are not counted as unanswered.",
        "Namespaces may be left out or made of the function's own name.",
        "Compaction keeps its summary encrypted.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._rows = rows
        self._transcript = Transcript(self.name, rows, rows.shared.setdefault("openai", Ledger()))
        self._streaming = Streaming(self._transcript)

    @staticmethod
    def sniff(records: Sequence[Any], path: str) -> float:
        """The share of the records that are of this wire."""
        del path
        return sum(map(_knows, records)) / len(records) if records else 0.0

    def close(self) -> None:
        """The request that waits and the stream that was cut are appended."""
        self._streaming.end()
        self._transcript.flush(None)

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others: list[int] = []
        base = event_number(self._source, block.first)
        pointers = block.pointer
        self._transcript.trim()
        for index, raw in enumerate(block.raw):
            event = base + (index << PART_BITS)
            faults: list[Fault] = []
            try:
                if not block.utf8:
                    raw.decode()
                record = record_of(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                found = _recover(raw)
                if found is None:
                    others.append(index)
                    continue
                record, raw, faults = found  # noqa: PLW2901 - the cleaned text stands for the record from here on
            pointer = "" if pointers is None else pointers[index]
            place = Place(
                event, block.offset[index], block.length[index], block.line[index], pointer, record.recorded_at
            )
            self._transcript.cursor.move(place)
            try:
                taken = self._take(record, raw, place)
            except (msgspec.DecodeError, RecursionError):
                taken, faults = self._take_again(raw, place)
            if not taken:
                others.append(index)
                continue
            for fault in faults:
                self._rows.faults.append((event, None, *fault))
        return others

    def _take_again(self, raw: bytes | Raw, place: Place) -> tuple[bool, list[Fault]]:
        """A record in whose depths something cannot be decoded: once more from a clean text, else as an event alone."""
        self._transcript.cursor.move(place)
        self._transcript.cursor.undo()
        found = _recover(bytes(raw))
        if found is None:
            return False, []
        record, text, faults = found
        try:
            return self._take(record, text, place), faults
        except (msgspec.DecodeError, RecursionError):
            self._transcript.cursor.move(place)
            self._transcript.cursor.undo()
            self._transcript.cursor.event("response", "session", None)
            detail = "something inside has another type than the wire says; the record was left out"
            return True, [*faults, Fault("member_type", "", detail)]

    # --- what a record is -------------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes | Raw, place: Place) -> bool:
        native = record.type
        if native is not None:
            if native == "response.create":  # sent over a socket: a request with a type
                self._transcript.request(record_of(record.response) if bytes(record.response) else record, place)
                return True
            if native.startswith("response."):
                self._streaming.take(record, native)
                return True
            if native == "error" and self._streaming.open is not None:
                self._transcript.cursor.event(native, "error", self._streaming.open.session)
                return True
            return self._wrapped(record, place)
        if record.object in _BODIES:
            self._streaming.end()
            self._transcript.response(record)
            return True
        if first(record.http) == b"{" or first(record.request) == b"{" or bytes(record.body):
            return self._exchange(raw, place)
        if asks(record):
            self._transcript.request(record, place)
            return True
        if first(record.error) == b"{" and self._transcript.pending is not None and record.id is None:
            session = self._transcript.flush(None, accepted=False)
            self._transcript.cursor.move(place)
            self._transcript.cursor.event("error", "error", session)
            return True
        return self._wrapped(record, place)

    def _wrapped(self, record: Record, place: Place) -> bool:
        """A record inside a recorder's envelope."""
        for member in ("event", "data"):
            inner: Raw = getattr(record, member)
            if first(inner) == b"{":
                when = record.recorded_at if record.recorded_at is not None else place.when
                inside = _at(place, f"/{member}", when=when)
                self._transcript.cursor.within(inside)
                if self._take(record_of(inner), inner, inside):
                    return True
        return False

    def _exchange(self, raw: bytes | Raw, place: Place) -> bool:
        """A request and its response, recorded together."""
        exchange = exchange_of(raw)
        if exchange is None or (exchange.url and "/responses" not in exchange.url):
            return False
        place = _at(place, "", when=exchange.when if exchange.when is not None else place.when)
        request = self._opened(exchange.request)
        response = exchange.response
        if not exchange.url and request is None:
            return False
        if request is not None and not asks(request):
            request = None
            if not exchange.url:
                return False
        accepted = None if exchange.status is None else exchange.status < _REFUSED
        self._rows.faults += [(place.event, None, *fault) for fault in unread(exchange.request, exchange.response)]
        self._transcript.flush(None)
        self._transcript.cursor.move(place)
        session = None
        if request is not None and exchange.request is not None:
            inside = _at(place, exchange.request.pointer, opaque=exchange.request.opaque)
            self._transcript.cursor.within(inside)
            self._transcript.request(request, inside, accepted=accepted)
        elif response is None:
            self._transcript.cursor.event("request", "request", None)
            return True
        for frame in response.frames if response is not None else ():
            assert response is not None
            inside = _at(place, response.pointer, opaque=response.opaque)
            self._transcript.cursor.within(inside)
            try:
                body = record_of(frame)
                taken = self._take(body, frame, inside) if body.type is not None or body.object is not None else False
            except (msgspec.DecodeError, RecursionError):
                continue
            if not taken and bytes(body.error):
                session = self._transcript.flush(None, accepted=False)
                self._transcript.cursor.event("error", "error", session)
        self._streaming.end()
        self._transcript.flush(None, accepted=accepted)
        if self._transcript.cursor.next == place.event:
            self._transcript.cursor.within(place)
            self._transcript.cursor.event("request", "request", session)
        return True

    @staticmethod
    def _opened(body: Body | None) -> Record | None:
        if body is None or body.stream or not body.frames[0].startswith(b"{"):
            return None
        try:
            return record_of(body.frames[0])
        except (msgspec.DecodeError, RecursionError):
            found = _recover(body.frames[0])
            return None if found is None else found[0]


def _at(place: Place, pointer: str, *, when: str | float | None = None, opaque: bool = False) -> Place:
    return msgspec.structs.replace(
        place,
        pointer=place.pointer if place.opaque else place.pointer + pointer,
        when=place.when if when is None else when,
        opaque=place.opaque or opaque,
    )


def _recover(raw: bytes) -> tuple[Record, bytes, list[Fault]] | None:
    """A record that the fast decoder refused, the text that stands for it, and its faults; None for other wires."""
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not isinstance(parsed[0], dict) or not _knows(parsed[0]):
        return None
    found = typed(record_of, parsed[0])
    if found is None:
        return None
    return found[0], msgspec.json.encode(parsed[0]), parsed[1] + found[1]


def _knows(record: Any) -> bool:
    """Whether a parsed record is of this wire."""
    if not isinstance(record, dict):
        return False
    native = record.get("type")
    if isinstance(native, str):
        if native.startswith("response."):
            return True
        return any(isinstance(record.get(name), dict) and _knows(record[name]) for name in ("event", "data"))
    if record.get("object") in ("response", "response.compaction"):
        return True
    if any(isinstance(record.get(name), dict) for name in ("http", "request")) or "body" in record:
        try:
            exchange = exchange_of(msgspec.json.encode(record))
        except (msgspec.DecodeError, RecursionError, TypeError):
            return False
        if exchange is None or (exchange.url and "/responses" not in exchange.url):
            return False
        body = exchange.request.frames[0] if exchange.request is not None and exchange.request.frames else b""
        return (bool(exchange.url) and "/agents/" not in exchange.url) or _is_request(body)
    if "input" in record:
        return _is_request(msgspec.json.encode(record))
    return any(isinstance(record.get(name), dict) and _knows(record[name]) for name in ("event", "data"))


def _is_request(body: bytes) -> bool:
    try:
        return body.startswith(b"{") and asks(record_of(body))
    except (msgspec.DecodeError, RecursionError):
        return False
