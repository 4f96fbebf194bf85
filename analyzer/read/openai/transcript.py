"""Requests and responses, in turn: each request waits for its response, which says whose it is; both become rows."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from analyzer.frames import REFUSED
from analyzer.read.at_once import NOBODYS, AtOnce, Held
from analyzer.read.cursor import Cursor, Place
from analyzer.read.ledger import Ledger, Recent
from analyzer.read.openai.bodies import Record
from analyzer.read.openai.chain import Chains, conversation_of
from analyzer.read.openai.items import At, Items
from analyzer.read.openai.tools import same_tools
from analyzer.read.openai.wire import Item, items_of
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first, text_of


class Pending(msgspec.Struct, gc=False):
    """A request that waits for its response, which names the session."""

    record: Record
    text: bytes
    """Its input."""
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


class _Session(msgspec.Struct, gc=False):
    """What is known of a session."""

    asked: bool = False
    """Whether a request of it is recorded."""
    answered: str | None = None
    """Its latest response."""
    state: tuple[Any, ...] | None = None
    """The one that was shown last."""


_SUMMED = frozenset({"compaction", "context_compaction", "compaction_summary"})


class Transcript:
    """Appends the rows of the requests and responses of one source."""

    def __init__(self, wire: str, rows: Rows, ledger: Ledger) -> None:
        self.rows = rows
        self.cursor = Cursor(rows)
        self.items = Items(wire, rows, ledger, shape="responses")
        self.chains = Chains(ledger)
        self.pending: Pending | None = None
        self.at_once: AtOnce[str] = AtOnce()
        """The sessions of requests before it that wait."""
        self.unsure = False
        """Whether the response that began last may be of several requests."""
        self._kept: dict[str, Held[str]] = {}
        """Responses that are, by their ids and those of their items."""
        self._ledger = ledger
        self._sessions: Recent[str | None, _Session] = Recent()
        self._shown: Recent[str | None, _Shown] = Recent(50_000)  # by session; they hold whole tables
        self._same: Recent[tuple[str | None, str | None], bool] = Recent(50_000)
        self._told = b""
        self._tables = [b"", b""]

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._ledger.trim()
        self.chains.trim()
        self._sessions.trim()
        self._shown.trim()
        self._same.trim()

    def _session(self, name: str | None) -> _Session:
        known = self._sessions.get(name)
        if known is None:
            known = self._sessions[name] = _Session()
        return known

    def answered(self, session: str | None, response: str | None) -> None:
        """A response is whole: it is the latest of its session."""
        self._session(session).answered = response or ""

    def request(self, record: Record, place: Place, *, accepted: bool | None = None) -> None:
        """Keep a request until its response says which session it began."""
        self._wait()
        self.cursor.move(place, max(self.cursor.next, place.event))
        chained = record.previous_response_id is not None or record.conversation
        session = conversation_of(record.conversation) or self.chains.named(record.previous_response_id)
        text = bytes(record.input)
        skipped = 0
        faults: list[Fault] = []
        if text[:1] == b'"':
            items = [Item(type="message", role="user", content=record.input)]
        else:
            size = 0
            if not chained:
                session, size, skipped = self.chains.resent(text)
            items, faults = items_of(text if not size else b"[" + text[size + 1 :])
            if session is None:
                session = self.chains.of_items(items)
        if self._kept:
            session = self._went_on(session, record.previous_response_id, items)
        self.pending = Pending(record, text, items, faults, place, self.cursor.next, session, skipped, accepted)

    def _wait(self) -> None:
        """The response to the request that waits has not come so far: another one comes first."""
        if self.pending is not None and (session := self.flush(None)) is not None:
            self.at_once.ask(session)

    def _went_on(self, session: str | None, response: str | None, items: list[Item]) -> str | None:
        """A request goes on from a response that was kept, which is known by its id or by what is resent of it."""
        names = [response, *(name for item in items for name in (item.call_id, item.id))]
        held = next((self._kept[name] for name in names if name is not None and name in self._kept), None)
        if held is None:
            return session
        if session is not None and session in held.among:
            for each, owner in self.at_once.known(held, session):
                self._release(each, owner)
            return session
        self.at_once.remove(held)
        self._alone(held)
        return session or held.exactly

    def hold(self, record: Record, items: Sequence[Item], faults: Sequence[Fault], to: str | None = "") -> None:
        """Keep a response that may be of several requests until one resends what it says.

        `to` leads to its body; None where its items stand elsewhere.
        """
        here, event = self.cursor.place, self.cursor.next
        opaque = here.opaque or to is None
        place = msgspec.structs.replace(here, pointer=here.pointer + ("" if opaque else to or ""), opaque=opaque)
        name = record.id or f"reply {event}"

        def append(session: str, _: Place) -> None:
            self._session(session).asked = True
            self._respond(record, session, items, faults)

        held = Held(place, event, 0, name, self.at_once.open, [append])
        full = self.at_once.hold(held)
        self.cursor.move(here, event + 1 + len(items))
        for each in (name, *(named for item in items for named in (item.call_id, item.id))):
            if each is not None:
                self._kept.setdefault(each, held)
        if full is not None:
            self._alone(full)

    def _release(self, held: Held[str], session: str) -> None:
        self._kept = {name: each for name, each in self._kept.items() if each is not held}
        here, back = self.cursor.place, self.cursor.next
        self.cursor.move(held.place, held.event)
        for append in held.append:
            append(session, held.place)
        self.cursor.move(here, back)

    def _alone(self, held: Held[str]) -> None:
        """A response of which it was never known whose it is."""
        self._release(held, held.exactly)
        self.rows.faults.append((held.event, held.exactly, *NOBODYS))

    def close(self) -> None:
        """The source is at its end: append what waits and what was kept."""
        self.flush(None)
        for held in self.at_once.left():
            self._alone(held)

    def flush(self, session: str | None, *, accepted: bool | None = None, when: float | None = None) -> str | None:
        """Append the request that waits, as part of `session` where its own words name none; the session it got."""
        pending, self.pending = self.pending, None
        if pending is None:
            return session
        here, back = self.cursor.place, self.cursor.next
        self.cursor.move(pending.place, pending.next)
        session = self._ask(pending, session, accepted=pending.accepted if accepted is None else accepted, when=when)
        # The response may stand in the same record: its events come after those of the request.
        self.cursor.move(here, self.cursor.next if here.event == pending.place.event else back)
        return session

    def _ask(self, pending: Pending, session: str | None, *, accepted: bool | None, when: float | None) -> str:
        record, text, items = pending.record, pending.text, pending.items
        chained = record.previous_response_id is not None or bool(record.conversation)
        session = pending.session or session or _unnamed(text)
        native = "request.continue" if chained else "request.create"
        event, opaque = self.cursor.event(native, "request", session, when=when)
        known = self._session(session)
        known.asked = True
        to = None if opaque else "/tools"
        if accepted is not False:
            self.tell(record, event, session, None)
            self.tools(record.tools, event, session, 0, to)
        elif first(record.tools) == b"[":
            self.rows.showings.append((event, session, "request", REFUSED, self.items.table(bytes(record.tools)), to))
        for fault in pending.faults:
            self.rows.faults.append((event, session, fault.fault, f"/input{fault.pointer}", fault.detail, fault.at))
        if not chained:
            self.chains.sent(session, text, pending.skipped + len(items))
        latest = known.answered
        after = (record.previous_response_id or latest or "") if chained else None
        # A conversation has one end only; elsewhere a request may go on from before the latest reply.
        elsewhere = record.previous_response_id not in {None, latest} if chained else True
        if accepted is not False and latest is not None and elsewhere:
            self._abandon(session, event, items)
        if text[:1] == b'"':
            event, _ = self.cursor.event("message", "item", session, member="/input", when=when)
            self.rows.messages.add(event=event, session=session, role="user", text=text_of(record.input), pointer="")
            return session
        seen: dict[str, int] = {}
        for index, item in enumerate(items, pending.skipped):
            native = item.type or "message"
            event, opaque = self.cursor.event(native, "item", session, member=f"/input/{index}", when=when)
            at = At(event, session, stage="history", accepted=accepted, opaque=opaque)
            self._place_item(item, native, at, after=after, known=latest is not None, seen=seen)
            self.items.take(item, at)
        if accepted is not False and not chained:
            for name, count in seen.items():
                self._ledger.answer(session, name, count)
        return session

    def _abandon(self, session: str, event: int, items: list[Item]) -> None:
        """The calls of a reply that was made anew will never be answered, and need not be."""
        for call in self.chains.abandoned(session, items):
            emission = self._ledger.emission(session, call.call_id, call.item_id)
            self.rows.call_sightings.add(
                event=event,
                session=session,
                wire=self.items.wire,
                stage="history",
                item_id=emission,
                call_id=call.call_id,
                pair_id=call.call_id,
                kind="function",
                name=call.name,
                container="absent",
                status="abandoned",
                owed_by="client",
                pointer="",
            )

    def _place_item(
        self, item: Item, native: str, at: At, *, after: str | None, known: bool, seen: dict[str, int]
    ) -> None:
        """Say of an item of an input whether it is new, and which emission it is."""
        output = native.endswith("_output")
        if after is not None:
            at.answer = "post"
            if output and item.call_id is not None:
                # Sent again after the same response it is the same result; after another one, or twice at once, it is
                # a second result.
                nth = seen.get(item.call_id, 0)
                seen[item.call_id] = nth + 1
                at.emission = item.id or f"{item.call_id}!{after}{f'!{nth}' if nth else ''}"
            return
        if output:
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
        if output:
            at.emission = item.id or f"{name}!{nth}"
            at.answer = "post" if new else "history"
        else:
            at.fresh = at.fresh and new

    def begin(self, record: Record) -> str | None:
        """The session of a response, after its request was appended."""
        session = conversation_of(record.conversation) if record.conversation else None
        before = record.previous_response_id
        if session is None and before is not None:
            session = self.chains.named(before)
        self.unsure = self._is_unsure(record, session)
        if self.unsure:
            self._wait()
            return None
        pending = self.pending
        if pending is not None:
            asked = pending.record.previous_response_id
            other = asked is not None and before is not None and asked != before
            if other or (session is not None and pending.session not in {None, session}):
                self._wait()  # a response to another request
            else:
                pending.session = session or pending.session
                session = self.flush(record.id, when=record.created_at)
        elif session is None and record.id not in self._ledger.owners:
            session = next(iter(self.at_once.open), None)
        if session is None:
            session = self.chains.named(record.id)
        if session is not None:
            self.at_once.answered(session)
        return session

    def _is_unsure(self, record: Record, session: str | None) -> bool:
        """Whether a response that names no session, or the one that is given, may be of several requests."""
        pending, waiting = self.pending, set(self.at_once.open)
        if session is not None or not waiting or record.id in self._ledger.owners:
            return False
        if pending is not None:
            waiting.add(pending.session or _unnamed(pending.text))
        return len(waiting) > 1 and (pending is None or pending.place.event != self.cursor.place.event)

    def belongs(self, response: str, session: str) -> None:
        """A response that comes next is of a session that asked for it elsewhere."""
        self._ledger.owners[response] = session
        self._session(session).asked = True

    def response(self, record: Record) -> None:
        """A whole response."""
        session = self.begin(record)
        items, faults = items_of(record.output)
        if self.unsure:
            self.hold(record, items, faults)
        else:
            self._respond(record, session, items, faults)

    def _respond(self, record: Record, session: str | None, items: Sequence[Item], faults: Sequence[Fault]) -> None:
        event, opaque = self.cursor.event("response", "session", session, when=record.created_at)
        status = text_of(record.status)
        self.tell(record, event, session, status)
        self.tools(record.tools, event, session, 1, None if opaque else "/tools")
        for fault in faults:
            self.rows.faults.append((event, session, fault.fault, f"/output{fault.pointer}", fault.detail, fault.at))
        self.chains.replied(session, record.id, items)
        reply = record.id or f"reply {event}"
        # A response that is looked up while it runs shows what may still change.
        stage = "item" if status in {"queued", "in_progress"} else "done"
        owed_by, when = self._owed_by(session), record.created_at
        for index, item in enumerate(items):
            native = item.type or "message"
            event, opaque = self.cursor.event(native, "item", session, member=f"/output/{index}", when=when)
            self.items.take(item, At(event, session, None, stage, "echo", reply, index, None, owed_by, opaque=opaque))
        self.answered(session, record.id)

    def output(
        self, event: int, session: str | None, reply: str | None, index: int | None = None, *, opaque: bool
    ) -> At:
        """Where an item of a response stands."""
        return At(event, session, reply=reply, index=index, owed_by=self._owed_by(session), opaque=opaque)

    def _owed_by(self, session: str | None) -> str:
        return "client" if self._session(session).asked else "unknown"

    def tell(self, record: Record, event: int, session: str | None, status: str | None) -> None:
        """Append the state of the session where it says something new."""
        text, told, known = bytes(record.text), bytes(record.instructions), self._session(session)
        # One text for all that have it: Python hashes it once.
        told = self._told = self._told if told == self._told else told
        state = (record.model, record.parallel_tool_calls, text, hash(told))
        if status is None and known.state == state:
            return
        known.state = state
        instructions = text_of(record.instructions) if told else None
        self.rows.session_states.add(
            event=event,
            session=session,
            status=status,
            model=record.model,
            parallel=record.parallel_tool_calls,
            text_format=text.decode() if text[:1] == b"{" else None,
            instructions=instructions,
        )

    def tools(self, tools: Raw, event: int, session: str | None, side: int, pointer: str | None) -> None:
        """Show the table of a request (side 0) or the echo of a response (side 1) where it says something new."""
        if not tools:
            return
        text = bytes(tools)
        text = self._tables[side] = self._tables[side] if text == self._tables[side] else text
        if text[:1] not in {b"[", b"n"}:
            detail = "tools is neither a list nor null"
            self.rows.faults.append((event, session, "member_type", pointer or "", detail, None))
            return
        table = self.items.table(text) if text[:1] == b"[" else None
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
            self.rows.showings.append((event, session, "request", "all", table, pointer))

    def _echoes(self, shown: _Shown, text: bytes) -> bool:
        """Whether a response says of the tools what its request said."""
        key = (shown.request, shown.echo)
        same = self._same.get(key)
        if same is None:
            same = self._same[key] = same_tools(shown.text, text)
        return same


def _unnamed(text: bytes) -> str:
    """The session of a request with this input, where nothing names it."""
    return f"request-{blake2b(text, digest_size=6).hexdigest()}"
