"""Conversations as models are asked: every request holds all messages so far, and every reply adds one.

Adapters say what a message holds (`Said`); here it is told what of a request was sent before, which conversation it
continues, and which call and which result each sighting shows. What was sent before is passed over; what comes back in
a later request is a copy (stage history). Where a wire has no ids, results find their calls by order and name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from analyzer.read.history import Conversation, Found, Memory, Names, Walk, common
from analyzer.read.members import listed
from analyzer.read.openai.cursor import Cursor, Place
from analyzer.read.openai.ledger import Latest
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.values import first

_ALIKE = 16  # conversations that begin alike and may be continued
_SYSTEM = (b'"system"', b'"developer"')
_NOBODY: Names = ((), ())
_UNSAID = (None, None, None, None)


class Call(msgspec.Struct, gc=False):
    """A call in a message; `to` leads from the message to its arguments."""

    call_id: str | None
    name: str | None
    text: str | None
    container: str
    to: str = ""
    kind: str = "function"
    server: str | None = None
    status: str | None = None
    owed_by: str = "client"


class Result(msgspec.Struct, gc=False):
    """A result in a message; `to` leads from the message to its output."""

    call_id: str | None
    name: str | None
    text: str | None
    container: str
    to: str = ""
    success: bool | None = None
    error: str | None = None
    status: str | None = None


class Said(msgspec.Struct, gc=False):
    """What one message says; `to` leads from it to its text."""

    role: str | None = None
    text: str | None = None
    to: str = ""
    calls: list[Call] = []
    results: list[Result] = []
    faults: list[Fault] = []
    item_id: str | None = None
    phase: str | None = None


class Ask(msgspec.Struct, gc=False):
    """A request: its messages, and what else it sets. `own`: a list whose calls are the model's, and no reply comes."""

    raws: list[bytes]
    """The JSON texts of its messages; or they are in `listing`."""
    to: str = "/messages"
    session: str | None = None
    thread: str = ""
    """Which of several conversations of a named session it continues."""
    own: bool = False
    tools: bytes = b""
    """JSON text of the tool table; empty where the request has none."""
    tools_to: str = "/tools"
    shape: str = "chat"
    model: str | None = None
    parallel: bool | None = None
    text_format: str | None = None
    instructions: str | None = None
    listing: bytes = b""
    """JSON text of the list of messages, for a wire whose clients resend long ones: what is known of it is not read."""


class Dialogue:
    """Appends the rows of conversations for the adapter of one source."""

    def __init__(
        self, wire: str, rows: Rows, read: Callable[[bytes], Said], *, positional: bool = False, executed: bool = False
    ) -> None:
        """`positional`: ids tell little; `executed`: results in requests are copies of those of who ran the calls."""
        self._wire = wire
        self._rows = rows
        self._read = read
        self._positional = positional
        self._executed = executed
        self._memory: Memory = rows.shared.setdefault(f"dialogue {wire}", Memory())
        self._asked: Conversation | None = None
        self._waiting = False
        self._running: tuple[Conversation, Walk] | None = None
        self._count = 0
        self._latest: Latest[Conversation] = Latest()
        self.made: list[tuple[str, str | None, str | None]] = []
        """The calls of the last reply: pair id, call id, name."""
        self.turn: str | None = None
        """The turn of what comes next; with one, the calls are those that another wire of the session shows."""
        self.cursor = Cursor(rows)

    @property
    def session(self) -> str | None:
        """The session of the last request."""
        return None if self._asked is None else self._asked.session

    def move(self, place: Place) -> None:
        """Go to a place; other events of its record may be behind it."""
        self.cursor.advance(place)

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._memory.trim()

    def forget(self) -> None:
        """What comes next answers no request that came before."""
        self._asked, self._waiting = None, False

    # --- requests ---------------------------------------------------------------------------------------------------

    def ask(self, asked: Ask, place: Place, *, wire: str | None = None) -> str:
        """Append a request, or a list of messages; the session it is of."""
        self.cursor.advance(place)
        read: dict[int, Said] = {}
        conversation, known, new, digests = self._continued(asked, read) or self._sought(asked, read)
        said = [read[index] if index in read else self._read(raw) for index, raw in enumerate(new, known)]
        before, session = len(conversation.digests), conversation.session
        if asked.own:
            event = self._list(asked, conversation, new=bool(new))
        else:
            event = self.cursor.event("request.create", "request", session, turn=self.turn)
        self._settings(asked, event, conversation)
        walk = conversation.walk
        if walk is None or known < before:
            walk = conversation.walk = Walk(conversation.emitted, positional=self._positional)
            walk.pass_over(conversation.names[:known])
        reply = before if conversation.replies else None
        for index, each in enumerate(said, known):
            fresh = index >= before and not (index == reply and each.role == "assistant")
            self._message(each, conversation, walk, f"{asked.to}/{index}", index, own=asked.own, fresh=fresh, wire=wire)
        conversation.digests[known:] = digests
        conversation.names[known:] = map(_names, said)
        conversation.replies, conversation.failed = [], False
        head, sent = conversation.head, conversation.digests
        conversation.second = sent[head] if len(sent) > head else None
        if asked.listing:
            conversation.text = asked.listing.rstrip().removesuffix(b"]").rstrip()
            self._latest.went_on(conversation)
        self._asked, self._waiting = conversation, not asked.own
        return session

    def _continued(self, asked: Ask, read: dict[int, Said]) -> Found | None:
        """The conversation whose last request this one begins with, byte for byte, if it is one of the latest."""
        if not asked.listing or asked.session is not None:
            return None
        for conversation in self._latest:
            if not asked.listing.startswith(conversation.text) or not conversation.digests:
                continue
            tail = asked.listing[len(conversation.text) :].lstrip()
            if tail[:1] != b",":
                continue
            new, known = listed(b"[" + tail[1:]), len(conversation.digests)
            if conversation.replies:
                read[known] = self._read(new[0])
                if self._gist(read[known]) not in conversation.replies:
                    read.clear()
                    continue
            return conversation, known, new, list(map(hash, new))
        return None

    def _sought(self, asked: Ask, read: dict[int, Said]) -> Found:
        """The conversation of a request, and what of it is new."""
        if asked.listing:
            asked.raws = listed(asked.listing)
        digests = list(map(hash, asked.raws))

        def said(index: int) -> Said:
            if index not in read:
                read[index] = self._read(asked.raws[index])
            return read[index]

        conversation, known = self._find(asked, digests, said)
        return conversation, known, asked.raws[known:], digests[known:]

    def append(self, raw: bytes, place: Place) -> str:
        """Append the next message of the one list that the source holds, a record for each; its session."""
        if self._running is None:
            conversation = Conversation(self.name(f"{self._wire}-{blake2b(raw, digest_size=6).hexdigest()}"))
            self._running = conversation, Walk(conversation.emitted, positional=self._positional)
        conversation, walk = self._running
        self.cursor.advance(place)
        self._count += 1
        self._message(self._read(raw), conversation, walk, "", self._count, own=True, fresh=True)
        return conversation.session

    def _list(self, asked: Ask, conversation: Conversation, *, new: bool) -> tuple[int, bool] | None:
        """The event of a list of messages, where it needs one of its own."""
        if new and not asked.tools and asked.model is None:
            return None
        return self.cursor.event("messages", "notice", conversation.session)

    def _message(
        self,
        said: Said,
        conversation: Conversation,
        walk: Walk,
        to: str,
        index: int,
        *,
        own: bool,
        fresh: bool,
        wire: str | None = None,
    ) -> None:
        """One message of a request, which may have been sent before."""
        session = conversation.session
        event, opaque = self.cursor.event("message", "item", session, turn=self.turn)
        to = "" if opaque else to
        if said.calls:
            stage, reply = "item" if own and fresh else "history", f"{session} {index}"
            for call in said.calls:
                pair_id, emission = walk.call(call.call_id, call.name)
                self._call(call, event, session, stage, reply, emission, pair_id, "" if opaque else to + call.to, wire)
            self._owns(conversation, said)
        for result in said.results if self.turn is None else ():
            pair_id, emission, nth = walk.result(result.call_id, result.name)
            answered = conversation.answered.get(pair_id, 0)
            old = nth < answered or (said.role == "assistant" and not own) or self._executed
            where = "" if opaque else to + result.to
            self._result(result, event, session, "history" if old else "message", emission, pair_id, where, wire)
            conversation.answered[pair_id] = max(nth + 1, answered)
        if said.faults:
            self._faults(said, event, session, to, opaque=opaque)
        if fresh and (said.text is not None or not said.results):
            where = "" if opaque else to + said.to
            self._rows.messages.append(
                (event, session, self.turn, said.item_id, said.role, said.phase, None, said.text, where)
            )

    def _find(self, asked: Ask, digests: Sequence[int], said: Callable[[int], Said]) -> tuple[Conversation, int]:
        """The conversation that a request continues, and how many of its messages were sent before."""
        memory = self._memory
        if asked.session is not None:
            named = f"{asked.session}\0{asked.thread}"
            conversation = memory.named.get(named)
            if conversation is None:
                conversation = memory.named[named] = Conversation(asked.session)
            return conversation, common(conversation.digests, digests)
        head = 1
        while head < len(digests) and any(mark in asked.raws[head - 1][:400] for mark in _SYSTEM):
            head += 1
        beginning = hash(tuple(digests[:head]))
        alike = memory.beginnings.get(beginning, [])
        if len(digests) > head:  # the others have nothing in common but how they begin
            second = digests[head]
            nearest = [each for each in alike if each.second is None or each.second == second]
        else:
            nearest = [each for each in alike if each.failed or not (each.replies or asked.own)]
        best: tuple[int, int, Conversation | None] = (0, 0, None)
        for conversation in reversed(nearest):
            known, sent = common(conversation.digests, digests), len(conversation.digests)
            if known < sent:
                again = known == len(digests) and conversation.failed
                score = 3 if again else 2 if head < known < len(digests) else 0
            elif known == len(digests):
                score = 0 if conversation.replies or asked.own else 3  # the same again, because no reply came
            else:
                score = 3 if not conversation.replies or self._gist(said(known)) in conversation.replies else 1
            if score > best[0]:
                best = (score, known, conversation)
            if score == 3:
                break
        if best[2] is not None:
            return best[2], best[1]
        found = None if asked.own else self._owner(digests, said)
        if found is None:
            text = b"\0".join(asked.raws)
            found = Conversation(self.name(f"{self._wire}-{blake2b(text, digest_size=6).hexdigest()}"))
        found.head = head
        memory.beginnings[beginning] = [*alike[1 - _ALIKE :], found]
        return found, 0

    def _owner(self, digests: Sequence[int], said: Callable[[int], Said]) -> Conversation | None:
        """The conversation that a call of the request was made in."""
        for index in reversed(range(len(digests))):
            calls, results = said(index).calls, said(index).results
            for call_id in (*(call.call_id for call in calls), *(result.call_id for result in results)):
                if call_id and (owner := self._memory.owners.get(call_id)) is not None:
                    return owner
        return None

    def name(self, wanted: str) -> str:
        """A session's name, with a number where the run has had one of that name."""
        nth = self._memory.names.get(wanted, 0) + 1
        self._memory.names[wanted] = nth
        return wanted if nth == 1 else f"{wanted}-{nth}"

    def _owns(self, conversation: Conversation, said: Said) -> None:
        for call in said.calls if not self._positional else ():
            if call.call_id:
                self._memory.owners[call.call_id] = conversation

    def _gist(self, said: Said) -> int:
        """What an assistant's message says and asks for, however it is written."""
        calls = tuple([(None if self._positional else call.call_id, call.name) for call in said.calls])
        return hash((said.text or "", calls))

    def _settings(self, asked: Ask, event: tuple[int, bool] | None, conversation: Conversation) -> None:
        if event is None:
            return
        number, opaque = event
        session = conversation.session
        state = (asked.model, asked.parallel, asked.text_format, asked.instructions)
        if state not in (conversation.state, _UNSAID):
            conversation.state = state
            self._rows.session_states.append(
                (number, session, None, None, None, asked.model, None, asked.parallel, *state[2:], None, None)
            )
        if asked.tools == conversation.table or (asked.own and not asked.tools):
            return
        conversation.table = asked.tools
        to = None if opaque else asked.tools_to
        if first(asked.tools) not in (b"[", b"{"):
            if asked.tools not in (b"", b"null"):
                self._rows.faults.append((number, session, "member_type", to or "", "tools is no list", None))
            self._rows.showings.append((number, session, "request", "all", None, ""))
            return
        table = self._rows.table(asked.tools, asked.shape)
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
    ) -> int:
        """Append a reply of the model, one event; its number. `to` leads from the event to the message."""
        conversation = self._asked
        if conversation is None or not (self._waiting or conversation.replies):
            conversation = self._asked = Conversation(self.name(reply or f"{self._wire}-reply"))
        self._waiting = False
        self.cursor.advance(place)
        session = conversation.session
        event, opaque = self.cursor.event(native, kind, session, turn=self.turn)
        reply = reply or f"reply {event}"
        to = "" if opaque else to
        self.made = []
        if said.calls or said.results:
            self._answered(said, conversation, (event, session, reply, to), stage, opaque=opaque)
        if said.faults:
            self._faults(said, event, session, to, opaque=opaque)
        row = (event, session, self.turn, said.item_id or reply, said.role or "assistant", said.phase)
        self._rows.messages.append((*row, stop if stage == "item" else None, said.text, "" if opaque else to + said.to))
        conversation.replies = [*conversation.replies, self._gist(said)]
        return event

    def _answered(
        self, said: Said, conversation: Conversation, where: tuple[int, str, str, str], stage: str, *, opaque: bool
    ) -> None:
        """Append the calls and results in a reply."""
        event, session, reply, to = where
        known: Walk | None = conversation.walk
        walk = Walk(conversation.emitted, positional=self._positional) if known is None else known.branch()
        for call in said.calls:
            pair_id, emission = walk.call(call.call_id, call.name, reply)
            self.made.append((pair_id, call.call_id, call.name))
            pointer = "" if opaque else to + call.to
            self._call(call, event, session, stage, reply, emission, pair_id, pointer, None)
        for result in said.results:
            pair_id, emission, _ = walk.result(result.call_id, result.name)
            pointer = "" if opaque else to + result.to
            self._result(result, event, session, "echo", emission, pair_id, pointer, None)
        self._owns(conversation, said)

    def fail(self, place: Place, native: str = "error") -> int:
        """Append the failure of the request that waits."""
        self.cursor.advance(place)
        if self._asked is not None:
            self._asked.failed = True
        self._waiting = False
        return self.cursor.event(native, "error", self.session)[0]

    def refused(self, call: Call, event: int, nth: int, to: str) -> None:
        """Append a call that stands in the failure `event`: the model made it, and the provider gave it to nobody."""
        emission = f"refused {event} {nth}"
        self._call(call, event, self.session or "", "item", emission, emission, emission, to, None)

    # --- rows -------------------------------------------------------------------------------------------------------

    def _call(self, call: Call, event: int, session: str, stage: str, reply: str, *more: Any) -> None:
        emission, pair_id, where, wire = more
        self._rows.call_sightings.append(
            (
                *(event, session, self.turn, wire or self._wire, stage, reply),
                *(emission if self.turn is None else None, call.call_id, pair_id, call.kind),
                *(call.server, call.name, call.text, call.container, call.status, call.owed_by, None, where),
            )
        )

    def _result(self, result: Result, event: int, session: str, stage: str, *more: Any) -> None:
        emission, pair_id, where, wire = more
        self._rows.result_sightings.append(
            (
                *(event, session, self.turn, wire or self._wire, stage, emission, result.call_id, pair_id, result.name),
                *(result.success, result.status, result.error, result.text, result.container, None, None, None, where),
            )
        )

    def _faults(self, said: Said, event: int, session: str, to: str, *, opaque: bool) -> None:
        self._rows.faults += [
            (event, session, fault, "" if opaque else to + where, detail, None)
            for fault, where, detail, _ in said.faults
        ]


def _names(said: Said) -> Names:
    if not said.calls and not said.results:
        return _NOBODY
    calls = tuple([(call.call_id, call.name) for call in said.calls])
    return calls, tuple([(result.call_id, result.name) for result in said.results])
