"""OpenAI Responses: bodies, requests, exchanges in any recorder's shape, and streams, chained into sessions.

What a request resends of an earlier one, byte by byte, is passed over; what it resends otherwise is a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.openai.chain import Chains, conversation_of
from analyzer.read.openai.cursor import Cursor, Place
from analyzer.read.openai.exchange import Body, exchange_of
from analyzer.read.openai.items import At, Item, Items, items_of
from analyzer.read.openai.ledger import Ledger, Recent
from analyzer.read.openai.stream import Held, Stream
from analyzer.read.openai.tools import same_tools
from analyzer.read.records import Block
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import ABSENT, Raw, first, text_of


class Record(msgspec.Struct, gc=False):
    """Everything that one record may be: a request, a response, a chunk of a stream, an exchange, an envelope."""

    type: str | None = None
    object: str | None = None
    id: str | None = None
    model: str | None = None
    status: Raw = ABSENT
    created_at: float | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    tools: Raw = ABSENT
    instructions: Raw = ABSENT
    text: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    conversation: Raw = ABSENT
    stream: Raw = ABSENT
    store: Raw = ABSENT
    messages: Raw = ABSENT
    error: Raw = ABSENT
    response: Raw = ABSENT
    response_raw: Raw = ABSENT
    item: Item | None = None
    output_index: int | None = None
    item_id: str | None = None
    delta: Raw = ABSENT
    arguments: Raw = ABSENT
    http: Raw = ABSENT
    request: Raw = ABSENT
    body: Raw = ABSENT
    path: Raw = ABSENT
    url: Raw = ABSENT
    uri: Raw = ABSENT
    event: Raw = ABSENT
    data: Raw = ABSENT
    recorded_at: str | float | None = None


class _Pending(msgspec.Struct, gc=False):
    """A request that waits for its response, which names the session."""

    record: Record
    items: list[Item]
    faults: list[Fault]
    place: Place
    next: int
    session: str | None
    skipped: int
    """Items of the input that were resent byte by byte."""
    accepted: bool | None = None


class _Shown(msgspec.Struct, gc=False):
    """The tables a session has shown last; empty: none yet."""

    request: str | None = ""
    echo: str | None = ""
    text: bytes = b"[]"


_record = msgspec.json.Decoder(Record).decode
_string = msgspec.json.Decoder(str).decode

_BEGUN = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDED = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_PIECES = frozenset(
    {
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.mcp_call_arguments.delta",
        "response.mcp_call.arguments.delta",
    }
)
_WHOLE = frozenset(name.removesuffix("delta") + "done" for name in _PIECES)
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
        ledger = rows.shared.setdefault("openai", Ledger())
        self._ledger: Ledger = ledger
        self._items = Items(self.name, rows, ledger, shape="responses")
        self._chains = Chains(ledger)
        self._cursor = Cursor(rows)
        self._pending: _Pending | None = None
        self._stream: Stream | None = None
        # By session: the tables last shown by a request and by a response, and the state last shown.
        self._shown: Recent[str | None, _Shown] = Recent(50_000)
        self._state: Recent[str | None, tuple[Any, ...]] = Recent(50_000)
        self._asked: Recent[str | None, bool] = Recent()
        self._same: dict[tuple[str | None, str | None], bool] = {}
        self._answered: Recent[str | None, str] = Recent()

    @staticmethod
    def sniff(records: Sequence[Any], path: str) -> float:
        """The share of the records that are of this wire."""
        del path
        return sum(map(_knows, records)) / len(records) if records else 0.0

    def close(self) -> None:
        """The request that waits and the stream that was cut are appended."""
        self._end_stream()
        self._flush(None)

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others: list[int] = []
        base = event_number(self._source, block.first)
        pointers = block.pointer
        self._ledger.trim()
        for memory in (self._shown, self._state, self._asked, self._answered):
            memory.trim()
        for index, raw in enumerate(block.raw):
            event = base + (index << PART_BITS)
            faults: list[Fault] = []
            try:
                if not block.utf8:
                    raw.decode()
                record = _record(raw)
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
            self._cursor.move(place)
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
        self._cursor.move(place)
        self._cursor.undo()
        found = _recover(bytes(raw))
        if found is None:
            return False, []
        record, text, faults = found
        try:
            return self._take(record, text, place), faults
        except (msgspec.DecodeError, RecursionError):
            self._cursor.move(place)
            self._cursor.undo()
            self._cursor.event("response", "session", None)
            detail = "something inside has another type than the wire says; the record was left out"
            return True, [*faults, Fault("member_type", "", detail)]

    # --- what a record is -------------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes | Raw, place: Place) -> bool:
        native = record.type
        if native is not None:
            if native.startswith("response."):
                self._chunk(record, native)
                return True
            if native == "error" and self._stream is not None:
                self._cursor.event(native, "error", self._stream.session)
                return True
            return self._wrapped(record, place)
        if record.object in _BODIES:
            self._response(record)
            return True
        if first(record.http) == b"{" or first(record.request) == b"{" or bytes(record.body):
            return self._exchange(raw, place)
        if _asks(record):
            self._request(record, place, accepted=None)
            return True
        if first(record.error) == b"{" and self._pending is not None and record.id is None:
            session = self._flush(None, accepted=False)
            self._cursor.move(place)
            self._cursor.event("error", "error", session)
            return True
        return self._wrapped(record, place)

    def _wrapped(self, record: Record, place: Place) -> bool:
        """A record inside a recorder's envelope."""
        for member in ("event", "data"):
            inner: Raw = getattr(record, member)
            if first(inner) == b"{":
                when = record.recorded_at if record.recorded_at is not None else place.when
                inside = _at(place, f"/{member}", when=when)
                self._cursor.within(inside)
                if self._take(_record(inner), inner, inside):
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
        if request is not None and not _asks(request):
            request = None
            if not exchange.url:
                return False
        accepted = None if exchange.status is None else exchange.status < _REFUSED
        self._flush(None)
        self._cursor.move(place)
        session = None
        if request is not None and exchange.request is not None:
            inside = _at(place, exchange.request.pointer, opaque=exchange.request.opaque)
            self._cursor.within(inside)
            self._request(request, inside, accepted=accepted)
        elif response is None:
            self._cursor.event("request", "request", None)
            return True
        for frame in response.frames if response is not None else ():
            assert response is not None
            inside = _at(place, response.pointer, opaque=response.opaque)
            self._cursor.within(inside)
            try:
                body = _record(frame)
                taken = self._take(body, frame, inside) if body.type is not None or body.object is not None else False
            except (msgspec.DecodeError, RecursionError):
                continue
            if not taken and bytes(body.error):
                session = self._flush(None, accepted=False)
                self._cursor.event("error", "error", session)
        self._end_stream()
        self._flush(None, accepted=accepted)
        if self._cursor.next == place.event:
            self._cursor.within(place)
            self._cursor.event("request", "request", session)
        return True

    @staticmethod
    def _opened(body: Body | None) -> Record | None:
        if body is None or body.stream or not body.frames[0].startswith(b"{"):
            return None
        try:
            return _record(body.frames[0])
        except (msgspec.DecodeError, RecursionError):
            found = _recover(body.frames[0])
            return None if found is None else found[0]

    # --- requests ---------------------------------------------------------------------------------------------------

    def _request(self, record: Record, place: Place, *, accepted: bool | None) -> None:
        """Keep a request until its response says which session it began."""
        self._flush(None)
        self._cursor.move(place, max(self._cursor.next, place.event))
        chained = record.previous_response_id is not None or bytes(record.conversation)
        session = conversation_of(record.conversation) or self._chains.named(record.previous_response_id)
        text = bytes(record.input)
        skipped = 0
        faults: list[Fault] = []
        if text[:1] == b'"':
            items = [Item(type="message", role="user", content=record.input)]
        else:
            size = 0
            if not chained:
                session, size, skipped = self._chains.resent(text)
            items, faults = items_of(text if not size else b"[" + text[size + 1 :])
            if session is None:
                session = self._chains.of_items(items)
        self._pending = _Pending(record, items, faults, place, self._cursor.next, session, skipped, accepted)

    def _flush(self, session: str | None, *, accepted: bool | None = None, when: float | None = None) -> str | None:
        """Append the request that waits, as part of `session` where its own words name none; the session it got."""
        pending, self._pending = self._pending, None
        if pending is None:
            return session
        here, back = self._cursor.place, self._cursor.next
        self._cursor.move(pending.place, pending.next)
        session = self._ask(pending, session, accepted=pending.accepted if accepted is None else accepted, when=when)
        # The response may stand in the same record: its events come after those of the request.
        self._cursor.move(here, self._cursor.next if here.event == pending.place.event else back)
        return session

    def _ask(self, pending: _Pending, session: str | None, *, accepted: bool | None, when: float | None) -> str:
        record, items = pending.record, pending.items
        chained = record.previous_response_id is not None or bool(bytes(record.conversation))
        text = bytes(record.input)
        session = pending.session or session or f"request-{blake2b(text, digest_size=6).hexdigest()}"
        native = "request.continue" if chained else "request.create"
        event, opaque = self._cursor.event(native, "request", session, when=when)
        self._asked[session] = True
        self._tell(record, event, session, None)
        self._tools(record.tools, event, session, 0, None if opaque else "/tools")
        for fault in pending.faults:
            self._rows.faults.append((event, session, fault.fault, f"/input{fault.pointer}", fault.detail, fault.at))
        whole = text[:1] == b'"'
        if not chained and not whole:
            self._chains.sent(session, text, pending.skipped + len(items))
        latest = self._answered.get(session)
        after = (record.previous_response_id or latest or "") if chained else None
        seen: dict[str, int] = {}
        for index, item in enumerate(items, pending.skipped):
            member = "/input" if whole else f"/input/{index}"
            event, opaque = self._cursor.event(item.type or "message", "item", session, member=member, when=when)
            if whole:
                said = ("user", None, None, text_of(item.content))
                self._rows.messages.append((event, session, None, None, *said, ""))
                continue
            at = At(event, session, stage="history", accepted=accepted, opaque=opaque)
            self._place_item(item, at, after=after, known=latest is not None, seen=seen)
            self._items.take(item, at)
        if accepted is not False and not chained:
            for name, count in seen.items():
                self._ledger.answer(session, name, count)
        return session

    def _place_item(self, item: Item, at: At, *, after: str | None, known: bool, seen: dict[str, int]) -> None:
        """Say of an item of an input whether it is new, and which emission it is."""
        native = item.type or "message"
        if after is not None:
            at.answer = "post"
            if native.endswith("_output") and item.call_id is not None:
                # Sent again after the same response it is the same result; after another one it is a second result.
                at.emission = item.id or f"{item.call_id}!{after}"
            return
        if native.endswith("_output"):
            name = item.call_id
        elif native == "message":
            name = None if item.role == "assistant" else f"message {hash(bytes(item.content))}"
            at.fresh = not (item.role == "assistant" and known)
        elif native in _SUMMED:
            name = f"{native} {item.id or hash(bytes(item.encrypted_content))}"
        else:
            return
        if name is None:
            return
        nth = seen.get(name, 0)
        seen[name] = nth + 1
        new = nth >= self._ledger.answered(at.session, name)
        if native.endswith("_output"):
            at.emission = item.id or f"{name}!{nth}"
            at.answer = "post" if new else "history"
        else:
            at.fresh = at.fresh and new

    # --- responses --------------------------------------------------------------------------------------------------

    def _begin(self, record: Record) -> str | None:
        """The session of a response, after its request was appended."""
        session = conversation_of(record.conversation)
        before = record.previous_response_id
        if session is None and before is not None:
            session = self._chains.named(before)
        pending = self._pending
        if pending is not None:
            asked = pending.record.previous_response_id
            if asked is not None and before is not None and asked != before:
                self._flush(None)  # a response to another request
            else:
                pending.session = session or pending.session
                session = self._flush(record.id, when=record.created_at)
        if session is None:
            session = self._chains.named(record.id)
        return session

    def _response(self, record: Record) -> None:
        """A whole response."""
        self._end_stream()
        session = self._begin(record)
        event, opaque = self._cursor.event("response", "session", session, when=record.created_at)
        self._tell(record, event, session, text_of(record.status))
        self._tools(record.tools, event, session, 1, None if opaque else "/tools")
        items, faults = items_of(record.output)
        for fault in faults:
            self._rows.faults.append((event, session, fault.fault, f"/output{fault.pointer}", fault.detail, fault.at))
        self._chains.replied(session, record.id, items)
        reply = record.id or f"reply {event}"
        for index, item in enumerate(items):
            native = item.type or "message"
            event, opaque = self._cursor.event(
                native, "item", session, member=f"/output/{index}", when=record.created_at
            )
            self._items.take(item, self._output(event, session, reply, index, opaque=opaque))
        self._answered[session] = record.id or ""

    def _output(self, event: int, session: str | None, reply: str | None, index: int | None, *, opaque: bool) -> At:
        owed_by = "client" if session in self._asked else "unknown"
        return At(event, session, reply=reply, index=index, owed_by=owed_by, opaque=opaque)

    def _tell(self, record: Record, event: int, session: str | None, status: str | None) -> None:
        """Append the state of the session where it says something new."""
        state = (record.model, record.parallel_tool_calls, bytes(record.text), hash(bytes(record.instructions)))
        if status is None and self._state.get(session) == state:
            return
        self._state[session] = state
        text = bytes(record.text)
        instructions = text_of(record.instructions)
        self._rows.session_states.append(
            (
                *(event, session, status, None, None, record.model, None, record.parallel_tool_calls),
                *(text.decode() if text[:1] == b"{" else None, instructions, None, None),
            )
        )

    def _tools(self, tools: Raw, event: int, session: str | None, side: int, pointer: str | None) -> None:
        """Show the table of a request (side 0) or the echo of a response (side 1) where it says something new."""
        text = bytes(tools)
        if not text:
            return
        if text[:1] not in {b"[", b"n"}:
            detail = "tools is neither a list nor null"
            self._rows.faults.append((event, session, "member_type", pointer or "", detail, None))
            return
        table = self._items.table(text) if text[:1] == b"[" else None
        shown = self._shown.get(session)
        if shown is None:
            shown = self._shown[session] = _Shown()
        if side == 0:
            fresh, shown.request = shown.request != table, table
            if fresh:
                shown.text, shown.echo = text, ""
        else:
            fresh, shown.echo = shown.echo != table, table
            fresh = fresh and not (shown.request != "" and self._echoes(shown, text))
        if fresh:
            self._rows.showings.append((event, session, "request", "all", table, pointer))

    def _echoes(self, shown: _Shown, text: bytes) -> bool:
        """Whether a response says of the tools what its request said."""
        key = (shown.request, shown.echo)
        same = self._same.get(key)
        if same is None:
            same = self._same[key] = same_tools(shown.text, text)
        return same

    # --- streams ----------------------------------------------------------------------------------------------------

    def _chunk(self, record: Record, native: str) -> None:
        """One event of a stream."""
        stream = self._stream
        if native in _BEGUN:
            body = _record(record.response) if first(record.response) == b"{" else Record()
            if stream is None or (native == "response.created" and body.id != stream.response):
                self._begin_stream(body, native)
            else:
                self._cursor.event(native, "session", stream.session, when=stream.when)
            return
        if stream is None:
            stream = self._begin_stream(Record(), None)
        key = record.output_index if record.output_index is not None else record.item_id
        if native in _PIECES:
            self._cursor.event(native, "delta", stream.session, when=stream.when)
            if first(record.delta) == b'"':
                stream.piece(key, _string(record.delta))
        elif native == "response.output_item.added":
            item = record.item or Item()
            event, opaque = self._cursor.event(native, "item", stream.session, when=stream.when)
            stream.held[key] = Held(item, event, opaque)
        elif native == "response.output_item.done":
            event, opaque = self._cursor.event(native, "item", stream.session, when=stream.when)
            if record.item is not None:
                self._finish(stream, key, record.item, event, "/item", opaque=opaque)
        elif native in _WHOLE:
            event, opaque = self._cursor.event(native, "delta", stream.session, when=stream.when)
            whole = record.arguments if bytes(record.arguments) else record.input
            if first(whole) == b'"':
                stream.whole(
                    key, _string(whole), event, "" if opaque else "/arguments" if bytes(record.arguments) else "/input"
                )
        elif native in _ENDED:
            self._completed(record, native, stream)
        else:
            self._cursor.event(native, "delta", stream.session, when=stream.when)

    def _begin_stream(self, body: Record, native: str | None) -> Stream:
        self._end_stream()
        session = self._begin(body)
        stream = self._stream = Stream(body.id, session, body.created_at)
        if native is not None:
            event, opaque = self._cursor.event(native, "session", session, when=stream.when)
            self._tell(body, event, session, None)
            self._tools(body.tools, event, session, 1, None if opaque else "/response/tools")
            self._chains.replied(session, body.id, [])
        return stream

    def _finish(
        self, stream: Stream, key: int | str | None, item: Item, event: int, member: str, *, opaque: bool
    ) -> None:
        """An item is whole: append what was streamed of it where that differs, and then the item."""
        held = stream.held.pop(key, None)
        emission = held.item.id if held is not None and held.item.id is not None else item.id
        at = self._output(event, stream.session, stream.response, key if isinstance(key, int) else None, opaque=opaque)
        at.emission, at.member = emission, member
        if held is not None:
            for text, where, pointer in held.differing(item):
                self._streamed(item, text, stream, where, pointer, emission)
        stream.done[key] = item
        self._items.take(item, at)
        self._chains.replied(stream.session, stream.response, list(stream.done.values()))

    def _streamed(  # noqa: PLR0917 - what one sighting needs
        self, item: Item, text: str, stream: Stream, event: int, pointer: str, emission: str | None
    ) -> None:
        raw = Raw(msgspec.json.encode(text))
        shown = msgspec.structs.replace(item, arguments=raw, input=raw)
        if item.type == "mcp_call":
            shown = msgspec.structs.replace(shown, output=ABSENT, error=ABSENT, status="in_progress")
        at = self._output(event, stream.session, stream.response, None, opaque=not pointer)
        at.stage, at.emission, at.member = "stream", emission, pointer.rpartition("/")[0]
        self._items.take(shown, at)

    def _completed(self, record: Record, native: str, stream: Stream) -> None:
        """The end of a response: what its items say that was not said before."""
        body = _record(record.response) if first(record.response) == b"{" else Record()
        end, _ = self._cursor.event(native, "session", stream.session, when=stream.when)
        self._tell(body, end, stream.session, text_of(body.status) or native.removeprefix("response."))
        items, faults = items_of(body.output)
        for fault in faults:
            self._rows.faults.append(
                (end, stream.session, fault.fault, f"/response/output{fault.pointer}", fault.detail, None)
            )
        for index, item in enumerate(items):
            done = stream.done.get(index)
            if done is not None and bytes(done.arguments) == bytes(item.arguments) and done.type == item.type:
                continue
            held = stream.held.get(index)
            event, inside = self._cursor.event(
                item.type or "message", "item", stream.session, member=f"/response/output/{index}", when=stream.when
            )
            if held is None and done is not None:
                stream.held[index] = Held(done, event, inside)
            self._finish(stream, index, item, event, "", opaque=inside)
        if items:
            stream.held.clear()
        self._stream_over(stream)

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream_over(self._stream)

    def _stream_over(self, stream: Stream) -> None:
        """What was begun and never finished is shown as far as it came."""
        for held in stream.held.values():
            if held.item.type is not None and held.item.type.endswith("_call"):
                item = msgspec.structs.replace(held.item, status="in_progress")
                self._streamed(item, held.text(), stream, held.event, "" if held.opaque else "/item/arguments", item.id)
        self._answered[stream.session] = stream.response or ""
        self._stream = None


_BODIES = frozenset({"response", "response.compaction"})
_SUMMED = frozenset({"compaction", "context_compaction", "compaction_summary"})


def _at(place: Place, pointer: str, *, when: str | float | None = None, opaque: bool = False) -> Place:
    return msgspec.structs.replace(
        place,
        pointer=place.pointer if place.opaque else place.pointer + pointer,
        when=place.when if when is None else when,
        opaque=place.opaque or opaque,
    )


def _asks(record: Record) -> bool:
    """Whether a body without a type is a request of this wire."""
    kind = first(record.input)
    if bytes(record.messages) or bytes(record.output) or kind not in {b"[", b'"'}:
        return False
    if record.previous_response_id is not None or bytes(record.conversation) or bytes(record.tools):
        return True
    if kind == b"[":
        return bytes(record.input)[1:].lstrip()[:1] in {b"{", b"]"} and record.model is not None
    return record.model is not None and bool(bytes(record.store) or bytes(record.instructions) or bytes(record.stream))


def _recover(raw: bytes) -> tuple[Record, bytes, list[Fault]] | None:
    """A record that the fast decoder refused, the text that stands for it, and its faults; None for other wires."""
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not isinstance(parsed[0], dict) or not _knows(parsed[0]):
        return None
    found = typed(_record, parsed[0])
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
        return body.startswith(b"{") and _asks(_record(body))
    except (msgspec.DecodeError, RecursionError):
        return False
