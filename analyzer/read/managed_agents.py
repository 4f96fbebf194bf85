"""Anthropic Managed Agents: session events as streamed, listed or sent, session objects, and recorders' lines of them.

What the client sends has no id; the stream gives it back with one. An update of the agent holds from the next time the
session runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.frames import PART_LIMIT
from analyzer.read.adapter import RecordAdapter
from analyzer.read.claude.blocks import At, Block, Blocks, blocks_of, words_of
from analyzer.read.decoding import Decoding
from analyzer.read.openai.cursor import Place as Where
from analyzer.read.openai.exchange import exchange_in, unread
from analyzer.read.openai.ledger import Recent
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first, text_of

_CALLS = {"agent.tool_use": "hosted", "agent.mcp_tool_use": "mcp", "agent.custom_tool_use": "function"}
_RESULTS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}
_KINDS = {
    **dict.fromkeys(_CALLS, "item"),
    **dict.fromkeys(_RESULTS, "item"),
    **dict.fromkeys(("agent.message", "agent.thinking", "agent.thread_context_compacted"), "item"),
    **dict.fromkeys(("agent.thread_message_sent", "agent.thread_message_received"), "notice"),
    **dict.fromkeys(("user.message", "user.interrupt", "user.tool_confirmation", "user.define_outcome"), "input"),
    **{
        f"session.status_{word}": "session" for word in ("running", "idle", "rescheduled", "rescheduling", "terminated")
    },
    **{f"session.thread_status_{word}": "notice" for word in ("running", "idle", "rescheduled", "terminated")},
    **dict.fromkeys(("session.updated", "session.deleted"), "session"),
    **dict.fromkeys(("session.thread_created", "span.model_request_start", "span.model_request_end"), "notice"),
    **{f"span.outcome_evaluation_{word}": "notice" for word in ("start", "ongoing", "end")},
    "session.error": "error",
}
_FAMILIES = ("agent.", "user.", "session.", "span.", "system.")
_RUNNING, _IDLE, _REFUSED = "session.status_running", "session.status_idle", 400


class Model(msgspec.Struct, gc=False):
    """The model of an agent."""

    id: str | None = None


class Agent(msgspec.Struct, gc=False):
    """The agent inside a session, or the members of it that an update changes."""

    id: str | None = None
    name: str | None = None
    model: Raw = ABSENT
    system: str | None = None
    tools: Raw = ABSENT


class Stop(msgspec.Struct, gc=False):
    """Why a session is idle."""

    type: str | None = None
    event_ids: list[str] | None = None


class Event(msgspec.Struct, gc=False):
    """Everything that one record may be: an event, a session, a page, what is sent, an exchange, an envelope."""

    type: str | None = None
    id: str | None = None
    processed_at: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    server: str | None = msgspec.field(default=None, name="mcp_server_name")
    permission: str | None = msgspec.field(default=None, name="evaluated_permission")
    thread: str | None = msgspec.field(default=None, name="session_thread_id")
    tool_use_id: str | None = None
    mcp_tool_use_id: str | None = None
    custom_tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    result: Raw = ABSENT
    stop_reason: Stop | None = None
    agent: Raw = ABSENT
    status: Raw = ABSENT
    data: Raw = ABSENT
    events: Raw = ABSENT
    event: Raw = ABSENT
    session_id: str | None = None
    created_at: str | None = None
    http: Raw = ABSENT
    request: Raw = ABSENT


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event's record lies, and what stands around it."""

    offset: int
    length: int
    line: int
    pointer: str = ""
    session: str | None = None
    accepted: bool | None = None
    opaque: bool = False


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call, as lists of what is waited for refer to it."""

    block: Block
    kind: str
    turn: str | None


_event = msgspec.json.Decoder(Event).decode
_agent = msgspec.json.Decoder(Agent).decode
_model = msgspec.json.Decoder(Model).decode
_raw = msgspec.json.Decoder(Raw).decode
_raws = msgspec.json.Decoder(list[Raw]).decode


class ManagedAgents(RecordAdapter[Raw]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "managed-agents"
    title: ClassVar[str] = "Anthropic Managed Agents: session events, sessions, what was sent"
    known_by: ClassVar[str] = (
        "events whose type begins with `agent.`, `user.`, `session.` or `span.` and whose id with `sevt_`; sessions "
        "with an id `sesn_`; recorders' lines of a client method and its payload; exchanges under /v1/sessions"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Only custom tools have schemas on this wire: the arguments of toolsets and of MCP servers are not judged.",
        "Output schemas are not on this wire: give them as contract files.",
        "Events do not name their session: they are of the one that was created, fetched or written to before them.",
        "A result without `is_error` counts as a success: the wire has no other flag.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _raw, _is_value, session=lambda: self._session)
        self._blocks = Blocks(self.name, rows)
        self._session: str | None = None
        self._event_number = 0
        self._calls: Recent[str, Call] = rows.shared.setdefault(self.name, Recent())
        self._seen: Recent[str, tuple[int, str | None]] = Recent()
        self._confirmed: Recent[str, bool] = Recent()
        self._sent: Recent[int, bool] = Recent()
        self._held: dict[str | None, Agent] = {}  # updates that wait for the next run
        self._threads: set[tuple[str | None, str]] = set()

    @staticmethod
    def knows(record: Any) -> bool:
        """Whether a parsed record is of this wire."""
        if isinstance(record, list):
            named = len(record) == 2 and isinstance(record[0], str) and record[0].startswith("client.beta.sessions")
            return named and isinstance(record[1], dict | list)
        if not isinstance(record, dict):
            return False
        native = record.get("type")
        if isinstance(native, str):
            own = isinstance(record.get("id"), str) and record["id"].startswith(("sevt_", "sesn_"))
            return native in _KINDS or (own and (native == "session" or native.startswith(_FAMILIES)))
        for name in ("events", "data"):
            if isinstance(record.get(name), list):
                return any(
                    isinstance(each, dict) and isinstance(each.get("type"), str) and ManagedAgents.knows(each)
                    for each in record[name][:8]
                )
        if isinstance(record.get("event"), dict):
            return ManagedAgents.knows(record["event"])
        half = record.get("http") if isinstance(record.get("http"), dict) else record.get("request")
        urls = [each.get(name) for each in (half, record) if isinstance(each, dict) for name in ("url", "uri", "path")]
        return any(isinstance(url, str) and _is_url(url) for url in urls)

    def _take(self, record: Raw, raw: bytes, at: Where) -> bool:
        del raw
        self._event_number = at.event
        return self._inside(record, Place(at.offset, at.length, at.line, at.pointer))

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _inside(self, raw: Raw, place: Place) -> bool:
        """Take what stands at a place: an event, or what holds events."""
        if first(raw) == b"[":
            return self._line(raw, place)
        if first(raw) != b"{":
            return False
        faults: list[Fault] = []
        try:
            event = _event(raw)
        except (msgspec.DecodeError, RecursionError):
            value = _value(bytes(raw))
            found = typed(_event, value) if ManagedAgents.knows(value) else None
            if found is None:
                return False
            event, faults = found
        number = self._event_number
        if not self._taken(event, raw, place):
            return False
        self._rows.faults += [(number, self._session, *fault) for fault in faults]
        return True

    def _line(self, raw: Raw, place: Place) -> bool:
        """A recorder's line: the name of a client method, and what it took or gave."""
        try:
            parts = _raws(raw)
        except msgspec.DecodeError:
            return False
        if len(parts) != 2 or not bytes(parts[0]).startswith(b'"client.'):
            return False
        payload, way = parts[1], f"{place.pointer}/1"
        if first(payload) == b"[":
            inner = _raws(payload)
            if len(inner) == 2 and first(inner[0]) == b'"':
                return self._inside(inner[1], replace(place, pointer=f"{way}/1", session=text_of(inner[0])))
            return False
        return self._inside(payload, replace(place, pointer=way))

    def _taken(self, event: Event, raw: Raw, place: Place) -> bool:
        native = event.type
        if event.session_id is not None:
            place = replace(place, session=event.session_id)
        if native == "session" and event.id is not None:
            self._snapshot(event, place)
            return True
        if native is not None and (native in _KINDS or (native.startswith(_FAMILIES) and _is_own(event.id))):
            self._one(event, native, place)
            return True
        if first(event.events) == b"[":
            return self._all(_raws(event.events), f"{place.pointer}/events", place)
        if first(event.data) == b"[" and native is None:
            return self._page(event.data, place)
        if first(event.event) == b"{":
            return self._inside(event.event, replace(place, pointer=f"{place.pointer}/event"))
        if first(event.http) == b"{" or first(event.request) == b"{":
            return self._exchange(raw, place)
        return False

    def _all(self, raws: Sequence[Raw], pointer: str, place: Place) -> bool:
        taken = [self._inside(raw, replace(place, pointer=f"{pointer}/{index}")) for index, raw in enumerate(raws)]
        return any(taken)

    def _page(self, data: Raw, place: Place) -> bool:
        """A page of events, taken oldest first."""
        raws = list(enumerate(_raws(data)))
        times = [time for _, raw in raws if (time := _time_of(raw)) is not None]
        if times and times[0] > times[-1]:
            raws.reverse()
        taken = [self._inside(raw, replace(place, pointer=f"{place.pointer}/data/{index}")) for index, raw in raws]
        return any(taken)

    def _exchange(self, raw: Raw, place: Place) -> bool:
        try:
            exchange = exchange_in(raw)
        except msgspec.DecodeError:
            return False
        if exchange is None or not _is_url(exchange.url):
            return False
        named = exchange.url.partition("/v1/sessions/")[2].partition("?")[0].partition("/")[0]
        accepted = None if exchange.status is None else exchange.status < _REFUSED
        number, taken = self._event_number, False
        self._rows.faults += [(number, self._session, *fault) for fault in unread(exchange.request, exchange.response)]
        for body, own in ((exchange.request, accepted), (exchange.response, None)):
            for frame in () if body is None else body.frames:
                assert body is not None
                where = "" if body.opaque else place.pointer + body.pointer
                inner = replace(place, session=named or place.session, accepted=own, opaque=body.opaque, pointer=where)
                taken |= self._inside(Raw(frame), inner)
        if not taken:
            self._append("request", "request", replace(place, session=named or None), Event())
        return True

    # --- sessions ---------------------------------------------------------------------------------------------------

    def _snapshot(self, session: Event, place: Place) -> None:
        """A session as it was created or fetched."""
        known = session.id == self._session
        self._session = session.id
        at = self._append("session", "session", place, session)
        agent = _agent_of(session.agent)
        self._state(text_of(session.status), agent, at, None)
        self._tools(agent.tools, "session" if known else "create", at, "/agent/tools")

    def _state(self, status: str | None, agent: Agent, at: At, pending: int | None) -> None:
        try:
            model = (
                text_of(agent.model) if first(agent.model) == b'"' else _model(agent.model).id if agent.model else None
            )
        except msgspec.DecodeError:
            model = None
        self._rows.session_states.append(
            (at.event, at.session, status, agent.id, agent.name, model, None, None, None, agent.system, None, pending)
        )

    def _tools(self, tools: Raw, channel: str, at: At, pointer: str) -> None:
        text = bytes(tools)
        if text[:1] == b"[" or text == b"null":
            table = self._rows.table(text, "anthropic") if text[:1] == b"[" else None
            self._rows.showings.append((at.event, at.session, channel, "all", table, at.pointer(pointer)))

    def _one(self, event: Event, native: str, place: Place) -> None:
        """One event."""
        session = place.session or self._session
        said = hash((native, event.name, bytes(event.input), bytes(event.content), event.tool_use_id))
        before = self._seen.get(event.id) if event.id is not None else None
        copy = before is not None and before[0] == said and before[1] != event.thread
        if event.id is not None and before is None:
            self._seen[event.id] = (said, event.thread)
        turn = self._turn(event, native)
        kind = "notice" if copy else _KINDS.get(native, "unknown")
        at = self._append(native, kind, replace(place, session=session), event, turn=turn, own=not copy)
        if copy:
            return  # a subagent's event, shown in the session's own stream as well
        if turn is not None and (session, turn) not in self._threads:
            self._threads.add((session, turn))
            self._rows.turn_states.append((at.event, session, turn, None, turn, "in_progress", None))
        if native in _CALLS:
            self._call(event, native, at)
        elif native in _RESULTS:
            self._result(event, native, at)
        elif native in ("user.message", "agent.message"):
            self._message(event, native, at)
        elif native == "user.tool_confirmation":
            self._confirmation(event, at)
        elif native == "session.updated":
            self._held[session] = _agent_of(event.agent)
        elif native == "agent.thread_context_compacted":
            self._rows.summaries.append((at.event, session, turn, "compaction", None, None))
        elif native.startswith("session.status_"):
            self._status(event, native, at)

    def _turn(self, event: Event, native: str) -> str | None:
        """Subagents have threads, each a turn of its own; a result is of its call's turn."""
        if native in _RESULTS:
            call = self._calls.get(getattr(event, _RESULTS[native]) or "")
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
                self._blocks.call(replace(call.block), there, kind=call.kind, member="")

    # --- calls, results, messages, approvals ------------------------------------------------------------------------

    def _call(self, event: Event, native: str, at: At) -> None:
        kind = _CALLS[native]
        block = Block(
            "tool_use" if kind == "function" else "server_tool_use", event.id, event.name, event.input, event.server
        )
        at.stage, at.emission = "item", event.id or f"#{at.event}"
        self._blocks.call(block, at, kind=kind)
        if event.id is not None:
            self._calls[event.id] = Call(block, kind, at.turn)
        if event.permission == "ask":
            text = bytes(event.input).decode() or None
            asked = ("request", event.server, event.name, text, None, "ask")
            self._rows.approvals.append((at.event, at.session, at.turn, event.id, *asked, at.pointer("")))

    def _result(self, event: Event, native: str, at: At) -> None:
        name = getattr(event, _RESULTS[native])
        sent = event.id is None
        block = Block(type="tool_result", tool_use_id=name, content=event.content, is_error=event.is_error)
        at.stage, at.emission = "post" if sent else "echo", event.id
        at.accepted = at.accepted if sent else None
        self._blocks.result(block, at)

    def _message(self, event: Event, native: str, at: At) -> None:
        blocks, faults = blocks_of(event.content)
        said = words_of(blocks)
        if event.id is None:
            self._sent[hash(said)] = True
        elif native == "user.message" and self._sent.pop(hash(said), False):
            return  # what was sent comes back
        at.to = "/content"
        self._blocks.faults(faults, at)
        role = "user" if native == "user.message" else "assistant"
        self._rows.messages.append((at.event, at.session, at.turn, event.id, role, None, None, said, at.pointer("")))

    def _confirmation(self, event: Event, at: At) -> None:
        name = event.tool_use_id
        if name is None or at.accepted is False or name in self._confirmed:
            return
        self._confirmed[name] = True
        word = text_of(event.result) if first(event.result) == b'"' else None
        decision = {"allow": "approve", "deny": "deny"}.get(word or "", word)
        call = self._calls.get(name)
        server, tool = (None, None) if call is None else (call.block.server_name, call.block.name)
        self._rows.approvals.append(
            (at.event, at.session, None, name, "decision", server, tool, None, decision, None, at.pointer("/result"))
        )

    def _append(
        self, native: str, kind: str, place: Place, said: Event, *, turn: str | None = None, own: bool = True
    ) -> At:
        """Append an event; `own`: it is known by its id."""
        event = self._event_number
        if event & PART_LIMIT < PART_LIMIT:
            self._event_number = event + 1
        session = place.session or self._session
        self._session = session
        where = (place.offset, place.length, place.line, place.pointer)
        when = said.processed_at or said.created_at
        name = said.id if own and _is_own(said.id) else None
        self._rows.events.append((event, session, *where, when, None, None, native, kind, turn, name))
        return At(event, session, "", "", turn, accepted=place.accepted, opaque=place.opaque)


def _agent_of(raw: Raw) -> Agent:
    if first(raw) != b"{":
        return Agent()
    try:
        return _agent(raw)
    except (msgspec.DecodeError, RecursionError):
        found = typed(_agent, _value(bytes(raw)))
        return Agent() if found is None else found[0]


def _time_of(raw: Raw) -> str | None:
    try:
        return _event(raw).processed_at
    except msgspec.DecodeError:
        return None


def _value(raw: bytes) -> Any:
    parsed = parse(raw)
    return None if isinstance(parsed, Unreadable) else parsed[0]


def _is_value(value: Any) -> bool:
    return isinstance(value, dict | list)


def _is_own(name: str | None) -> bool:
    return name is not None and name.startswith("sevt_")


def _is_url(url: str) -> bool:
    return "/v1/sessions" in url and "/agents/sessions" not in url
