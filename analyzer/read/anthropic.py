"""Anthropic Messages: request and response bodies, exchanges in any recorder's shape, and streams.

Every request resends the whole conversation. What was sent before is passed over; what comes back changed is a copy
(stage history) of the call or result it shows.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.batches import Batches
from analyzer.read.claude.blocks import blocks_in, blocks_of
from analyzer.read.claude.bodies import (
    STREAM,
    Body,
    Record,
    asks,
    body_of,
    is_cloud,
    is_url,
    knows,
    name_of,
    piece_of,
    pieces_of,
    record_of,
)
from analyzer.read.claude.conversation import Conversation, Conversations
from analyzer.read.claude.replies import Replies
from analyzer.read.claude.requests import Requests
from analyzer.read.claude.sightings import Sightings
from analyzer.read.cursor import Cursor, Place
from analyzer.read.decoding import Decoding, Usual
from analyzer.read.exchange import Body as Half
from analyzer.read.exchange import Exchange, exchange_of, says_something, strange, unread
from analyzer.read.recorded import is_exchange
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first

_REFUSED = 400


class AnthropicMessages(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "anthropic-messages"
    title: ClassVar[str] = "Anthropic Messages: bodies, exchanges, streams"
    known_by: ClassVar[str] = (
        "`messages` beside `max_tokens`, with tools that have an `input_schema` or blocks `tool_use`, `tool_result`; "
        "bodies of type `message`; stream events `message_start` to `message_stop`; exchanges under /v1/messages; "
        "bodies with an `anthropic_version`; lists of messages with such blocks"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the messages and the call ids that they resend.",
        "Of requests that wait at once, logged apart from their replies, a reply that is not resent stands alone.",
        "Pieces of streams name no message: of several at once the arguments are known where they are resent.",
        "What came of a batch is joined to its input by `custom_id`, where the input is read before it.",
        "Tools of the provider's own have a type and no schema: their arguments are not judged.",
        "Output schemas are not on this wire: give them as contract files.",
        "A result without `is_error` counts as a success: the wire has no other flag.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._bodies = Usual(body_of, self._usual)
        self._records = Decoding(source, rows, record_of, self.knows, usual=self._bodies)
        self._exchanges = 0
        conversations: Conversations = rows.shared.setdefault(self.name, Conversations())
        self._batches: Batches[Conversation] = rows.shared.setdefault("batches messages", Batches())
        self._memories = (conversations, self._batches)
        self._cursor = Cursor(rows)
        sightings = Sightings(self.name, rows)
        self._requests = Requests(rows, sightings, self._cursor, conversations)
        self._replies = Replies(rows, sightings, self._cursor, conversations, self._requests)
        self._requests.broke_off = self._replies.broke_off

    knows = staticmethod(knows)

    def close(self) -> None:
        """A request without an answer, a reply that breaks off, and replies that may be of several requests."""
        self._replies.end()
        self._requests.close()

    # --- what a record holds ----------------------------------------------------------------------------------------

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        self._exchanges = 0
        others = super().read(block)
        # Where most are exchanges a bare body is looked for in vain.
        self._records.usual = None if self._exchanges > len(block.raw) // 2 else self._bodies
        placed = partial(self._records.placed, block)  # what they wait for may come in the next block
        self._requests.place(placed)
        self._replies.place(placed)
        return others

    def _usual(self, body: Body, event: int) -> bool:
        native, place = body.type, Place(event, 0, 0, 0)
        if native is None:
            if first(body.messages) != b"[" or body.response or body.output or body.completion or not asks(body):
                return False
            self._replies.pause()
            self._requests.take(body, place)
        elif native in STREAM:
            if native == "message_start" and first(body.message) != b"{":
                return False
            self._replies.piece(body, native, name_of(body.message) if body.message else None, place)
        elif native == "message" and body.role == "assistant":
            self._replies.whole(body.id, body.stop_reason, blocks_in(body.content), (), place)
        else:
            return False
        return True

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        native = record.type
        if top and native is None and record.role in ("user", "assistant") and _is_content(record.content):
            self._replies.end()
            self._requests.append(raw, place)
            return True
        if top:
            self._requests.part()
        if native in STREAM and (native != "message_start" or first(record.message) == b"{"):
            name = name_of(record.message) if native == "message_start" else None
            self._replies.piece(piece_of(record), native or "", name, place)
            return True
        if native == "message" and record.role == "assistant":
            self._replies.whole(record.id, record.stop_reason, *blocks_of(record.content), place)
            return True
        if native is None and first(record.messages) == b"[" and asks(record):
            self._replies.pause()
            self._requests.take(record, place)
            faults = self._records.beside(record, place, self._answered)
            self._rows.faults += [(place.event, None, *fault) for fault in faults]
            return True
        reply = self._replies.open
        if native == "ping" and reply is not None:
            self._replies.pinged(reply, place)
            return True
        if first(record.error) == b"{" and (
            native == "error" or (native is None and self._requests.waiting is not None)
        ):
            if native is None and record.id is not None:
                return False
            self._failed(place)
            return True
        if is_exchange(record):
            return self._exchange(record, raw, place)
        if not (top and self._records.own(raw)):
            return False
        if record.custom_id:
            return self._batched(record, place)
        return self._records.enveloped(record, place, self._enclosed)

    def _batched(self, record: Record, place: Place) -> bool:
        """A request of a batch, or what came of one."""
        self._replies.end()
        self._requests.flush(None)
        if first(record.params) == b"{":
            asked = record_of(record.params)
            if first(asked.messages) != b"[" or not asks(asked):
                return False
            self._requests.take(asked, msgspec.structs.replace(place, pointer=place.pointer + "/params"))
            if self._requests.waiting is not None:
                self._batches.ask(record.custom_id, self._requests.waiting.conversation)
                self._requests.at_once.drop(self._requests.waiting.conversation)
            self._requests.flush(None)
            return True
        expected = self._replies.expected = self._batches.answered(record.custom_id)
        taken = self._records.enveloped(record, place, self._enclosed)
        self._replies.expected = None
        if not taken and first(record.result) == b"{":
            self._cursor.advance(place)
            self._cursor.event("error", "error", None if expected is None else expected.session)
            return True
        return taken

    def _enclosed(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _answered(self, record: Record, raw: bytes, place: Place) -> bool:
        """What came back; it may have lost its type."""
        if record.type is None and record.role == "assistant" and first(record.content) == b"[":
            self._replies.whole(record.id, record.stop_reason, *blocks_of(record.content), place)
            return True
        return self._take(record, raw, place, top=False)

    def _failed(self, place: Place) -> None:
        """An error in the place of a response."""
        session = self._replies.open.session if self._replies.open is not None else None
        self._replies.end()
        asked = self._requests.at_once.open
        if len(asked) > 1:  # whose request it was is not known
            self._requests.flush(None)
        else:
            session = self._requests.flush(None, accepted=False) or (asked[0].session if asked else session)
            self._requests.at_once.drop(asked[0] if asked else None)
        self._cursor.advance(place)
        self._cursor.event("error", "error", session)

    def _exchange(self, record: Record, raw: bytes, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, record_of)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not (is_url(exchange.url) or is_cloud(exchange.url))):
            return False
        asked = None if exchange.request is None else exchange.request.record
        if not exchange.url and not self._records.own(raw, b"" if asked is None else bytes(asked.tools)):
            return False
        return self.append(exchange, place)

    def append(self, exchange: Exchange[Record], place: Place) -> bool:
        """Append the rows of an exchange; whether it is one of this wire."""
        place = msgspec.structs.replace(place, when=exchange.when if exchange.when is not None else place.when)
        request, response = exchange.request, exchange.response
        asked = self._records.body(request)
        ours = is_url(exchange.url)
        if asked is not None and not (first(asked.messages) == b"[" and (ours or asks(asked))):
            asked = None
        if asked is None and not ours:
            return False
        self._exchanges += 1
        refused = exchange.status is not None and exchange.status >= _REFUSED
        pieces = pieces_of(response.frames) if response is not None and response.stream and not refused else None
        faults = unread(request, response if pieces is None else None)
        self._rows.faults += [(place.event, None, *fault) for fault in faults]
        self._replies.end()
        self._requests.flush(None)
        if asked is not None and request is not None:
            self._replies.end()
            self._requests.take(asked, _of(place, request))
        waiting, taken = self._requests.waiting, False
        if response is not None and not refused:
            inside = _of(place, response)
            for piece in pieces or ():
                if piece.type != "ping":
                    name = name_of(piece.message) if piece.type == "message_start" else None
                    self._replies.piece(piece, piece.type, name, inside)
                elif self._replies.open is not None:
                    self._replies.pinged(self._replies.open, inside)
            taken = bool(pieces)
            for found in self._records.values(response, response.frames if pieces is None else ()):
                taken |= self._answered(found.record, found.text, inside)
        self._replies.end()
        session = self._requests.flush(None, accepted=False if refused else None)
        self._requests.at_once.drop(None if waiting is None else waiting.conversation)
        if refused:
            self._cursor.advance(place)
            self._cursor.event("error", "error", session)
        elif not taken and not faults and says_something(response):
            self._rows.faults.append((place.event, session, *strange(response)))
        if asked is None and not taken:
            self._cursor.advance(place)
            self._cursor.event("request", "request", session)
        return True


def _of(place: Place, body: Half[Record]) -> Place:
    pointer = place.pointer + body.pointer
    return Place(place.event, place.offset, place.length, place.line, pointer, place.when, body.opaque)


def _is_content(raw: Raw) -> bool:
    """Whether it is what a message says here: blocks without a type are those of another wire."""
    return first(raw) == b'"' or (first(raw) == b"[" and (b'"type"' in bytes(raw) or b"{" not in bytes(raw)))
