"""Requests of the Messages API: each waits for its response, which says how its session is called."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from analyzer.frames import REFUSED
from analyzer.read.at_once import NOBODYS, AtOnce, Held
from analyzer.read.claude.blocks import CALLS, Block, arguments_of, blocks_of, is_result, meaning, words_of
from analyzer.read.claude.bodies import Body, Record, Sentence, format_of, hosted_in, parallel_of, sentence_of
from analyzer.read.claude.changes import Changes
from analyzer.read.claude.conversation import Conversation, Conversations, counted, emission, gist, numbered
from analyzer.read.claude.sightings import At, Sightings
from analyzer.read.cursor import Cursor, Place
from analyzer.read.members import listed
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first

Append = Callable[[Conversation, Place], None]
"""Append something to a conversation; the place is that of its record."""
Counts = tuple[dict[str, int], dict[str, int]]
"""How many calls and results of an id came before."""


_MOST_CALLS = 256


class Asked(msgspec.Struct):
    """A request that waits for what comes back."""

    record: Record | Body
    place: Place
    next: int
    conversation: Conversation
    listing: bytes
    """The JSON text of its messages."""
    known: int
    """How many of them were sent before."""
    new: list[Sentence]
    """The others, and their digests."""
    digests: list[int]


class Requests:
    """Appends the requests of one source."""

    def __init__(self, rows: Rows, sightings: Sightings, cursor: Cursor, conversations: Conversations) -> None:
        self._rows = rows
        self._sightings = sightings
        self._cursor = cursor
        self._conversations = conversations
        self.waiting: Asked | None = None
        self.at_once: AtOnce[Conversation] = AtOnce()
        self.broke_off: Callable[[Conversation], None] = lambda _: None
        """Called before a conversation goes on."""
        self._calls: list[tuple[str, Place, Append]] = []
        """Calls that may be of several conversations: the id, the record."""
        self._changes = Changes(rows)
        self._running: Conversation | None = None
        """That of messages that stand alone, one after the other."""
        self._shown = b""

    def take(self, record: Record | Body, place: Place) -> None:
        """Read a request and keep it; the one before has no response so far."""
        self.flush(None)
        self.part()
        self._cursor.advance(place)
        listing = bytes(record.messages)
        conversation, known, new, digests = self._conversations.find(listing)
        self.broke_off(conversation)
        self._went_on(conversation, new, after=len(conversation.sent) if known == len(conversation.sent) else None)
        self.at_once.ask(conversation)
        self._cursor.advance(place)
        self.waiting = Asked(record, place, self._cursor.next, conversation, listing, known, new, digests)

    def append(self, raw: bytes, place: Place) -> None:
        """Append the next message of a history that has a record for each."""
        self.flush(None)
        self._cursor.advance(place)
        if self._running is None:
            name = f"messages-{blake2b(raw, digest_size=6).hexdigest()}"
            self._running = Conversation(self._conversations.name(name))
        conversation, session = self._running, self._running.session
        event, opaque = self._cursor.event("message", "item", session)
        at = At(event, session, "history", "/content", reply=f"{session} {event}", opaque=opaque)
        self._sentence(
            sentence_of(raw), at, conversation, (conversation.calls, conversation.results), fresh=True, accepted=None
        )

    def part(self) -> None:
        """The next message that is appended begins another history."""
        self._running = None

    def _went_on(self, conversation: Conversation, new: list[Sentence], *, after: int | None) -> None:
        """A conversation goes on with these messages: what of them was said and not placed is its own."""
        if self._calls:
            resent = {block.id for each in new for block in each.blocks if block.type in CALLS}
            resent.difference_update(conversation.emitted)  # those are placed
            for call in list(self._calls):
                if call[0] in resent:  # of several with one id the first
                    resent.remove(call[0])
                    self._calls.remove(call)
                    self._append_call(call, conversation)
        if after is not None and new and new[0].role == "assistant":
            blocks = new[0].blocks
            for held, owner in self.at_once.went_on(conversation, gist(blocks), arguments_of(blocks)):
                self._release(held, owner)

    def _release(self, held: Held[Conversation], conversation: Conversation) -> None:
        here, back = self._cursor.place, self._cursor.next
        self._cursor.move(held.place, held.event)
        for append in held.append:
            append(conversation, held.place)
        self._cursor.move(here, back)

    def keep(self, call_id: str, place: Place, append: Append) -> None:
        """Keep a call that may be of several conversations until one of them resends it."""
        self._calls.append((call_id, place, append))
        if len(self._calls) > _MOST_CALLS:
            self._leave(self._calls.pop(0))

    def _leave(self, call: tuple[str, Place, Append]) -> None:
        """A call that nobody resent stands alone."""
        self._append_call(call, Conversation(f"reply-{call[1].event}"))

    def _append_call(self, call: tuple[str, Place, Append], conversation: Conversation) -> None:
        _, place, append = call
        here, back = self._cursor.place, self._cursor.next
        self._cursor.move(place, place.event + 1)
        append(conversation, place)
        self._cursor.move(here, back)

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the records lie of what is kept; called when their block was read."""
        if self.waiting is not None:
            self.waiting.place = placed(self.waiting.place)
        self.at_once.place(placed)
        self._calls = [(call_id, placed(place), append) for call_id, place, append in self._calls]

    def alone(self, held: Held[Conversation]) -> None:
        """A reply of which it was never known whose it is: it stands alone, with the tools that all had who asked."""
        conversation = Conversation(f"reply-{held.event}")
        tables = {each.table for each in held.among}
        table = next(iter(tables)) if len(tables) == 1 else b""
        if first(table) == b"[":
            digest = self._rows.table(table, "anthropic")
            self._rows.showings.append((held.event, conversation.session, "request", "all", digest, None))
        self._release(held, conversation)
        self._rows.faults.append((held.event, conversation.session, *NOBODYS))

    def close(self) -> None:
        """The source is at its end: append what waits and what was kept."""
        self.flush(None)
        for held in self.at_once.left():
            self.alone(held)
        kept, self._calls = self._calls, []
        for each in kept:
            self._leave(each)

    def flush(self, reply: str | None, *, accepted: bool | None = None) -> str | None:
        """Append the request that waits; the session it is of."""
        asked, self.waiting = self.waiting, None
        if asked is None:
            return None
        here, back = self._cursor.place, self._cursor.next
        conversation = asked.conversation
        if conversation.session is None:
            text = b"" if reply else b",".join(listed(asked.listing))
            conversation.session = reply or f"request-{blake2b(text, digest_size=6).hexdigest()}"
        self._cursor.move(asked.place, asked.next)
        self._ask(asked, conversation, accepted=accepted)
        # The response may stand in the same record: its events come after those of the request.
        self._cursor.move(here, self._cursor.next if here.event == asked.place.event else back)
        return conversation.session

    def _ask(self, asked: Asked, conversation: Conversation, *, accepted: bool | None) -> None:
        record, session, known = asked.record, conversation.session, asked.known
        event, opaque = self._cursor.event("request.create", "request", session)
        to = None if opaque else "/tools"
        if accepted is not False:
            self._settings(record, event, conversation)
            self._table(record.tools, event, conversation, to)
        elif first(record.tools) == b"[":
            table = self._rows.table(bytes(record.tools), "anthropic")
            self._rows.showings.append((event, session, "request", REFUSED, table, to))
        before = len(conversation.sent)
        counts: Counts = (conversation.calls, conversation.results)
        if known < before:
            again = [*map(sentence_of, listed(asked.listing)[:known])]
            counts = counted(again)
            self._changes.went_back(again, event, conversation)
        elif accepted is False:
            counts = (dict(counts[0]), dict(counts[1]))
        for index, sentence in enumerate(asked.new, known):
            event, opaque = self._cursor.event("message", "item", session)
            at = At(event, session, "history", f"/messages/{index}/content", reply=f"{session} {index}", opaque=opaque)
            replied = sentence.role == "assistant" and index == before and conversation.reply is not None
            self._sentence(sentence, at, conversation, counts, fresh=index >= before and not replied, accepted=accepted)
        if accepted is not False:
            conversation.calls, conversation.results = counts
            self._conversations.went_on(conversation, known, asked.digests, asked.listing)
            for call_id in {block.tool_use_id or "" for each in asked.new for block in each.blocks if is_result(block)}:
                conversation.answered[call_id] = max(counts[1][call_id], conversation.answered.get(call_id, 0))

    def _sentence(
        self,
        sentence: Sentence,
        at: At,
        conversation: Conversation,
        counts: Counts,
        *,
        fresh: bool,
        accepted: bool | None,
    ) -> None:
        """One message of a request, which may have been sent before."""
        if sentence.faults:
            self._sightings.faults(sentence.faults, at)
        calls, results = counts
        said, to = False, at.to
        for index, block in enumerate(sentence.blocks):
            what = meaning(block)
            if what == "said":
                said = True
                if fresh and accepted is not False:
                    self._changes.take(block, at.event, conversation)
                continue
            at.to = f"{to}/{index}"
            if what == "call":
                name = block.id or ""
                at.stage, at.emission = "history", emission(name, numbered(calls, name))
                self._sightings.call(block, at, kind=kind_of(block, conversation))
                self._conversations.owns(conversation, name)
                said = True
            elif what == "result":
                name = block.tool_use_id or ""
                nth = numbered(results, name)
                old = nth < conversation.answered.get(name, 0)
                at.stage = "history" if old or sentence.role == "assistant" else "message"
                at.emission = f"{block.tool_use_id}/{nth}"
                at.accepted = accepted if at.stage == "message" else None
                self._sightings.result(block, at)
            elif fresh:
                self._sightings.unknown(block, at)
        # What holds results alone is no word of the user's; several of them are one message.
        if fresh and said:
            where = "" if at.opaque else to
            text = words_of(sentence.blocks)
            self._rows.messages.add(event=at.event, session=at.session, role=sentence.role, text=text, pointer=where)

    def _settings(self, record: Record | Body, event: int, conversation: Conversation) -> None:
        said = (record.tool_choice, record.output_config, record.output_format, record.system)
        state = b"\0".join((str(record.model).encode(), *said))
        if state == conversation.state:
            return
        conversation.state = state
        parallel, form = parallel_of(record), format_of(record)
        system = words_of(blocks_of(record.system)[0]) or None
        self._rows.session_states.add(
            event=event,
            session=conversation.session,
            model=record.model,
            parallel=parallel,
            text_format=form,
            instructions=system,
        )

    def _table(self, tools: Raw, event: int, conversation: Conversation, pointer: str | None) -> None:
        text = bytes(tools)
        if text == conversation.table:
            return
        text = self._shown = self._shown if text == self._shown else text  # one text for all that have it
        conversation.table = text
        if first(text) != b"[":
            if text and text != b"null":
                detail = "tools is no list"
                self._rows.faults.add(
                    event=event, session=conversation.session, fault="member_type", pointer=pointer, detail=detail
                )
            self._rows.showings.add(
                event=event, session=conversation.session, channel="request", scope="all", pointer=""
            )
            return
        conversation.hosted = hosted_in(tools)
        table = self._rows.table(text, "anthropic")
        self._rows.showings.add(
            event=event, session=conversation.session, channel="request", scope="all", table=table, pointer=pointer
        )
        self._changes.table_shown(event, conversation)


def kind_of(block: Block, conversation: Conversation) -> str | None:
    """The kind of a call's tool where the block does not say it."""
    return "hosted" if block.name in conversation.hosted and block.type == "tool_use" else None
