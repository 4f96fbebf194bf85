"""Replies of the Messages API, whole or as the events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from analyzer.read.at_once import STREAMS, AtOnce, Held
from analyzer.read.claude.blocks import CALLS, Block, arguments_of, is_result, meaning, words_of
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
_MAY_GO_ON = 4  # replies that begin, until a stream that did not end is forgotten
_json = msgspec.json.Decoder(Raw).decode


class _Open(msgspec.Struct):
    """A block of a stream."""

    block: Block
    event: int
    place: Place
    """The record of its beginning."""
    pieces: list[str] = []
    stopped: bool = False
    cut: bool = False
    """Its end, if there is one, stands among the pieces of another reply."""


class Reply(msgspec.Struct):
    """A reply that comes in pieces."""

    id: str
    conversation: Conversation | None
    """None where it may be of several."""
    among: list[Conversation] = []
    """Those."""
    blocks: dict[int, _Open] = {}
    after_cut: bool = False
    """One before it had not ended when it began: nothing says of which of them a piece is."""
    mixed: int | None = None
    """The event that cannot be of this reply, if there was one: what came may be of either."""
    stop_reason: str | None = None
    """Of one after a cut, which is kept until the next begins."""
    ended: bool = False

    @property
    def session(self) -> str | None:
        """That of its conversation, if it is known."""
        return None if self.conversation is None else self.conversation.session


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
        self._at_once: AtOnce[Conversation] = requests.at_once
        self._unended = 0
        """How many replies may begin until nothing more is expected of a stream that did not end."""

    def whole(
        self, name: str | None, stop_reason: str | None, blocks: list[Block], faults: Sequence[Fault], place: Place
    ) -> None:
        """A response body."""

        def append(conversation: Conversation, place: Place) -> None:
            self._cursor.advance(place)
            event, opaque = self._cursor.event("message", "item", conversation.session)
            at = At(event, conversation.session, "item", "/content", reply=name or f"reply {event}", opaque=opaque)
            self._sightings.faults(faults, at)
            self._answer(blocks, [at] * len(blocks), stop_reason, conversation)
            said = (event, conversation.session, None, name, "assistant", None, stop_reason)
            self._rows.messages.append((*said, words_of(blocks), at.to, None))

        self.pause()
        conversation = self._answering(name, place)
        if conversation is not None:
            append(conversation, place)
        else:
            among, event = self._at_once.open, self._cursor.next
            self._hold(Held(place, event, gist(blocks), arguments_of(blocks), among, [append]))

    def _hold(self, held: Held[Conversation]) -> None:
        """Keep a reply that may be of several requests."""
        full = self._at_once.hold(held)
        if full is not None:
            self._requests.alone(full)

    def _begin(self, name: str | None, place: Place) -> None:
        """A streamed reply begins."""
        before = self.open
        if before is not None and not before.ended:  # it may go on, and what is its own is not known then
            for each in before.blocks.values():
                each.cut = not each.stopped
        self.end()
        among = self._at_once.open
        conversation = self._answering(name, place)
        if before is not None and not (before.ended or before.blocks) and conversation in among:
            # Nothing came so far of the one before: what comes may be all of it.
            among = [*(before.among if before.conversation is None else [before.conversation]), conversation]
            conversation = None
        self._unended = max(self._unended - 1, 0)
        self.open = Reply(name or f"reply {place.event}", conversation, among, after_cut=self._unended > 0)

    def piece(self, piece: Piece | Body, native: str, name: str | None, place: Place) -> None:
        """An event of a streamed response; `name` is that of the message that starts."""
        if native == "message_start":
            self._begin(name, place)
        reply = self.open
        if reply is None:
            # The beginning was not recorded: what follows is a reply of its own.
            among, cut = self._at_once.open, self._unended > 0
            reply = self.open = Reply(f"reply {place.event}", self._answering(None, place), among, after_cut=cut)
        self._cursor.advance(place)
        event, _ = self._cursor.event(native, STREAM[native], reply.session)
        index, delta = piece.index, piece.delta
        if reply.after_cut and reply.mixed is None and _is_anothers(reply, native, index):
            reply.mixed = event
        if native == "content_block_delta" and index is not None:
            block = reply.blocks.get(index)
            if block is None:
                block = reply.blocks[index] = _Open(Block(), event, place)
            text = None if delta is None else delta.partial_json if delta.partial_json is not None else delta.text
            if text is not None:
                block.pieces.append(text)
        elif native == "content_block_start" and index is not None:
            if reply.mixed is not None and index in reply.blocks:
                reply.blocks[_ASIDE + len(reply.blocks)] = reply.blocks[index]
            reply.blocks[index] = _Open(piece.content_block or Block(), event, place)
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
        self._cursor.event("ping", "notice", reply.session)

    def pause(self) -> None:
        """A request comes, or a whole reply: a stream that has not ended may go on behind it."""
        if self.open is not None and (self.open.ended or self.open.mixed is not None):
            self.end()

    def broke_off(self, conversation: Conversation) -> None:
        """A conversation goes on: what was streamed of its last reply is all that comes."""
        if self.open is not None and self.open.conversation is conversation:
            self.end()

    def end(self, stop_reason: str | None = None) -> None:
        """The streamed reply is whole, or it breaks off."""
        reply, self.open = self.open, None
        if reply is not None and not reply.after_cut:
            reply.ended, reply.stop_reason = stop_reason is not None, stop_reason
        if reply is not None and (not reply.ended or reply.mixed is not None):
            self._unended = _MAY_GO_ON
        if reply is None or not reply.blocks:
            self.open = reply if stop_reason is not None else None
            return
        held = [reply.blocks[index] for index in sorted(reply.blocks)]
        if reply.after_cut and reply.mixed is None and not all(map(_is_plain, held)):
            reply.mixed = held[0].event
        torn = reply.conversation is None and not reply.ended
        if reply.mixed is None and not torn:
            self._whole(reply, held)
        else:
            event = held[0].event if reply.mixed is None else reply.mixed
            self._rows.faults.append((event, reply.session, *STREAMS))
            for each in held:
                if each.block.type in CALLS:
                    each.cut = each.cut or reply.mixed is not None
                    each.stopped = each.stopped and not each.cut
                    self._keep(reply, each)
        if stop_reason is not None and not reply.after_cut:
            self.open = Reply(reply.id, reply.conversation, ended=True)

    def _whole(self, reply: Reply, held: list[_Open]) -> None:
        """The blocks of a streamed reply, or those that came of one that breaks off."""
        blocks = [_joined(each) for each in held]

        def append(conversation: Conversation, events: list[int]) -> None:
            places = [_at(each, event, reply, conversation) for each, event in zip(held, events, strict=True)]
            self._answer(blocks, places, reply.stop_reason, conversation)
            said = (None, None, words_of(blocks), "", None)
            self._rows.messages.append((events[0], conversation.session, None, reply.id, "assistant", *said))
            if not reply.ended:
                conversation.reply = None  # the model may have said more

        def append_late(conversation: Conversation, place: Place) -> None:
            append(conversation, [self._late(conversation, place)] * len(held))

        if reply.conversation is not None:
            append(reply.conversation, [each.event for each in held])
        else:
            at, says = held[0].place, (gist(blocks), arguments_of(blocks))
            self._hold(Held(at, at.event + 1, *says, reply.among, [append_late]))

    def _keep(self, reply: Reply, held: _Open) -> None:
        """A call that may be of several conversations is of the one that resends it."""
        block = _joined(held)

        def append(conversation: Conversation, place: Place) -> None:
            at = _at(held, self._late(conversation, place), reply, conversation)
            self._answer([block], [at], None, conversation)
            conversation.reply = None

        self._requests.keep(block.id or "", held.place, append)

    def _late(self, conversation: Conversation, place: Place) -> int:
        """Append an event for what was streamed before it was known whose it is: its own have no session."""
        self._cursor.advance(place)
        return self._cursor.event("message", "item", conversation.session)[0]

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the records lie of what is open; called when their block was read."""
        for each in self.open.blocks.values() if self.open is not None else ():
            each.place = placed(each.place)

    def _answering(self, name: str | None, place: Place) -> Conversation | None:
        """The conversation that a reply belongs to, after its request was appended; None where it may be of several."""
        asked, waiting = self._requests.waiting, self._at_once.open
        expected, self.expected = self.expected, None
        unsure = self._at_once.several and not (asked is not None and asked.place.event == place.event)
        self._requests.flush(None if unsure or (asked is None and waiting) else name)
        self._cursor.advance(place)
        if unsure and expected is None:
            return None
        found = asked.conversation if asked is not None else waiting[0] if waiting else None
        found = expected or found or Conversation(name or f"reply-{place.event}")
        self._at_once.answered(found)
        return found

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
        return index != len(reply.blocks) or reply.ended
    if native in {"content_block_delta", "content_block_stop"}:
        return reply.ended or index is None or index not in reply.blocks or reply.blocks[index].stopped
    return native == "message_delta" and reply.ended


def _at(held: _Open, event: int, reply: Reply, conversation: Conversation) -> At:
    """Where a block of a streamed reply stands."""
    status = None if held.stopped else "in_progress"
    return At(event, conversation.session, "stream", "", reply=reply.id, status=status, opaque=True)


def _is_plain(held: _Open) -> bool:
    """Whether a block holds no piece of another stream: the arguments of two calls together are no JSON."""
    if held.block.type not in CALLS or held.cut:
        return True
    if not held.stopped:
        return False
    try:
        _json("".join(held.pieces))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _joined(held: _Open) -> Block:
    """A block of a stream with its pieces put together; no piece at all is an empty object, if the block has ended."""
    block, text = held.block, "".join(held.pieces)
    if block.type in CALLS:
        if held.cut:
            block.input = ABSENT
        elif text:
            block.input = Raw(text.encode())
        elif not held.stopped and bytes(block.input) in (b"", b"{}"):
            block.input = ABSENT
        elif not block.input:
            block.input = Raw(b"{}")
    elif block.type == "text":
        block.text = (block.text or "") + text
    return block
