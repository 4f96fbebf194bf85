"""Sessions of Managed Agents as their events tell of them: states, tables, calls, results, messages and approvals."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from analyzer.frames import PART_LIMIT
from analyzer.read.claude.blocks import Block, blocks_of, words_of
from analyzer.read.claude.events import CALLS, KINDS, RESULTS, Agent, Event, Stop, agent_of, is_own
from analyzer.read.claude.sightings import At, Sightings
from analyzer.read.ledger import Recent
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first, text_of

_RUNNING, _IDLE = "session.status_running", "session.status_idle"


class Model(msgspec.Struct, gc=False):
    """The model of an agent."""

    id: str | None = None


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event's record lies, and what stands around it."""

    offset: int
    length: int
    line: int
    pointer: str = ""
    session: str | None = None
    accepted: bool | None = None
    opaque: bool = False
    begins: bool = False
    """Whether the record is the answer to who made the session."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call, as lists of what is waited for refer to it."""

    block: Block
    kind: str
    turn: str | None


_model = msgspec.json.Decoder(Model).decode


class Sessions:
    """Appends the events of one source."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._rows = rows
        self._sightings = Sightings(wire, rows)
        self.session: str | None = None
        """The session of what comes next, where it does not say it."""
        self.number = 0
        """The number of the next event."""
        self._calls: Recent[str, Call] = rows.shared.setdefault(wire, Recent())
        self._seen: Recent[str, tuple[int, str | None]] = Recent()
        self._confirmed: Recent[str, bool] = Recent()
        self._sent: Recent[int, bool] = Recent()
        self._held: dict[str | None, Agent] = {}  # updates that wait for the next run
        self._threads: set[tuple[str | None, str]] = set()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._calls.trim()
        self._seen.trim()
        self._confirmed.trim()
        self._sent.trim()

    def snapshot(self, session: Event, place: Place) -> None:
        """A session as it was created or fetched."""
        known = session.id == self.session
        self.session = session.id
        at = self.append("session", "session", place, session)
        agent = agent_of(session.agent)
        self._state(text_of(session.status), agent, at, None, begins=place.begins)
        self._tools(agent.tools, "session" if known else "create", at, "/agent/tools")

    def _state(
        self, status: str | None, agent: Agent, at: At, pending: int | None, *, begins: bool | None = None
    ) -> None:
        try:
            model = (
                text_of(agent.model) if first(agent.model) == b'"' else _model(agent.model).id if agent.model else None
            )
        except msgspec.DecodeError:
            model = None
        self._rows.session_states.add(
            event=at.event,
            session=at.session,
            status=status,
            agent=agent.id,
            agent_name=agent.name,
            model=model,
            instructions=agent.system,
            pending=pending,
            begins=begins or None,
        )

    def _tools(self, tools: Raw, channel: str, at: At, pointer: str) -> None:
        text = bytes(tools)
        if text[:1] == b"[" or text == b"null":
            table = self._rows.table(text, "anthropic") if text[:1] == b"[" else None
            self._rows.showings.add(
                event=at.event,
                session=at.session,
                channel=channel,
                scope="all",
                table=table,
                pointer=at.pointer(pointer),
            )

    def take(self, event: Event, native: str, place: Place) -> None:
        """One event."""
        session = place.session or self.session
        said = hash((native, event.name, bytes(event.input), bytes(event.content), event.tool_use_id))
        before = self._seen.get(event.id) if event.id is not None else None
        copy = before is not None and before[0] == said and before[1] != event.thread
        if event.id is not None and before is None:
            self._seen[event.id] = (said, event.thread)
        turn = self._turn(event, native)
        kind = "notice" if copy else KINDS.get(native, "unknown")
        at = self.append(native, kind, replace(place, session=session), event, turn=turn, own=not copy)
        if copy:
            return  # a subagent's event, shown in the session's own stream as well
        if turn is not None and (session, turn) not in self._threads:
            self._threads.add((session, turn))
            self._rows.turn_states.add(event=at.event, session=session, turn=turn, subagent=turn, status="in_progress")
        if native in CALLS:
            self._call(event, native, at)
        elif native in RESULTS:
            self._result(event, native, at)
        elif native in ("user.message", "agent.message"):
            self._message(event, native, at)
        elif native == "user.tool_confirmation":
            self._confirmation(event, at)
        elif native == "session.updated":
            self._held[session] = agent_of(event.agent)
        elif native == "agent.thread_context_compacted":
            self._rows.summaries.add(event=at.event, session=session, turn=turn, what="compaction")
        elif native.startswith("session.status_"):
            self._status(event, native, at)

    def _turn(self, event: Event, native: str) -> str | None:
        """Subagents have threads, each a turn of its own; a result is of its call's turn."""
        if native in RESULTS:
            call = self._calls.get(getattr(event, RESULTS[native]) or "")
            return None if call is None else call.turn
        return event.thread if native.startswith("agent.") else None

    def _status(self, event: Event, native: str, at: At) -> None:
        stop = event.stop_reason or Stop()
        waits = stop.type == "requires_action"
        word = "requires_action" if waits else native.removeprefix("session.status_")
        pending = len(stop.event_ids or ()) if native == _IDLE else None
        update = self._held.pop(at.session, None) if native == _RUNNING else None
        self._state(word, update or Agent(), at, pending)
        if update is not None:
            # The table stands in the event before; what holds from here on has no place of its own here.
            self._tools(update.tools, "update", replace(at, opaque=True), "")
        for index, name in enumerate(stop.event_ids or () if waits else ()):
            call = self._calls.get(name)
            if call is not None:
                there = At(
                    at.event, at.session, "action", f"/stop_reason/event_ids/{index}", call.turn, opaque=at.opaque
                )
                self._sightings.call(replace(call.block), there, kind=call.kind, member="")

    # --- calls, results, messages, approvals ------------------------------------------------------------------------

    def _call(self, event: Event, native: str, at: At) -> None:
        kind = CALLS[native]
        block = Block(
            "tool_use" if kind == "function" else "server_tool_use", event.id, event.name, event.input, event.server
        )
        at.stage, at.emission = "item", event.id or f"#{at.event}"
        self._sightings.call(block, at, kind=kind)
        if event.id is not None:
            self._calls[event.id] = Call(block, kind, at.turn)
        if event.permission == "ask":
            text = bytes(event.input).decode() or None
            self._rows.approvals.add(
                event=at.event,
                session=at.session,
                turn=at.turn,
                request_id=event.id,
                stage="request",
                server=event.server,
                name=event.name,
                text=text,
                policy="ask",
                pointer=at.pointer(""),
            )

    def _result(self, event: Event, native: str, at: At) -> None:
        name = getattr(event, RESULTS[native])
        sent = event.id is None
        block = Block(type="tool_result", tool_use_id=name, content=event.content, is_error=event.is_error)
        at.stage, at.emission = "post" if sent else "echo", event.id
        at.accepted = at.accepted if sent else None
        self._sightings.result(block, at)

    def _message(self, event: Event, native: str, at: At) -> None:
        blocks, faults = blocks_of(event.content)
        said = words_of(blocks)
        if event.id is None:
            self._sent[hash(said)] = True
        elif native == "user.message" and self._sent.pop(hash(said), False):
            return  # what was sent comes back
        at.to = "/content"
        self._sightings.faults(faults, at)
        role = "user" if native == "user.message" else "assistant"
        self._rows.messages.add(
            event=at.event,
            session=at.session,
            turn=at.turn,
            item_id=event.id,
            role=role,
            text=said,
            pointer=at.pointer(""),
        )

    def _confirmation(self, event: Event, at: At) -> None:
        name = event.tool_use_id
        if name is None or at.accepted is False or name in self._confirmed:
            return
        self._confirmed[name] = True
        word = text_of(event.result) if first(event.result) == b'"' else None
        decision = {"allow": "approve", "deny": "deny"}.get(word or "", word)
        call = self._calls.get(name)
        server, tool = (None, None) if call is None else (call.block.server_name, call.block.name)
        self._rows.approvals.add(
            event=at.event,
            session=at.session,
            request_id=name,
            stage="decision",
            server=server,
            name=tool,
            decision=decision,
            pointer=at.pointer("/result"),
        )

    def append(
        self, native: str, kind: str, place: Place, said: Event, *, turn: str | None = None, own: bool = True
    ) -> At:
        """Append an event; `own`: it is known by its id."""
        event = self.number
        if event & PART_LIMIT < PART_LIMIT:
            self.number = event + 1
        session = place.session or self.session
        self.session = session
        when = said.processed_at or said.created_at
        name = said.id if own and is_own(said.id) else None
        self._rows.events.add(
            event=event,
            session=session,
            offset=place.offset,
            length=place.length,
            line=place.line,
            pointer=place.pointer,
            time_text=when,
            type=native,
            kind=kind,
            turn=turn,
            event_id=name,
        )
        return At(event, session, "", "", turn, accepted=place.accepted, opaque=place.opaque)
