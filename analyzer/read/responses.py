"""OpenAI Responses: bodies, requests, exchanges in any recorder's shape, and streams, chained into sessions.

What a request resends of an earlier one, byte by byte, is passed over; what it resends otherwise is a copy.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.batches import Batches
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding, Usual
from analyzer.read.exchange import STRANGE, Body, exchange_in, exchange_of, says_something, strange, unread
from analyzer.read.ledger import Ledger
from analyzer.read.openai.bodies import Piece, Record, asks, piece_of, record_of
from analyzer.read.openai.stream import Streaming
from analyzer.read.openai.transcript import Transcript
from analyzer.read.recorded import enclosed, enclosed_in, is_exchange, sure_of
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, encoded, first

_BODIES = ("response", "response.compaction")
_REFUSED = 400
_SAID = ("function_call", "message", "reasoning", "custom_tool_call", "mcp_call")


class Responses(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "openai-responses"
    title: ClassVar[str] = "OpenAI Responses: requests, responses, streams and exchanges"
    known_by: ClassVar[str] = (
        "`object: response`; types that begin with `response.`; requests with a model and an `input`; exchanges under "
        "/responses, as pairs, HAR or VCR"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Results carry no success flag: a failed call looks like any other unless its text says so.",
        "Of requests that wait at once, logged apart from their responses, a response that is not resent stands alone.",
        "What came of a batch is joined to its input by `custom_id`, where the input is read before it.",
        "What the server keeps of a conversation is not in the requests: a result of an unrecorded call has no place.",
        "Without the requests nothing says which calls were answered: open calls are not counted as unanswered.",
        "Namespaces may be left out or made of the function's own name.",
        "Compaction keeps its summary encrypted.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, record_of, self.knows, when=attrgetter("recorded_at"))
        self._transcript = Transcript(self.name, rows, rows.shared.setdefault("openai", Ledger()))
        self._streaming = Streaming(self._transcript)
        self._pieces: Usual[Piece] = Usual(piece_of, self._streaming.piece)
        self._batches: Batches[str] = rows.shared.setdefault("batches responses", Batches())
        self._memories = (self._transcript, self._batches)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        native = record.get("type")
        if isinstance(native, str) and native.startswith("response."):
            return 1.0
        if record.get("object") in _BODIES:
            return 1.0
        if isinstance(native, str):
            return Responses._knows_inner(record) or sure_of(record, _knows_url, _knows_body)
        if any(isinstance(record.get(name), dict) for name in ("http", "request")) or "body" in record:
            try:
                exchange = exchange_in(msgspec.json.encode(record))
            except (msgspec.DecodeError, RecursionError, TypeError):
                return 0.0
            if exchange is None or (exchange.url and not _knows_url(exchange.url)):
                return 0.0
            answer = record.get("response")
            if isinstance(answer, dict) and not str(answer.get("object", "response")).startswith("response"):
                return 0.0
            body = exchange.request.frames[0] if exchange.request is not None and exchange.request.frames else b""
            return _knows_url(exchange.url) or float(_is_request(body))
        return (
            _knows_body(record)
            or sure_of(record, _knows_url, _knows_body)
            or (0.0 if "input" in record else Responses._knows_inner(record))
        )

    @staticmethod
    def _knows_inner(record: dict[str, Any]) -> float:
        return max(map(Responses.knows, enclosed_in(record)), default=0.0)

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        # Of a recorded stream nearly all is pieces, of a log of bodies nothing is.
        chunks = self._streaming.open is not None or b'"response.' in b"".join(block.raw[:1])
        self._records.usual = self._pieces if chunks else None
        return super().read(block)

    def close(self) -> None:
        """The request that waits, the stream that was cut and the responses that were kept are appended."""
        self._streaming.end()
        self._transcript.close()

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        del raw
        self._transcript.cursor.move(place)
        return self._taken(record, place)

    def _alone(self, record: Record, place: Place) -> bool:
        del record
        self._transcript.cursor.move(place)
        self._transcript.cursor.event("response", "session", None)
        return True

    # --- what a record is -------------------------------------------------------------------------------------------

    def _taken(self, record: Record, place: Place) -> bool:
        native = record.type
        if record.custom_id and not record.body:
            self._batched(record)
        if native is not None:
            if native == "response.create":  # sent over a socket: a request with a type
                self._transcript.request(record_of(record.response) if record.response else record, place)
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
        if is_exchange(record):
            return self._exchange(record, place)
        if asks(record):
            self._transcript.request(record, place)
            if record.response and not self._wrapped(record, place):
                self._rows.faults.append((place.event, None, *STRANGE._replace(pointer="/response")))
            return True
        if record.object is None and record.input and first(record.output) == b"[":
            # Both halves in one object.
            self._transcript.request(msgspec.structs.replace(record, output=ABSENT), place)
            self._transcript.response(record)
            return True
        if first(record.error) == b"{" and self._transcript.pending is not None and record.id is None:
            session = self._transcript.flush(None, accepted=False)
            self._transcript.cursor.move(place)
            self._transcript.cursor.event("error", "error", session)
            return True
        return self._wrapped(record, place)

    def _batched(self, record: Record) -> None:
        """A line of a batch's output: its response is of the session that asked for it."""
        self._transcript.flush(None)
        asked = self._batches.answered(record.custom_id)
        inner = next((inner for member, inner in enclosed(record) if member.startswith("/response")), ABSENT)
        name = record_of(inner).id if first(inner) == b"{" else None
        if asked is not None and name is not None:
            self._transcript.belongs(name, asked)

    def _wrapped(self, record: Record, place: Place) -> bool:
        """A record inside a recorder's envelope."""
        for member, inner in enclosed(record):
            if first(inner) == b"{":
                when = record.recorded_at if record.recorded_at is not None else place.when
                inside = _at(place, member, when=when)
                self._transcript.cursor.within(inside)
                if self._taken(record_of(inner), inside):
                    return True
        return False

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        exchange = exchange_of(record, record_of)
        if exchange is None or (exchange.url and not _knows_url(exchange.url)):
            return False
        place = _at(place, "", when=exchange.when if exchange.when is not None else place.when)
        request = self._records.body(exchange.request)
        response = exchange.response
        if not exchange.url and request is None:
            return False
        if request is not None and not asks(request):
            request = None
            if not exchange.url:
                return False
        accepted = None if exchange.status is None else exchange.status < _REFUSED
        faults = unread(exchange.request, exchange.response)
        self._rows.faults += [(place.event, None, *fault) for fault in faults]
        self._transcript.flush(None)
        self._transcript.cursor.move(place)
        session, taken = None, False
        if request is not None and exchange.request is not None:
            inside = _at(place, exchange.request.pointer, opaque=exchange.request.opaque)
            self._transcript.cursor.within(inside)
            self._transcript.request(request, inside, accepted=accepted)
        elif response is None:
            self._transcript.cursor.event("request", "request", None)
            return True
        if response is not None:
            session, taken = self._answered(response, _at(place, response.pointer, opaque=response.opaque))
        self._streaming.end()
        asked = self._transcript.flush(None, accepted=accepted)
        if record.custom_id and response is None and asked is not None:
            self._batches.ask(record.custom_id, asked)
        if not taken and accepted is False:
            self._transcript.cursor.event("error", "error", asked)
        elif not taken and not faults and says_something(response):
            self._rows.faults.append((place.event, asked, *strange(response)))
        if self._transcript.cursor.next == place.event:
            self._transcript.cursor.within(place)
            self._transcript.cursor.event("request", "request", session)
        return True

    def _answered(self, response: Body[Record], place: Place) -> tuple[str | None, bool]:
        """The frames of a response; the session of an error among them, and whether any could be read."""
        session, any_taken = None, False
        for frame in response.frames:
            self._transcript.cursor.within(place)
            try:
                body = response.record or record_of(frame)
                taken = self._taken(body, place) if body.type is not None or body.object is not None else False
                if not taken and body.object is None and body.type is None and first(body.output) == b"[":
                    self._transcript.response(body)  # it lost its frame
                    taken = True
            except (msgspec.DecodeError, RecursionError):
                continue
            if not taken and body.error:
                session = self._transcript.flush(None, accepted=False)
                self._transcript.cursor.event("error", "error", session)
                taken = True
            any_taken |= taken
        return session, any_taken


def _at(place: Place, pointer: str, *, when: str | float | None = None, opaque: bool = False) -> Place:
    return msgspec.structs.replace(
        place,
        pointer=place.pointer if place.opaque else place.pointer + pointer,
        when=place.when if when is None else when,
        opaque=place.opaque or opaque,
    )


def _is_request(body: bytes) -> bool:
    try:
        return body.startswith(b"{") and asks(record_of(body))
    except (msgspec.DecodeError, RecursionError):
        return False


def _knows_url(url: str) -> float:
    # To count the tokens of a request is to ask nothing of the model.
    return float("/responses" in url and "/agents/" not in url and "/input_tokens" not in url)


def _knows_body(body: dict[str, Any]) -> float:
    if "input" not in body:
        return 0.0
    told = body.get("output")
    if isinstance(told, list) and any(isinstance(each, dict) and each.get("type") in _SAID for each in told):
        return 0.9 if _is_request(encoded({name: each for name, each in body.items() if name != "output"})) else 0.0
    return float(_is_request(encoded(body)))
