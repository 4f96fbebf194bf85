"""Replies of the Messages API, whole or as the events of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.read.claude.blocks import CALLS, Block, is_result, meaning, words_of
from analyzer.read.claude.bodies import STREAM, Body, Piece
from analyzer.read.claude.conversation import Conversation, Conversations, gist, numbered
from analyzer.read.claude.requests import Requests, kind_of
from analyzer.read.claude.sightings import At, Sightings
from analyzer.read.cursor import Cursor, Place
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw

_CUT = "max_tokens"
_ASIDE = 1 << 20  # the index of a block whose own another one took
NOBODYS = Fault("unknown_item", "", "of which of several streams at once a piece is")


class _Open(msgspec.Struct):
    """A block of a stream."""

    block: Block
    event: int
    pieces: list[str] = []
    stopped: bool = False


class Reply(msgspec.Struct):
    """A reply that comes in pieces."""

    id: str
    conversation: Conversation
    blocks: dict[int, _Open] = {}
    after_cut: bool = False
    """The one before it had not ended when it began: nothing says of which of them a piece is."""
    mixed: int | None = None
    """The event that cannot be of this reply, if there was one: what came may be of either."""
    stop_reason: str | None = None
    """Of one after a cut, which is kept until the next begins."""
    ended: bool = False


class Replies:
    """Appends the replies of one source."""

    def __init__(
        self, rows: Rows, sightings: Sightings, cursor: Cursor, conversations: Conversations, requests: Requests
    ) -> None:
        self._rows = rows
        self._sightings = sightings
        self._cursor = cursor
        self._conversations = conversations
        self._requests = requests
        self.open: Reply | None = None
        self.expected: Conversation | None = None
        """The conversation that the next reply is of, where its request does not stand before it."""

    def whole(
        self, name: str | None, stop_reason: str | None, blocks: list[Block], faults: Sequence[Fault], place: Place
    ) -> None:
        """A response body."""
        conversation = self._answering(name, place)
        event, opaque = self._cursor.event("message", "item", conversation.session)
        at = At(event, conversation.session, "item", "/content", reply=name or f"reply {event}", opaque=opaque)
        self._sightings.faults(faults, at)
        self._answer(blocks, [at] * len(blocks), stop_reason, conversation)
        said = (event, conversation.session, None, name, "assistant", None, stop_reason)
        self._rows.messages.append((*said, words_of(blocks), at.to, None))

    def piece(self, piece: Piece | Body, native: str, name: str | None, place: Place) -> None:
        """An event of a streamed response; `name` is that of the message that starts."""
        if native == "message_start":
            before = self.open
            conversation = self._answering(name, place)
            cut = before is not None and (not before.ended or before.mixed is not None)
            self.open = Reply(name or f"reply {place.event}", conversation, after_cut=cut)
        reply = self.open
        if reply is None:
            # The beginning was not recorded: what follows is a reply of its own.
            reply = self.open = Reply(f"reply {place.event}", self._answering(None, place))
        self._cursor.advance(place)
        event, _ = self._cursor.event(native, STREAM[native], reply.conversation.session)
        index, delta = piece.index, piece.delta
        if reply.after_cut and reply.mixed is None and _is_anothers(reply, native, index):
            reply.mixed = event
        if native == "content_block_delta" and index is not None:
            block = reply.blocks.get(index)
            if block is None:
                block = reply.blocks[index] = _Open(Block(), event)
            text = None if delta is None else delta.partial_json if delta.partial_json is not None else delta.text
            if text is not None:
                block.pieces.append(text)
        elif native == "content_block_start" and index is not None:
            if reply.mixed is not None and index in reply.blocks:
                reply.blocks[_ASIDE + len(reply.blocks)] = reply.blocks[index]
            reply.blocks[index] = _Open(piece.content_block or Block(), event)
        elif native == "content_block_stop" and index in reply.blocks:
            block = reply.blocks[index or 0]
            block.event, block.stopped = event, True
        elif native == "message_delta":
            stop_reason = None if delta is None else delta.stop_reason
            if reply.after_cut:
                reply.stop_reason, reply.ended = stop_reason, True
            else:
                self.end(stop_reason)

    def pinged(self, reply: Reply, place: Place) -> None:
        """A sign of life between the events of a stream."""
        self._cursor.advance(place)
        self._cursor.event("ping", "notice", reply.conversation.session)

    def end(self, stop_reason: str | None = None) -> None:
        """The streamed reply is whole, or it breaks off."""
        reply, self.open = self.open, None
        if reply is not None:
            reply.ended = stop_reason is not None
        if reply is None or not reply.blocks:
            self.open = reply if stop_reason is not None else None
            return
        if reply.after_cut:
            stop_reason = reply.stop_reason
        session = reply.conversation.session
        held = [reply.blocks[index] for index in sorted(reply.blocks)]
        blocks = [_joined(each) for each in held]
        if reply.mixed is not None:
            held = [msgspec.structs.replace(each, stopped=False) for each in held if each.block.type in CALLS]
            blocks = _without_arguments(blocks)
            self._rows.faults.append((reply.mixed, session, *NOBODYS))
        places = [
            At(
                *(each.event, session, "stream", ""),
                reply=reply.id,
                status=None if each.stopped else "in_progress",
                opaque=True,
            )
            for each in held
        ]
        self._answer(blocks, places, stop_reason, reply.conversation)
        if reply.mixed is None:
            said = (None, None, words_of(blocks), "", None)
            self._rows.messages.append((places[0].event, session, None, reply.id, "assistant", *said))
        if stop_reason is not None and not reply.after_cut:
            self.open = Reply(reply.id, reply.conversation, ended=True)

    def _answering(self, name: str | None, place: Place) -> Conversation:
        """The conversation that a reply belongs to, after its request was appended."""
        self.end()
        asked = self._requests.waiting
        self._requests.flush(name)
        self._cursor.advance(place)
        expected, self.expected = self.expected, None
        return expected or Conversation(name or f"reply-{place.event}") if asked is None else asked.conversation

    def _answer(
        self, blocks: list[Block], places: list[At], stop_reason: str | None, conversation: Conversation
    ) -> None:
        """The calls and results in a reply."""
        inside: dict[str, int] = {}
        answers: dict[str, int] = {}
        for index, (block, at) in enumerate(zip(blocks, places, strict=True)):
            at.to = at.to if at.stage == "stream" else f"/content/{index}"
            at.status = "incomplete" if stop_reason == _CUT and index == len(blocks) - 1 else at.status
            if block.type in CALLS:
                name = block.id or ""
                nth = numbered(inside, name)
                reply = f"{at.reply} {nth}" if nth else at.reply or ""
                at.emission = conversation.emit(name, reply, conversation.calls.get(name, 0) + nth)
                self._sightings.call(block, at, kind=kind_of(block, conversation))
                self._conversations.owns(conversation, name)
            elif is_result(block):
                stage, at.stage = at.stage, "echo"
                name = block.tool_use_id or ""
                nth = conversation.results.get(name, 0) + numbered(answers, name)
                at.emission = f"{name}/{nth}"
                conversation.answered[name] = max(nth + 1, conversation.answered.get(name, 0))
                self._sightings.result(block, at)
                at.stage = stage
            elif not meaning(block):
                self._sightings.unknown(block, at)
        conversation.reply = gist(blocks)


def _is_anothers(reply: Reply, native: str, index: int | None) -> bool:
    """Whether an event contradicts what came of the reply: a block that begins twice, or goes on when it is over."""
    if native == "content_block_start":
        return index in reply.blocks or reply.ended
    if native in {"content_block_delta", "content_block_stop"}:
        return reply.ended or index is None or index not in reply.blocks or reply.blocks[index].stopped
    return native == "message_delta" and reply.ended


def _without_arguments(blocks: list[Block]) -> list[Block]:
    """The calls among the blocks, of whose arguments nothing is sure."""
    return [msgspec.structs.replace(block, input=ABSENT) for block in blocks if block.type in CALLS]


def _joined(held: _Open) -> Block:
    """A block of a stream with its pieces put together; no piece at all is an empty object, if the block has ended."""
    block, text = held.block, "".join(held.pieces)
    if block.type in CALLS:
        if text:
            block.input = Raw(text.encode())
        elif not held.stopped and bytes(block.input) in (b"", b"{}"):
            block.input = ABSENT
        elif not block.input:
            block.input = Raw(b"{}")
    elif block.type == "text":
        block.text = (block.text or "") + text
    return block
