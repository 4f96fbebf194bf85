"""Anthropic Messages: request and response bodies, exchanges in any recorder's shape, and streams.

Every request resends the whole conversation. What was sent before is passed over; what comes back changed is a copy
(stage history) of the call or result it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.claude.blocks import (
    At,
    Block,
    Blocks,
    blocks_of,
    is_call,
    is_result,
    meaning,
    words_of,
)
from analyzer.read.claude.bodies import (
    STREAM,
    Message,
    Piece,
    Record,
    asks,
    format_of,
    hosted_in,
    is_url,
    knows,
    message_of,
    parallel_of,
    piece_of,
    pieces_of,
    record_of,
)
from analyzer.read.claude.conversation import Conversation, Conversations, Sent, digest, gist, sent_as
from analyzer.read.decoding import Decoding
from analyzer.read.members import held, listed
from analyzer.read.openai.cursor import Cursor, Place
from analyzer.read.openai.exchange import Body, exchange_of, unread
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first

_CUT = "max_tokens"
_REFUSED = 400


class _Sentence(msgspec.Struct):
    """A message of a request, read."""

    role: str | None
    blocks: list[Block]
    faults: list[Fault]


class _Asked(msgspec.Struct):
    """A request that waits for what comes back."""

    record: Record
    place: Place
    next: int
    conversation: Conversation
    text: bytes
    """Of its messages, without the end."""
    sent: list[Sent]
    new: list[_Sentence]
    """Of the messages after those that were sent before."""


class _Open(msgspec.Struct):
    """A block of a stream."""

    block: Block
    event: int
    pieces: list[str] = []
    stopped: bool = False


class _Reply(msgspec.Struct):
    """A reply that comes in pieces."""

    id: str
    conversation: Conversation
    blocks: dict[int, _Open] = {}
    event: int = 0


class AnthropicMessages(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "anthropic-messages"
    title: ClassVar[str] = "Anthropic Messages: bodies, exchanges, streams"
    known_by: ClassVar[str] = (
        "`messages` beside `max_tokens`, with tools that have an `input_schema` or blocks `tool_use`, `tool_result`; "
        "bodies of type `message`; stream events `message_start` to `message_stop`; exchanges under /v1/messages"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the messages and the call ids that they resend.",
        "Tools of the provider's own have a type and no schema: their arguments are not judged.",
        "Output schemas are not on this wire: give them as contract files.",
        "A result without `is_error` counts as a success: the wire has no other flag.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, record_of, self.knows)
        self._blocks = Blocks(self.name, rows)
        self._cursor = Cursor(rows)
        self._conversations: Conversations = rows.shared.setdefault(self.name, Conversations())
        self._asked: _Asked | None = None
        self._reply: _Reply | None = None

    knows = staticmethod(knows)

    def close(self) -> None:
        """A request without an answer, and a reply that breaks off."""
        self._end()
        self._flush(None)

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        del raw
        native = record.type
        if native in STREAM and (native != "message_start" or first(record.message) == b"{"):
            self._piece(piece_of(record), place)
            return True
        if native == "message" and record.role == "assistant":
            self._whole(record, place)
            return True
        if native is None and first(record.messages) == b"[" and asks(record):
            self._request(record, place)
            return True
        if native == "ping" and self._reply is not None:
            self._pinged(self._reply, place)
            return True
        if first(record.error) == b"{" and (native == "error" or (native is None and self._asked is not None)):
            if native is None and record.id is not None:
                return False
            self._failed(place)
            return True
        if any(first(each) == b"{" for each in (record.http, record.request)) or record.body:
            return self._exchange(record, place)
        return top and self._records.enveloped(record, place, self._enclosed)

    def _enclosed(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _failed(self, place: Place) -> None:
        """An error in the place of a response."""
        session = self._reply.conversation.session if self._reply is not None else None
        self._end()
        session = self._flush(None, accepted=False) or session
        self._cursor.advance(place)
        self._cursor.event("error", "error", session)

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, record_of)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not is_url(exchange.url)):
            return False
        place = msgspec.structs.replace(place, when=exchange.when if exchange.when is not None else place.when)
        request, response = exchange.request, exchange.response
        asked = self._records.body(request)
        if asked is not None and not (first(asked.messages) == b"[" and (exchange.url or asks(asked))):
            asked = None
        if asked is None and not exchange.url:
            return False
        self._rows.faults += [(place.event, None, *fault) for fault in unread(exchange.request, exchange.response)]
        self._end()
        self._flush(None)
        if asked is not None and request is not None:
            self._request(asked, _of(place, request))
        refused = exchange.status is not None and exchange.status >= _REFUSED
        taken = False
        if response is not None and not refused:
            inside = _of(place, response)
            pieces = pieces_of(response.frames) if response.stream else None
            for piece in pieces or ():
                if piece.type != "ping":
                    self._piece(piece, inside)
                elif self._reply is not None:
                    self._pinged(self._reply, inside)
            taken = bool(pieces)
            for found in self._records.values(response, response.frames if pieces is None else ()):
                taken |= self._take(found.record, found.text, inside, top=False)
        self._end()
        session = self._flush(None, accepted=False if refused else None)
        if asked is None and not taken:
            self._cursor.advance(place)
            self._cursor.event("request", "request", session)
        return True

    # --- requests ---------------------------------------------------------------------------------------------------

    def _request(self, record: Record, place: Place) -> None:
        """Read a request and keep it until its response says how its session is called."""
        self._end()
        self._flush(None)
        self._cursor.advance(place)
        read: dict[bytes, _Sentence] = {}

        def sentence(raw: bytes) -> _Sentence:
            if raw not in read:
                read[raw] = _sentence(raw)
            return read[raw]

        def said(raw: bytes) -> int:
            return gist(sentence(raw).blocks)

        listing = bytes(record.messages)
        found = self._conversations.continued(listing, said)
        if found is not None:
            conversation, raws = found
            known = len(conversation.sent)
            new, sent = self._read(raws, list(map(digest, raws)), sentence)
        else:
            raws = listed(listing)
            digests = list(map(digest, raws))
            best, known = self._conversations.find(digests, lambda index: said(raws[index]))
            new, sent = self._read(raws[known:], digests[known:], sentence)
            conversation = best or self._owner(sent) or Conversation()
            if digests:
                self._conversations.begun(conversation, digests[0])
        text = listing.rstrip().removesuffix(b"]").rstrip()
        whole = [*conversation.sent[:known], *sent]
        self._asked = _Asked(record, place, self._cursor.next, conversation, text, whole, new)

    @staticmethod
    def _read(
        raws: list[bytes], digests: list[int], sentence: Callable[[bytes], _Sentence]
    ) -> tuple[list[_Sentence], list[Sent]]:
        new = list(map(sentence, raws))
        return new, [sent_as(at, each.blocks) for at, each in zip(digests, new, strict=True)]

    def _owner(self, sent: list[Sent]) -> Conversation | None:
        """The conversation that a call of these messages was made in."""
        ids = [call for each in reversed(sent) for call in (*each.calls, *each.results)]
        owned = (self._conversations.of_call(call) for call in ids)
        return next((each for each in owned if each is not None), None)

    def _flush(self, reply: str | None, *, accepted: bool | None = None) -> str | None:
        """Append the request that waits; the session it is of."""
        asked, self._asked = self._asked, None
        if asked is None:
            return None
        here, back = self._cursor.place, self._cursor.next
        conversation = asked.conversation
        if conversation.session is None:
            text = b",".join(listed(asked.record.messages))
            conversation.session = reply or f"request-{blake2b(text, digest_size=6).hexdigest()}"
        self._cursor.move(asked.place, asked.next)
        self._ask(asked, conversation, accepted=accepted)
        # The response may stand in the same record: its events come after those of the request.
        self._cursor.move(here, self._cursor.next if here.event == asked.place.event else back)
        return conversation.session

    def _ask(self, asked: _Asked, conversation: Conversation, *, accepted: bool | None) -> None:
        record, session = asked.record, conversation.session
        event, opaque = self._cursor.event("request.create", "request", session)
        self._settings(record, event, conversation)
        self._table(record.tools, event, conversation, "" if opaque else "/tools")
        known = len(asked.sent) - len(asked.new)
        calls, results = conversation.counts(known, keep=accepted is False)
        before = len(conversation.sent)
        for index, sentence in enumerate(asked.new, known):
            event, opaque = self._cursor.event("message", "item", session)
            at = At(event, session, "history", f"/messages/{index}/content", opaque=opaque)
            at.reply = f"{session} {index}"
            replied = sentence.role == "assistant" and index == before and conversation.reply is not None
            fresh = index >= before and not replied
            self._sentence(sentence, at, conversation, (calls, results), fresh=fresh, accepted=accepted)
        if accepted is not False:
            conversation.calls, conversation.results = calls, results
            self._conversations.went_on(conversation, asked.sent, asked.text)
            for call_id in {name for each in asked.sent[known:] for name in each.results}:
                conversation.answered[call_id] = max(results[call_id], conversation.answered.get(call_id, 0))
        self._conversations.owns(conversation, [call for each in asked.sent[known:] for call in each.calls])

    def _sentence(
        self,
        sentence: _Sentence,
        at: At,
        conversation: Conversation,
        counts: tuple[dict[str, int], dict[str, int]],
        *,
        fresh: bool,
        accepted: bool | None,
    ) -> None:
        """One message of a request, which may have been sent before."""
        self._blocks.faults(sentence.faults, at)
        calls, results = counts
        said, to = False, at.to
        for index, block in enumerate(sentence.blocks):
            at.to = f"{to}/{index}"
            if is_call(block):
                nth = _next(calls, block.id or "")
                at.stage, at.emission = "history", conversation.emission(block.id or "", nth)
                self._blocks.call(
                    block, at, kind="hosted" if block.name in conversation.hosted and block.type == "tool_use" else None
                )
                said = True
            elif is_result(block):
                nth = _next(results, block.tool_use_id or "")
                old = nth < conversation.answered.get(block.tool_use_id or "", 0)
                at.stage = "history" if old or sentence.role == "assistant" else "message"
                at.emission = f"{block.tool_use_id}/{nth}"
                at.accepted = accepted if at.stage == "message" else None
                self._blocks.result(block, at)
            elif meaning(block):
                said = True
            elif fresh:
                self._blocks.unknown(block, at)
        # What holds results alone is no word of the user's; several of them are one message.
        if fresh and said:
            text = words_of(sentence.blocks)
            where = "" if at.opaque else to
            self._rows.messages.append((at.event, at.session, None, None, sentence.role, None, None, text, where))

    def _settings(self, record: Record, event: int, conversation: Conversation) -> None:
        state = b"\0".join((str(record.model).encode(), *(map(bytes, _settings_of(record)))))
        if state == conversation.state:
            return
        conversation.state = state
        parallel, form = parallel_of(record), format_of(record)
        system = words_of(blocks_of(record.system)[0]) or None
        self._rows.session_states.append(
            (event, conversation.session, None, None, None, record.model, None, parallel, form, system, None, None)
        )

    def _table(self, tools: Raw, event: int, conversation: Conversation, pointer: str) -> None:
        text = bytes(tools)
        if text == (conversation.table or b""):
            return
        conversation.table = text
        if first(text) != b"[":
            if text and text != b"null":
                detail = "tools is no list"
                self._rows.faults.append((event, conversation.session, "member_type", pointer, detail, None))
            self._rows.showings.append((event, conversation.session, "request", "all", None, ""))
            return
        conversation.hosted = hosted_in(tools)
        table = self._rows.table(text, "anthropic")
        self._rows.showings.append((event, conversation.session, "request", "all", table, pointer))

    # --- responses --------------------------------------------------------------------------------------------------

    def _answering(self, reply: str | None, place: Place) -> Conversation:
        """The conversation that a reply belongs to, after its request was appended."""
        self._end()
        asked = self._asked
        self._flush(reply)
        self._cursor.advance(place)
        return Conversation(reply or f"reply-{place.event}") if asked is None else asked.conversation

    def _whole(self, record: Record, place: Place) -> None:
        """A response body."""
        conversation = self._answering(record.id, place)
        event, opaque = self._cursor.event("message", "item", conversation.session)
        reply = record.id or f"reply {event}"
        blocks, faults = blocks_of(record.content)
        at = At(event, conversation.session, "item", "/content", reply=reply, opaque=opaque)
        self._blocks.faults(faults, at)
        self._answer(blocks, [at] * len(blocks), record.stop_reason, conversation)
        said = (event, conversation.session, None, record.id, "assistant", None, record.stop_reason)
        self._rows.messages.append((*said, words_of(blocks), at.to))

    def _answer(
        self,
        blocks: list[Block],
        places: list[At],
        stop_reason: str | None,
        conversation: Conversation,
    ) -> None:
        """The calls and results in a reply."""
        inside: dict[str, int] = {}
        answers: dict[str, int] = {}
        for index, (block, at) in enumerate(zip(blocks, places, strict=True)):
            at.to = at.to if at.stage == "stream" else f"/content/{index}"
            at.status = "incomplete" if stop_reason == _CUT and index == len(blocks) - 1 else at.status
            if is_call(block):
                name = block.id or ""
                nth = _next(inside, name)
                reply = f"{at.reply} {nth}" if nth else at.reply or ""
                at.emission = conversation.emit(name, reply, conversation.calls.get(name, 0) + nth)
                self._blocks.call(
                    block, at, kind="hosted" if block.name in conversation.hosted and block.type == "tool_use" else None
                )
            elif is_result(block):
                stage, at.stage = at.stage, "echo"
                name = block.tool_use_id or ""
                nth = conversation.results.get(name, 0) + _next(answers, name)
                at.emission = f"{name}/{nth}"
                conversation.answered[name] = max(nth + 1, conversation.answered.get(name, 0))
                self._blocks.result(block, at)
                at.stage = stage
            elif not meaning(block):
                self._blocks.unknown(block, at)
        conversation.reply = gist(blocks)
        self._conversations.owns(conversation, [block.id or "" for block in blocks if is_call(block)])

    # --- streams ----------------------------------------------------------------------------------------------------

    def _piece(self, piece: Piece, place: Place) -> None:
        """An event of a streamed response."""
        native = piece.type
        if native == "message_start":
            start = self._message_of(piece.message)
            conversation = self._answering(start.id, place)
            self._reply = _Reply(start.id or f"reply {place.event}", conversation)
        reply = self._reply
        if reply is None:
            # The beginning was not recorded: what follows is a reply of its own.
            reply = self._reply = _Reply(f"reply {place.event}", self._answering(None, place))
        self._cursor.advance(place)
        event, _ = self._cursor.event(native, STREAM[native], reply.conversation.session)
        reply.event = event
        index, delta = piece.index, piece.delta
        if native == "content_block_start" and index is not None:
            reply.blocks[index] = _Open(piece.content_block or Block(), event)
        elif native == "content_block_delta" and index is not None:
            block = reply.blocks.get(index)
            if block is None:
                block = reply.blocks[index] = _Open(Block(), event)
            text = None if delta is None else delta.partial_json if delta.partial_json is not None else delta.text
            if text is not None:
                block.pieces.append(text)
        elif native == "content_block_stop" and index in reply.blocks:
            block = reply.blocks[index or 0]
            block.event, block.stopped = event, True
        elif native == "message_delta":
            self._end(None if delta is None else delta.stop_reason)

    def _pinged(self, reply: _Reply, place: Place) -> None:
        self._cursor.advance(place)
        self._cursor.event("ping", "notice", reply.conversation.session)

    def _message_of(self, message: Raw) -> Record:
        found = self._records.opened(bytes(message))
        return Record() if found is None else found.record

    def _end(self, stop_reason: str | None = None) -> None:
        """The streamed reply is whole, or it breaks off."""
        reply, self._reply = self._reply, None
        if reply is None or not reply.blocks:
            self._reply = reply if stop_reason is not None else None
            return
        session = reply.conversation.session
        held = [reply.blocks[index] for index in sorted(reply.blocks)]
        blocks = [_joined(each) for each in held]
        places = [
            At(
                each.event,
                session,
                "stream",
                "",
                reply=reply.id,
                status=None if each.stopped else "in_progress",
                opaque=True,
            )
            for each in held
        ]
        self._answer(blocks, places, stop_reason, reply.conversation)
        said = words_of(blocks)
        self._rows.messages.append((places[0].event, session, None, reply.id, "assistant", None, None, said, ""))
        if stop_reason is not None:
            self._reply = _Reply(reply.id, reply.conversation)


def _joined(held: _Open) -> Block:
    """A block of a stream with its pieces put together; no piece at all is an empty object."""
    block, text = held.block, "".join(held.pieces)
    if is_call(block):
        if text:
            block.input = Raw(text.encode())
        elif not block.input:
            block.input = Raw(b"{}")
    elif block.type == "text":
        block.text = (block.text or "") + text
    return block


def _sentence(raw: bytes) -> _Sentence:
    message, _ = held(message_of, raw, Message())
    blocks, faults = blocks_of(message.content)
    return _Sentence(message.role, blocks, faults)


def _of(place: Place, body: Body[Record]) -> Place:
    return msgspec.structs.replace(place, pointer=place.pointer + body.pointer, opaque=body.opaque)


def _next(counts: dict[str, int], name: str) -> int:
    nth = counts.get(name, 0)
    counts[name] = nth + 1
    return nth


def _settings_of(record: Record) -> tuple[Raw, ...]:
    return record.tool_choice, record.output_config, record.output_format, record.system
