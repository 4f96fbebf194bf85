"""Anthropic Messages: request and response bodies, exchanges in any recorder's shape, and streams.

Every request resends the whole conversation. What was sent before is passed over; what comes back changed is a copy
(stage history) of the call or result it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec

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
from analyzer.read.claude.conversation import Conversation, Conversations, Sent, digest, gist, sent_as
from analyzer.read.decoding import Decoding
from analyzer.read.members import listed
from analyzer.read.openai.cursor import Cursor, Place
from analyzer.read.openai.exchange import Body, Recorded, exchange_of, unread
from analyzer.read.records import Block as Records
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_STREAM = {
    "message_start": "item",
    "content_block_start": "delta",
    "content_block_delta": "delta",
    "content_block_stop": "item",
    "message_delta": "item",
    "message_stop": "item",
}
_CUT = "max_tokens"
_REFUSED = 400


class Delta(msgspec.Struct, gc=False):
    """What a piece of a stream adds."""

    type: str | None = None
    partial_json: str | None = None
    text: str | None = None
    stop_reason: str | None = None


class Record(Recorded, gc=False):
    """Everything that one record may be: a request, a response, an event of a stream, an exchange, an envelope."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    max_tokens: Raw = ABSENT
    tools: Raw = ABSENT
    tool_choice: Raw = ABSENT
    system: Raw = ABSENT
    output_config: Raw = ABSENT
    output_format: Raw = ABSENT
    index: int | None = None
    content_block: Raw = ABSENT
    delta: Raw = ABSENT


class Message(msgspec.Struct, gc=False):
    """One message of a request."""

    role: str | None = None
    content: Raw = ABSENT


class Tool(msgspec.Struct, gc=False):
    """What tells a tool of the provider's own from one of the client's."""

    type: str | None = None
    name: str | None = None
    input_schema: Raw = ABSENT


class _Choice(msgspec.Struct, gc=False):
    disable_parallel_tool_use: bool | None = None


class _Config(msgspec.Struct, gc=False):
    format: Raw = ABSENT


_record = msgspec.json.Decoder(Record).decode
_message = msgspec.json.Decoder(Message).decode
_delta = msgspec.json.Decoder(Delta).decode
_block = msgspec.json.Decoder(Block).decode
_tools = msgspec.json.Decoder(list[Tool]).decode
_choice = msgspec.json.Decoder(_Choice).decode
_config = msgspec.json.Decoder(_Config).decode


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
    sent: list[Sent]
    new: list[_Sentence | None]
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


class AnthropicMessages:
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
        self._records = Decoding(source, rows, _record, _knows)
        self._blocks = Blocks(self.name, rows)
        self._cursor = Cursor(rows)
        self._conversations: Conversations = rows.shared.setdefault(self.name, Conversations())
        self._asked: _Asked | None = None
        self._reply: _Reply | None = None

    @staticmethod
    def sniff(records: Sequence[Any], path: str) -> float:
        """How many of the records are of this wire, and how surely."""
        del path
        return sum(map(_knows, records)) / len(records) if records else 0.0

    def close(self) -> None:
        """A request without an answer, and a reply that breaks off."""
        self._end()
        self._flush(None)

    def read(self, block: Records) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        return self._records.read(block, self._take)

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        del raw
        native = record.type
        if native in _STREAM and (native != "message_start" or first(record.message) == b"{"):
            self._piece(record, native or "", place)
            return True
        if native == "message" and record.role == "assistant":
            self._whole(record, place)
            return True
        if native is None and first(record.messages) == b"[" and _asks(record):
            self._request(record, place)
            return True
        if native == "ping" and self._reply is not None:
            self._move(place)
            self._cursor.event("ping", "notice", self._reply.conversation.session)
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

    def _move(self, place: Place) -> None:
        """Go to a place; other events of its record may be behind it."""
        at = self._cursor.next if self._cursor.place.event == place.event else place.event
        self._cursor.move(place, max(at, place.event))

    def _failed(self, place: Place) -> None:
        """An error in the place of a response."""
        session = self._reply.conversation.session if self._reply is not None else None
        self._end()
        session = self._flush(None, accepted=False) or session
        self._move(place)
        self._cursor.event("error", "error", session)

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, _record)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not _is_url(exchange.url)):
            return False
        place = msgspec.structs.replace(place, when=exchange.when if exchange.when is not None else place.when)
        request, response = exchange.request, exchange.response
        asked = self._records.body(request)
        if asked is not None and not (first(asked.messages) == b"[" and (exchange.url or _asks(asked))):
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
            for found in self._records.values(response, response.frames):
                taken |= self._take(found.record, found.text, inside, top=False)
        self._end()
        session = self._flush(None, accepted=False if refused else None)
        if asked is None and not taken:
            self._move(place)
            self._cursor.event("request", "request", session)
        return True

    # --- requests ---------------------------------------------------------------------------------------------------

    def _request(self, record: Record, place: Place) -> None:
        """Read a request and keep it until its response says how its session is called."""
        self._end()
        self._flush(None)
        self._move(place)
        raws = listed(record.messages)
        digests = list(map(digest, raws))
        read: dict[int, _Sentence] = {}

        def sentence(index: int) -> _Sentence:
            if index not in read:
                read[index] = _sentence(raws[index])
            return read[index]

        conversation, known = self._conversations.find(digests, lambda index: gist(sentence(index).blocks))
        new = [sentence(index) for index in range(known, len(raws))]
        sent = [sent_as(at, each.blocks) for at, each in zip(digests[known:], new, strict=True)]
        if conversation is None:
            known = 0
            ids = [call for each in reversed(sent) for call in (*each.calls, *each.results)]
            owned = (self._conversations.of_call(call) for call in ids)
            conversation = next((each for each in owned if each is not None), None) or Conversation()
        if digests:
            self._conversations.begun(conversation, digests[0])
        whole = [*conversation.sent[:known], *sent]
        self._asked = _Asked(record, place, self._cursor.next, conversation, whole, list(new))

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
            if sentence is None:
                continue
            event, opaque = self._cursor.event("message", "item", session)
            at = At(event, session, "history", f"/messages/{index}/content", opaque=opaque)
            at.reply = f"{session} {index}"
            replied = sentence.role == "assistant" and index == before and conversation.reply is not None
            fresh = index >= before and not replied
            self._sentence(sentence, at, conversation, (calls, results), fresh=fresh, accepted=accepted)
        if accepted is not False:
            conversation.sent, conversation.calls, conversation.results = asked.sent, calls, results
            conversation.reply = None
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
        parallel, form = None, None
        if first(record.tool_choice) == b"{":
            disabled = _or(_choice, record.tool_choice, _Choice()).disable_parallel_tool_use
            parallel = None if disabled is None else not disabled
        if first(record.output_config) == b"{":
            form = bytes(_or(_config, record.output_config, _Config()).format).decode() or None
        form = form or bytes(record.output_format).decode() or None
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
        own = [tool for tool in _or(_tools, tools, []) if tool.type not in (None, "custom") and not tool.input_schema]
        conversation.hosted = frozenset([tool.name for tool in own if tool.name is not None])
        table = self._rows.table(text, "anthropic")
        self._rows.showings.append((event, conversation.session, "request", "all", table, pointer))

    # --- responses --------------------------------------------------------------------------------------------------

    def _answering(self, reply: str | None, place: Place) -> Conversation:
        """The conversation that a reply belongs to, after its request was appended."""
        self._end()
        asked = self._asked
        self._flush(reply)
        self._move(place)
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
        self._rows.messages.append(
            *[
                (
                    event,
                    conversation.session,
                    None,
                    record.id,
                    "assistant",
                    None,
                    record.stop_reason,
                    words_of(blocks),
                    at.to,
                )
            ]
        )

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

    def _piece(self, record: Record, native: str, place: Place) -> None:
        """An event of a streamed response."""
        if native == "message_start":
            start = self._message_of(record)
            conversation = self._answering(start.id, place)
            self._reply = _Reply(start.id or f"reply {place.event}", conversation)
        reply = self._reply
        if reply is None:
            # The beginning was not recorded: what follows is a reply of its own.
            reply = self._reply = _Reply(f"reply {place.event}", self._answering(None, place))
        self._move(place)
        event, _ = self._cursor.event(native, _STREAM[native], reply.conversation.session)
        reply.event = event
        if native == "content_block_start" and record.index is not None:
            block = _or(_block, record.content_block, Block())
            reply.blocks[record.index] = _Open(block, event)
        elif native == "content_block_delta" and record.index is not None:
            delta = _or(_delta, record.delta, Delta())
            held = reply.blocks.setdefault(record.index, _Open(Block(), event))
            piece = delta.partial_json if delta.partial_json is not None else delta.text
            held.pieces += [piece] if piece is not None else []
        elif native == "content_block_stop" and record.index in reply.blocks:
            held = reply.blocks[record.index or 0]
            held.event, held.stopped = event, True
        elif native == "message_delta":
            self._end(_or(_delta, record.delta, Delta()).stop_reason)

    def _message_of(self, record: Record) -> Record:
        found = self._records.opened(bytes(record.message))
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
    try:
        message = _message(raw)
    except (msgspec.DecodeError, RecursionError):
        parsed = parse(raw)
        found = None if isinstance(parsed, Unreadable) else typed(_message, parsed[0])
        message = Message() if found is None else found[0]
    blocks, faults = blocks_of(message.content)
    return _Sentence(message.role, blocks, faults)


def _or(decode: Any, raw: Raw, default: Any) -> Any:
    """What a member holds, or the default where it holds something else."""
    try:
        return decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return default


def _of(place: Place, body: Body[Record]) -> Place:
    return msgspec.structs.replace(place, pointer=place.pointer + body.pointer, opaque=body.opaque)


def _next(counts: dict[str, int], name: str) -> int:
    nth = counts.get(name, 0)
    counts[name] = nth + 1
    return nth


def _settings_of(record: Record) -> tuple[Raw, ...]:
    return record.tool_choice, record.output_config, record.output_format, record.system


def _is_url(url: str) -> bool:
    return "/messages" in url and "/batches" not in url and "count_tokens" not in url


_OURS = (b'"tool_use"', b'"tool_result"', b'"cache_control"', b'"max_uses"')
_CHATS = (b'"tool_calls"', b'"tool_call_id"', b'"parameters"')


def _asks(record: Record) -> bool:
    """Whether a record with messages is a request of this wire and not of chat completions."""
    tools = bytes(record.tools)
    if b'"input_schema"' in tools:
        return True
    messages = bytes(record.messages)
    if record.system or any(mark in messages or mark in tools for mark in _OURS):
        return not any(mark in messages for mark in _CHATS[:2])
    if any(mark in messages or mark in tools for mark in _CHATS):
        return False
    return bool(record.max_tokens) and "claude" in (record.model or "")


def _knows(record: Any) -> float:
    """How surely a parsed record is of this wire."""
    if not isinstance(record, dict):
        return 0.0
    native = record.get("type")
    if isinstance(native, str) and native in _STREAM:
        return (
            1.0 if native.startswith(("message_s", "content_block")) or isinstance(record.get("delta"), dict) else 0.0
        )
    if native == "message":
        return float(record.get("role") == "assistant" and isinstance(record.get("content"), list) and "id" in record)
    if native == "error":
        return 0.5 if isinstance(record.get("error"), dict) and isinstance(record["error"].get("type"), str) else 0.0
    if {"toolConfig", "inferenceConfig"} & record.keys():
        return 0.0
    if native is None and isinstance(record.get("messages"), list):
        named = ("messages", "tools", "system", "max_tokens", "model")
        found = typed(_record, {name: record[name] for name in named if name in record})
        return float(found is not None and _asks(found[0]))
    for half in (record.get("http"), record.get("request"), record):
        url = (
            next((half[name] for name in ("url", "uri", "path") if isinstance(half.get(name), str)), "")
            if isinstance(half, dict)
            else ""
        )
        if _is_url(url):
            return 1.0
        body = half.get("body") if isinstance(half, dict) and half is not record else None
        if any(
            isinstance(each, dict) and "messages" in each and _knows(each)
            for each in (half if half is not record else None, body)
        ):
            return 1.0
    return max(
        (_knows(inner) for inner in (record.get("event"), record.get("data")) if isinstance(inner, dict)), default=0.0
    )
