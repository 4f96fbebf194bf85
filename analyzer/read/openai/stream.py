"""Streams of responses: items that are begun, the pieces of their arguments, and what finished items say instead."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.read.openai.bodies import Piece, Record, record_of
from analyzer.read.openai.together import MOST, NOBODYS, Held, Key, Stream, Together
from analyzer.read.openai.transcript import Transcript
from analyzer.read.openai.wire import Item, items_of
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of

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
_ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
_TELLING = _BEGUN | _ENDED | _WHOLE | _ITEMS


class Streaming:
    """Takes the events of streams; of several at once each event goes to its own."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.open: Stream | None = None
        """The one that began last."""
        self._together = Together()

    def piece(self, piece: Piece, event: int) -> bool:
        """A line that holds one event of a stream and nothing else, if that tells no more than a piece of a text."""
        native, stream = piece.type, self.open
        if stream is None or native is None or native in _TELLING or not native.startswith("response."):
            return False
        if self._together.several:
            found = self._together.stream_of(piece, stream)
            if found is None:
                return False
            stream = found
        stream.reach(piece.sequence_number)
        if native in _PIECES and piece.delta is not None:
            stream.piece(_key(piece), piece.delta, piece.sequence_number)
        when = piece.recorded_at if piece.recorded_at is not None else stream.when
        self._transcript.rows.whole.append((event, stream.session, None, when, None, native, "delta", ""))
        return True

    def take(self, record: Record, native: str) -> None:
        """One event of a stream."""
        if native in _BEGUN or native in _ENDED:
            body = record_of(record.response) if first(record.response) == b"{" else Record()
            self._turn_to(body.id)
            if native in _ENDED:
                if self.open is not None:
                    self.open.reach(record.sequence_number)
                self._completed(body, native, self.open or self._begin(Record(), None))
                return
            self._begun(body, native)
            if self.open is not None:
                self.open.last = record.sequence_number
            return
        stream = self.open or self._begin(Record(), None)
        if self._together.several:
            found = self._together.stream_of(record, stream)
            if found is None:
                self._wait(record, native)
                return
            stream = found
        stream.reach(record.sequence_number)
        self._event(record, native, stream)

    def _begun(self, body: Record, native: str) -> None:
        stream = self.open
        if stream is None or (native == "response.created" and body.id != stream.response):
            self._begin(body, native)
        else:
            self._transcript.cursor.event(native, "session", stream.session, when=stream.when)

    def _turn_to(self, response: str | None) -> None:
        """Make the stream of this response the latest one, if it is open."""
        found = self._together.named(response) if self._together.others else None
        if found is not None:
            self._together.others.remove(found)
            if self.open is not None:
                self._together.others.append(self.open)
            self.open = found

    def _event(self, record: Record, native: str, stream: Stream) -> None:
        """An event of a stream that is neither its beginning nor its end."""
        key = _key(record)
        if native in _PIECES:
            self._transcript.cursor.event(native, "delta", stream.session, when=stream.when)
            if first(record.delta) == b'"':
                stream.piece(key, _string(record.delta), record.sequence_number)
        elif native == "response.output_item.added":
            item = record.item or Item()
            event, opaque = self._transcript.cursor.event(native, "item", stream.session, when=stream.when)
            stream.held[key] = Held(item, event, opaque)
            stream.items.add(item.id)
        elif native == "response.output_item.done":
            event, opaque = self._transcript.cursor.event(native, "item", stream.session, when=stream.when)
            if record.item is not None:
                self._finish(stream, key, record.item, event, "/item", opaque=opaque)
        elif native in _WHOLE:
            event, opaque = self._transcript.cursor.event(native, "delta", stream.session, when=stream.when)
            whole = record.arguments if bytes(record.arguments) else record.input
            if first(whole) == b'"':
                stream.whole(
                    key, _string(whole), event, "" if opaque else "/arguments" if bytes(record.arguments) else "/input"
                )
        else:
            self._transcript.cursor.event(native, "delta", stream.session, when=stream.when)

    def _wait(self, record: Record, native: str) -> None:
        """An event that may be of several streams: what it says of an item waits until one of them lists that."""
        kind = "item" if native in _ITEMS else "delta"
        event, opaque = self._transcript.cursor.event(native, kind, None)
        if record.item is not None:
            self._together.wait(record.item, event, opaque=opaque)
            return
        held = self._together.waiting.get(record.item_id or "")
        if held is not None and native in _PIECES and first(record.delta) == b'"':
            held.pieces.append(_string(record.delta))

    def _begin(self, body: Record, native: str | None) -> Stream:
        others = self._together.others
        if self.open is not None and native is not None and len(others) < MOST:
            others.append(self.open)  # it may go on
        else:
            self.end()
        session = self._transcript.begin(body)
        stream = self.open = Stream(body.id, session, body.created_at, unsure=self._transcript.unsure)
        if native is not None:
            event, opaque = self._transcript.cursor.event(native, "session", session, when=stream.when)
            if stream.unsure:
                return stream
            self._transcript.tell(body, event, session, None)
            self._transcript.tools(body.tools, event, session, 1, None if opaque else "/response/tools")
            self._transcript.chains.replied(session, body.id)
        return stream

    def _finish(
        self, stream: Stream, key: int | str | None, item: Item, event: int, member: str, *, opaque: bool
    ) -> None:
        """An item is whole: append what was streamed of it where that differs, and then the item."""
        held = stream.held.pop(key, None) or self._together.placed(item)
        if stream.unsure:
            stream.done[key] = item
            return
        emission = held.item.id if held is not None and held.item.id is not None else item.id
        at = self._transcript.output(
            event, stream.session, stream.response, key if isinstance(key, int) else None, opaque=opaque
        )
        at.emission, at.member = emission, member
        if held is not None:
            for text, where, pointer in _differing(held, item):
                self._streamed(item, text, stream, where, pointer, emission)
        stream.done[key] = msgspec.structs.replace(item, id=emission)
        self._transcript.items.take(item, at)
        self._transcript.chains.went_on(stream.session, stream.done[key])

    def _streamed(  # noqa: PLR0917 - what one sighting needs
        self, item: Item, text: str, stream: Stream, event: int, pointer: str, emission: str | None
    ) -> None:
        raw = Raw(msgspec.json.encode(text))
        shown = msgspec.structs.replace(item, arguments=raw, input=raw)
        if item.type == "mcp_call":
            shown = msgspec.structs.replace(shown, output=ABSENT, error=ABSENT, status="in_progress")
        at = self._transcript.output(event, stream.session, stream.response, opaque=not pointer)
        at.stage, at.emission, at.member = "stream", emission, pointer.rpartition("/")[0]
        self._transcript.items.take(shown, at)

    def _completed(self, body: Record, native: str, stream: Stream) -> None:
        """The end of a response: what its items say that was not said before."""
        end, _ = self._transcript.cursor.event(native, "session", stream.session, when=stream.when)
        items, faults = items_of(body.output)
        if stream.unsure:
            self._transcript.hold(body, items or [*stream.done.values()], faults, "/response" if items else None)
            self.open = self._together.others.pop() if self._together.others else None
            return
        self._transcript.tell(body, end, stream.session, text_of(body.status) or native.removeprefix("response."))
        for fault in faults:
            self._transcript.rows.faults.append(
                (end, stream.session, fault.fault, f"/response/output{fault.pointer}", fault.detail, None)
            )
        for index, item in enumerate(items):
            done = stream.done.get(index)
            if done is not None and _same(done, item):
                continue
            held = stream.held.get(index)
            event, inside = self._transcript.cursor.event(
                item.type or "message", "item", stream.session, member=f"/response/output/{index}", when=stream.when
            )
            if held is None and done is not None:
                stream.held[index] = Held(done, event, inside)
            self._finish(stream, index, item, event, "", opaque=inside)
        if items:
            stream.held.clear()
        self._over(stream)

    def end(self) -> None:
        """The streams are over, whether they were whole or not."""
        while self.open is not None:
            self._over(self.open)
        for held in self._together.left():
            self._transcript.rows.faults.append((held.event, None, *NOBODYS))

    def _over(self, stream: Stream) -> None:
        """What was begun and never finished is shown as far as it came."""
        if stream.unsure:
            begun = [each for each in stream.held.values() if (each.item.type or "").endswith("_call")]
            items = [*stream.done.values(), *(_as_it_came(each) for each in begun)]
            self._transcript.hold(Record(id=stream.response, status=Raw(b'"in_progress"')), items, [], None)
            self.open = self._together.others.pop() if self._together.others else None
            return
        for held in stream.held.values():
            if held.item.type is not None and held.item.type.endswith("_call"):
                item = msgspec.structs.replace(held.item, status="in_progress")
                self._streamed(item, held.text(), stream, held.event, "" if held.opaque else "/item/arguments", item.id)
        self._transcript.answered(stream.session, stream.response)
        self.open = self._together.others.pop() if self._together.others else None


def _as_it_came(held: Held) -> Item:
    raw = Raw(msgspec.json.encode(held.text()))
    return msgspec.structs.replace(held.item, arguments=raw, input=raw, status="in_progress")


def _key(chunk: Piece | Record) -> Key:
    return chunk.output_index if chunk.output_index is not None else chunk.item_id


def _differing(held: Held, item: Item) -> Iterator[tuple[str, int, str]]:
    """The texts that the stream gave and that are not those of the finished item: text, event, pointer."""
    final = text_of(item.input) if item.type == "custom_tool_call" else arguments(item.arguments)[0]
    pieces = "".join(held.pieces)
    if pieces and pieces != final and not held.missing:
        yield pieces, held.told[1] if held.told is not None else held.event, ""
    if held.told is not None and held.told[0] not in {final, pieces}:
        yield held.told


def _same(done: Item, item: Item) -> bool:
    """Whether the end of a response says of an item what the stream had said."""
    return (done.type, bytes(done.arguments), bytes(done.input)) == (
        item.type,
        bytes(item.arguments),
        bytes(item.input),
    )
