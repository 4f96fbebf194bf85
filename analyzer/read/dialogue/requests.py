"""The requests of conversations and the replies to them, as events and sightings."""

from __future__ import annotations

from collections.abc import Callable

from analyzer.frames import REFUSED
from analyzer.read.at_once import NOBODYS, AtOnce, Held
from analyzer.read.cursor import Cursor, Place
from analyzer.read.dialogue.conversation import Conversation, Walk
from analyzer.read.dialogue.made import Made
from analyzer.read.dialogue.memory import Conversations
from analyzer.read.dialogue.said import CUT, Ask, Call, Said
from analyzer.read.dialogue.sightings import Sightings
from analyzer.read.rows import Rows
from analyzer.read.values import first

_TWINS = 4
_UNSAID = (None, None, None, None)


class Dialogue:
    """Appends the rows of conversations for the adapter of one source."""

    def __init__(
        self,
        wire: str,
        rows: Rows,
        read: Callable[[bytes], Said],
        *,
        positional: bool = False,
        executed: bool = False,
        apart: bool = False,
    ) -> None:
        """`positional`: ids tell little; `executed`: results in requests are copies of those of who ran the calls.

        `apart`: requests and replies may be records of their own, and those of several conversations come at once.
        """
        self.wire = wire
        self._rows = rows
        self._read = read
        self._positional = positional
        self._executed = executed
        self._conversations = Conversations(wire, rows, read, positional=positional)
        self._sightings = Sightings(wire, rows)
        self._asked: Conversation | None = None
        self._asked_in: int | None = None
        """The record of the last request."""
        self._waiting = False
        self._apart = apart
        self._at_once: AtOnce[Conversation] = AtOnce()
        self._replied: tuple[int, str | None, Conversation | None] = (-1, None, None)
        """The record of the last reply, its id and its conversation."""
        self._failed: str | None = None
        """The session of the last failure."""
        self.broke_off: Callable[[Conversation], None] = lambda _: None
        """Called before a conversation goes on: what was streamed of its last reply is all that comes."""
        self.comes: Callable[[Conversation], bool] = lambda _: False
        """Whether a reply of a conversation is being streamed."""
        self._running: tuple[Conversation, Walk] | None = None
        self._count = 0
        self._table = b""
        self.made: list[Made] = []
        """The calls of the last reply."""
        self.turn: str | None = None
        """The turn of what comes next; with one, the calls are those that another wire of the session shows."""
        self.unseen = False
        """The next request was refused: no model ever saw what it sets."""
        self.cursor = Cursor(rows)

    @property
    def session(self) -> str | None:
        """The session of the last request."""
        return None if self._asked is None else self._asked.session

    def name(self, wanted: str) -> str:
        """A session's name, with a number where the run has had one of that name."""
        return self._conversations.name(wanted)

    def move(self, place: Place) -> None:
        """Go to a place; other events of its record may be behind it."""
        self.cursor.advance(place)

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._conversations.trim()

    def join(self, session: str, thread: str = "") -> None:
        """What comes next answers a request of that session which is not recorded."""
        self._asked, self._waiting = self._conversations.named(session, thread), True

    @property
    def asked(self) -> Conversation | None:
        """The conversation of the last request."""
        return self._asked

    def expect(self, asked: Conversation | None) -> None:
        """What comes next answers the last request of this conversation, or none that is known."""
        self._at_once.drop(self._asked)
        self._asked, self._asked_in, self._waiting = asked, None, asked is not None

    def forget(self) -> None:
        """What comes next answers no request that came before."""
        self.expect(None)

    # --- requests ---------------------------------------------------------------------------------------------------

    def ask(self, asked: Ask, place: Place, *, wire: str | None = None) -> str:
        """Append a request, or a list of messages; the session it is of."""
        cursor, own = self.cursor, asked.own
        cursor.advance(place)
        conversation, known, said, digests = self._conversations.find(asked)
        self._exists(conversation)
        before, session = len(conversation.digests), conversation.session
        again = self._apart and not said and known == before > 0 and self._may_be_another(asked, conversation)
        if self._apart and not own and not again:
            self._went_on(conversation, said if known == before else [])
        wire = conversation.wire = wire or conversation.wire
        event = cursor.next
        if not own:
            self._settings(asked, cursor.event("request.create", "request", session, turn=self.turn), conversation)
        elif not said or asked.tools or asked.model is not None:  # a list needs an event of its own
            self._settings(asked, cursor.event("messages", "notice", session), conversation)
        if conversation.walk is None or known < before:
            conversation.walk = Walk(conversation.emitted, self._positional)
            conversation.walk.pass_over(map(self._read, asked.raws[:known]))
        to = asked.to if asked.single or asked.to is None else f"{asked.to}/"
        self._messages(said, conversation, conversation.walk, to, known, own=own, wire=wire)
        self._asked, self._asked_in, self._waiting = conversation, place.event, not own
        if again:
            twin = self._conversations.twin(conversation, conversation.digests, event)
            self._at_once.ask(twin, twin_of=conversation)
            return session
        self._conversations.sent(conversation, asked, known, digests)
        if self._apart and not own:
            self._at_once.ask(conversation)
        return session

    def _may_be_another(self, asked: Ask, conversation: Conversation) -> bool:
        """Whether a request that was sent before may be of another conversation, for the reply is still to come."""
        if asked.own or asked.session is not None or len(self._at_once.twins(conversation)) >= _TWINS:
            return False
        return conversation in self._at_once.open or self.comes(conversation)

    def _exists(self, conversation: Conversation) -> None:
        """A conversation that only tried the same again, for all that was known, is one of its own."""
        event, conversation.asked_in = conversation.asked_in, None
        if event is None:
            return
        session = conversation.session = self.name(conversation.name or self.wire)
        state, table = conversation.state or _UNSAID, conversation.table
        names = ("model", "parallel", "text_format", "instructions")
        self._rows.session_states.add(event=event, session=session, **dict(zip(names, state, strict=True)))
        if first(table) == b"[":
            digest = self._rows.table(table, conversation.shape)
            self._rows.showings.append((event, session, "request", "all", digest, None))

    @property
    def running(self) -> str | None:
        """The session of the list that `append` goes on with."""
        return None if self._running is None else self._running[0].session

    def part(self) -> None:
        """The next message that is appended begins another list."""
        self._running = None

    def append(self, raw: bytes, place: Place, *, session: str | None = None, again: bool = False) -> str:
        """Append the next message of the one list that the source holds, a record for each; its session.

        With a session, it is the next one of that, whose messages lists may show, too. `again`: it stands in the place
        of one that came before.
        """
        if session is not None and session != self.running:
            conversation = self._conversations.named(session, "appended")
            conversation.walk = conversation.walk or Walk(conversation.emitted, self._positional)
            self._running = conversation, conversation.walk
        elif self._running is None:
            conversation = self._conversations.begun(raw)
            self._running = conversation, Walk(conversation.emitted, self._positional)
        conversation, walk = self._running
        walk = Walk(conversation.emitted, self._positional) if again else walk
        self.cursor.advance(place)
        self._count += 1
        self._messages([self._read(raw)], conversation, walk, "", self._count, own=True)
        return conversation.session

    def _messages(
        self,
        said: list[Said],
        conversation: Conversation,
        walk: Walk,
        to: str | None,
        since: int,
        *,
        own: bool,
        wire: str | None = None,
    ) -> None:
        """Messages of a request from number `since` on; some of them may have been sent before."""
        before = len(conversation.digests)
        session, turn, sightings = conversation.session, self.turn, self._sightings
        sightings.turn, event_of, messages = turn, self.cursor.event, self._rows.messages
        for index, each in enumerate(said, since):
            event, opaque = event_of("message", "item", session, turn=turn)
            fresh = index >= before and not (index == before and conversation.replies and each.role == "assistant")
            at = None if opaque or to is None else f"{to}{index}" if to[-1:] == "/" else to
            if each.calls:
                stage, reply = "item" if own and fresh else "history", f"{session} {each.reply or index}"
                for call in each.calls:
                    pair_id, emission = walk.call(call.call_id, call.name)
                    where = "" if at is None else at + call.to
                    sightings.call(event, session, stage, reply, emission, pair_id, where, call, wire)
                self._conversations.owns(conversation, each.calls)
            for result in each.results if turn is None else ():
                pair_id, emission, nth = walk.result(result.call_id, result.name)
                answered = conversation.answered.get(pair_id, 0)
                old = nth < answered or (each.role == "assistant" and not own) or self._executed
                stage, where = "history" if old else "message", "" if at is None else at + result.to
                sightings.result(event, session, stage, emission, pair_id, where, result, wire)
                conversation.answered[pair_id] = max(nth + 1, answered)
            if each.faults:
                sightings.faults(event, session, each, at)
            if fresh and (each.text is not None or not each.results):
                where = "" if at is None else at + each.to
                messages.append(
                    (event, session, turn, each.item_id, each.role, each.phase, None, each.text, where, None)
                )

    def _settings(self, asked: Ask, event: tuple[int, bool], conversation: Conversation) -> None:
        number, opaque = event
        session = conversation.session
        if self.unseen:
            if first(asked.tools) in (b"[", b"{"):
                table = self._rows.table(asked.tools, asked.shape)
                to = None if opaque else asked.tools_to
                self._rows.showings.append((number, session, "request", REFUSED, table, to))
            return
        state = (asked.model, asked.parallel, asked.text_format, asked.instructions)
        if state != (conversation.state or _UNSAID):
            conversation.state = state
            self._rows.session_states.add(
                event=number,
                session=session,
                model=asked.model,
                parallel=asked.parallel,
                text_format=asked.text_format,
                instructions=asked.instructions,
            )
        tools = self._table if asked.tools == self._table else asked.tools  # one text for all that have it
        if tools == conversation.table or (asked.own and not tools):
            return
        self._table = tools
        conversation.table, conversation.shape = tools, asked.shape
        to = None if opaque else asked.tools_to
        if first(tools) not in (b"[", b"{"):
            if tools not in (b"", b"null"):
                self._rows.faults.append((number, session, "member_type", to or "", "tools is no list", None))
            self._rows.showings.append((number, session, "request", "all", None, ""))
            return
        table = self._rows.table(tools, asked.shape)
        self._rows.showings.append((number, session, "request", "all", table, to))

    # --- replies ----------------------------------------------------------------------------------------------------

    def answer(
        self,
        said: Said,
        place: Place,
        *,
        native: str,
        to: str = "",
        reply: str | None = None,
        stop: str | None = None,
        stage: str = "item",
        kind: str = "item",
        wire: str | None = None,
        of: Conversation | None = None,
        event: int | None = None,
    ) -> int:
        """Append a reply of the model, one event; its number. `to` leads from the event to the message.

        `of` is its conversation, where that is known; else it may be kept until it is. `event` is the number to take
        where other records were read since.
        """

        def append(conversation: Conversation, place: Place) -> None:
            self._append(
                *(said, place, conversation),
                native=native,
                to=to,
                reply=reply,
                stop=stop,
                stage=stage,
                kind=kind,
                wire=wire,
            )

        here, back = self.cursor.place, self.cursor.next
        late = event is not None and here.event != place.event
        if event is None:
            self.cursor.advance(place)
        else:
            self.cursor.move(place, event)
        event, conversation = self.cursor.next, of or self.begun(reply, place)
        if conversation is None and self.unsure(place):
            gist, among = self._conversations.gist(said), self._at_once.open
            full = self._at_once.hold(Held(place, event, gist, said.arguments, among, [append]))
            self.cursor.move(place, event + 1)
            if full is not None:
                self._belongs_to_none(full)
        else:
            if conversation is None:
                conversation = self._asked = Conversation(self.name(reply or f"{self.wire}-reply"))
                self._asked_in, self._waiting = None, False
            append(conversation, place)
        if late:
            self.cursor.move(here, back)
        return event

    def unsure(self, place: Place) -> bool:
        """Whether a reply that comes here may be of several conversations."""
        return self._at_once.several and place.event != self._asked_in

    def begun(self, reply: str | None, place: Place) -> Conversation | None:
        """The conversation of a reply that comes here; None where it may be of several, or its request is unknown."""
        asked = self._asked
        record, name, conversation = self._replied
        if place.event == self._asked_in or not self._apart or (asked is not None and self._asked_in is None):
            found = asked if asked is not None and (self._waiting or asked.replies) else None
        elif conversation is not None and (record == place.event or (reply is not None and reply == name)):
            found = conversation
        elif self.unsure(place):
            return None
        else:
            found = next(iter(self._at_once.open), asked if asked is not None and asked.replies else None)
        self._replied = (place.event, reply, found)
        if found is not None:
            self._waiting = self._waiting and found is not asked
            self._at_once.answered(found)
        return found

    def _append(
        self,
        said: Said,
        place: Place,
        conversation: Conversation,
        *,
        native: str,
        to: str,
        reply: str | None,
        stop: str | None,
        stage: str,
        kind: str,
        wire: str | None,
    ) -> None:
        """Append a reply, whose conversation is known."""
        conversation.wire = wire or conversation.wire
        self.cursor.advance(place)
        self._exists(conversation)
        session = conversation.session
        event, opaque = self.cursor.event(native, kind, session, turn=self.turn)
        reply = reply or f"reply {event}"
        to = "" if opaque else to
        self.made = []
        if stop in CUT and said.calls:
            said.calls[-1].status = said.calls[-1].status or "incomplete"
        if said.calls or said.results:
            self._answered(said, conversation, (event, session, reply, to), stage, opaque=opaque)
        if said.faults:
            self._sightings.faults(event, session, said, None if opaque else to)
        row = (event, session, self.turn, said.item_id or reply, said.role or "assistant", said.phase)
        status = "refusal" if said.refused else stop if stage == "item" else None
        self._rows.messages.append((*row, status, said.text, "" if opaque else to + said.to, None))
        self._conversations.replied(conversation, said)

    def _went_on(self, conversation: Conversation, said: list[Said]) -> None:
        """A conversation goes on, with these messages after those that were sent before."""
        self.broke_off(conversation)
        if said and said[0].role == "assistant":
            gist = self._conversations.gist(said[0])
            for held, owner in self._at_once.went_on(conversation, gist, said[0].arguments):
                self._release(held, owner)

    def _release(self, held: Held[Conversation], conversation: Conversation) -> None:
        here, back = self.cursor.place, self.cursor.next
        self.cursor.move(held.place, held.event)
        for append in held.append:
            append(conversation, held.place)
        self.cursor.move(here, back)

    def _belongs_to_none(self, held: Held[Conversation]) -> None:
        """A reply of which it was never known whose it is: it stands alone, with the tools that all had who asked."""
        known = [each for each in held.among if each.asked_in is None]
        if len(known) == 1:  # the others only tried again
            self._release(held, known[0])
            return
        conversation = Conversation(self.name(f"{self.wire}-reply"))
        tables = {each.table for each in held.among}
        table = next(iter(tables)) if len(tables) == 1 else b""
        if first(table) == b"[":
            digest = self._rows.table(table, held.among[0].shape)
            self._rows.showings.append((held.event, conversation.session, "request", "all", digest, None))
        self._release(held, conversation)
        self._rows.faults.append((held.event, conversation.session, *NOBODYS))

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the records lie of replies that are kept; called when their block was read."""
        self._at_once.place(placed)

    def close(self) -> None:
        """The source is at its end: append the replies that were kept."""
        for held in self._at_once.left():
            self._belongs_to_none(held)

    def _answered(
        self, said: Said, conversation: Conversation, where: tuple[int, str, str, str], stage: str, *, opaque: bool
    ) -> None:
        """Append the calls and results in a reply."""
        event, session, reply, to = where
        sightings, wire = self._sightings, conversation.wire
        sightings.turn = self.turn
        known: Walk | None = conversation.walk
        walk = Walk(conversation.emitted, self._positional) if known is None else known.branch()
        for call in said.calls:
            pair_id, emission = walk.call(call.call_id, call.name, reply)
            self.made.append(Made(pair_id, call.call_id, call.name, emission, call.text))
            sightings.call(event, session, stage, reply, emission, pair_id, "" if opaque else to + call.to, call, wire)
        for result in said.results:
            pair_id, emission, _ = walk.result(result.call_id, result.name)
            sightings.result(event, session, "echo", emission, pair_id, "" if opaque else to + result.to, result, wire)
        self._conversations.owns(conversation, said.calls)

    def fail(self, place: Place, native: str = "error") -> int:
        """Append the failure of the request that waits."""
        self.cursor.advance(place)
        asked, waiting = self._asked, self._at_once.open
        if waiting and self._asked_in not in {None, place.event}:
            asked = None if self._at_once.several else waiting[0]
        if asked is not None and (twins := self._at_once.twins(asked)):
            self._at_once.drop(twins[-1])  # which it was tried for
            asked = None
        if asked is not None:
            asked.failed = True
            self._at_once.drop(asked)
        self._waiting = self._waiting and asked is not self._asked
        self._failed = None if asked is None else asked.session
        return self.cursor.event(native, "error", self._failed)[0]

    def refused(self, call: Call, event: int, nth: int, to: str) -> None:
        """Append a call that stands in the failure `event`: the model made it, and the provider gave it to nobody."""
        emission, turn = f"refused {event} {nth}", self.turn

        def append(session: str) -> None:
            self._sightings.turn = turn
            self._sightings.call(event, session, "item", emission, emission, emission, to, call)

        if not self._at_once.also(event, lambda conversation, _: append(conversation.session)):
            append(self._failed or self.name(f"{self.wire}-reply"))
