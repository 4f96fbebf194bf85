"""MCP JSON-RPC: messages of a connection, bare, in recorder envelopes, in batches or as recorded HTTP exchanges.

Both eras: with `initialize` and a connection, and from 2026-07-28 without. The wire is the Model Context Protocol's.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.frames import PART_BITS
from analyzer.read import broken
from analyzer.read.adapter import Adapter
from analyzer.read.cursor import Place as Whole
from analyzer.read.decoding import Decoding
from analyzer.read.exchange import STRANGE, exchange_in, says_something, unread
from analyzer.read.records import Block
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.rpc.connections import Place
from analyzer.read.rpc.messages import (
    ENVELOPES,
    Line,
    decode_half,
    decode_line,
    decode_list,
    header,
    knows,
    when_of,
)
from analyzer.read.rpc.prefix import Said, said
from analyzer.read.rpc.traffic import Traffic
from analyzer.read.values import Raw, first, text_of

_REFUSED = 400


class Mcp(Adapter):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "mcp-jsonrpc"
    title: ClassVar[str] = "MCP JSON-RPC messages: stdio logs, Streamable HTTP and SSE"
    known_by: ClassVar[str] = (
        "a `jsonrpc` member beside a method, a result or an error; bare, behind the text of a host's log line, under "
        "`msg`, `message`, `payload`, `frame` or `data` of an envelope, in batches, or in recorded exchanges"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "What the model wrote is not on this wire: only what the client asked the server to run.",
        "A notice that tools changed says nothing of what changed: the new list counts from when it was read.",
        "Bare messages do not say their direction: answers are told from the requests before them.",
        "Nothing names the session of a connection over stdio: each one is numbered.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._records = Decoding(source, rows, decode_line, knows)
        self._rows = rows
        self._traffic = Traffic(self.name, rows)
        self._said = Said()  # by the text before the record, if there is one

    knows = staticmethod(knows)

    def close(self) -> None:
        """Name the listings whose last pages were not read."""
        self._traffic.close()

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others: list[int] = []
        base = self._rows.base = event_number(self._source, block.first)
        event = base - (1 << PART_BITS)
        for index, record in enumerate(self._records.each(block, decode_line)):
            event += 1 << PART_BITS
            self._traffic.event = event
            raw, pointer = block.raw[index], "" if block.pointer is None else block.pointer[index]
            self._said = said(block.before[index]) if block.before else Said()
            try:
                taken = self._taken(event, record, raw, pointer)
            except broken.MEANT:
                raise
            except broken.BROKEN as error:
                self._rows.undo(event)
                where = Whole(event, block.offset[index], block.length[index], block.line[index], pointer)
                broken.left_out(self._rows, where, "it broke its reader", error)
                taken = True
            if not taken:
                others.append(index)
        self._rows.place(block.offset, block.length, block.line)
        return others

    def _taken(self, event: int, record: Line | None, raw: bytes, pointer: str) -> bool:
        if record is not None:
            try:
                return self._take(record, raw, pointer)
            except (msgspec.DecodeError, RecursionError):
                pass
        return self._carefully(event, raw, pointer)

    def _carefully(self, event: int, raw: bytes, pointer: str) -> bool:
        """A record that the fast decoder refused, or whose members did not hold what they should."""
        self._rows.undo(event)
        self._traffic.event = event
        found = _cleaned(raw)
        if found is None:
            return False
        record, text, faults = found
        try:
            taken = (
                self._body(Raw(text), Place(pointer, *self._said))
                if record is None
                else self._take(record, text, pointer)
            )
        except (msgspec.DecodeError, RecursionError):
            self._rows.undo(event)
            return False
        if taken:
            self._rows.faults += [(event, None, *fault) for fault in faults]
        return taken

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Line, raw: bytes, pointer: str) -> bool:
        """A message, an envelope or an exchange; false where it is of another wire."""
        named = record.server or record.server_name or record.serverName or record.mcp_server
        server = bytes(named) if first(named) == b'"' else b""
        connection = record.connection_id or record.connectionId
        when, before = when_of(record), self._said
        place = Place(
            pointer,
            before.when if when is None else when,
            server or before.server,
            record.dir or record.direction or before.sender,
            text_of(connection) if connection and not server else None,
        )
        if record.msg is not None and record.msg.jsonrpc is not None:
            place.pointer += "/msg"
            return self._traffic.message(record.msg, place)
        if record.jsonrpc is not None and (record.method is not None or record.id or record.error or record.result):
            return self._traffic.message(record, place)
        if first(record.http) == b"{" or first(record.request) == b"{":
            return self._exchange(record, raw, place)
        for name in ENVELOPES[1:]:
            inner: Raw = getattr(record, name)
            if first(inner) in (b"{", b"[", b'"'):
                place.pointer += f"/{name}"
                return self._body(inner, place)
        return b'"jsonrpc"' in raw and self._exchange(record, raw, place)

    def _exchange(self, record: Line, raw: bytes, place: Place) -> bool:
        """A recorded request and what came back: one answer, or a stream of messages."""
        try:
            exchange = exchange_in(raw)
            halves = [
                decode_half(half) for half in (record.http, record.request, record.response) if first(half) == b"{"
            ]
        except msgspec.DecodeError:
            return False
        if exchange is None:
            return False
        named, agreed = (
            [value for half in halves if (value := header(half.headers, name)) is not None]
            for name in ("mcp-session-id", "mcp-protocol-version")
        )
        when = place.when if place.when is not None else exchange.when
        place = replace(place, session=next(iter(named), None), protocol=next(iter(agreed), None), when=when)
        taken, first_event = [], self._traffic.event
        for body in (exchange.request, exchange.response):
            if body is not None:
                inside = replace(place, pointer=place.pointer + body.pointer, opaque=body.opaque)
                each = [self._body(Raw(frame), inside) for frame in body.frames]
                taken.append(any(each))
        if any(taken):
            faults = unread(exchange.request, exchange.response)
            refused = exchange.status is not None and exchange.status >= _REFUSED
            if not (taken[-1] or faults or refused) and says_something(exchange.response):
                faults = [STRANGE]
            self._rows.faults += [(first_event, place.session, *fault) for fault in faults]
        return any(taken)

    def _body(self, raw: Raw, place: Place) -> bool:
        """What an envelope or an exchange holds: a message, a batch, or the text of either."""
        if first(raw) == b'"':
            text = (text_of(raw) or "").lstrip()
            return text[:1] in ("{", "[") and self._body(Raw(text.encode()), replace(place, opaque=True))
        if first(raw) == b"[":
            try:
                return self._batch([bytes(each) for each in decode_list(raw)], place)
            except msgspec.DecodeError:
                return False
        found = self._records.opened(bytes(raw)) if first(raw) == b"{" else None
        if found is None or found.record.jsonrpc is None:
            return False
        record, _, faults = found
        event = self._traffic.event
        taken = self._traffic.message(record, place)
        self._rows.faults += [(event, None, *fault) for fault in faults]
        return taken

    def _batch(self, raws: list[bytes], place: Place) -> bool:
        taken = False
        for index, raw in enumerate(raws):
            step = place.pointer if place.opaque else f"{place.pointer}/{index}"
            taken |= first(raw) == b"{" and self._body(Raw(raw), replace(place, pointer=step))
        return taken


def _cleaned(raw: bytes) -> tuple[Line | None, bytes, list[Fault]] | None:
    """A record without what cannot be kept of it, and what that was; a batch comes back as its text alone."""
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not knows(parsed[0]):
        return None
    value, faults = parsed
    if isinstance(value, list):
        return None, msgspec.json.encode(value), faults
    found = typed(decode_line, value)
    return None if found is None else (found[0], msgspec.json.encode(value), faults + found[1])
