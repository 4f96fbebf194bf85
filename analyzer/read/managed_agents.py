"""Anthropic Managed Agents: session events as streamed, listed or sent, session objects, and recorders' lines of them.

What the client sends has no id; the stream gives it back with one. An update of the agent holds from the next time the
session runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.read.adapter import RecordAdapter
from analyzer.read.claude.events import Event, event_of, is_event, is_url, knows, value_of
from analyzer.read.claude.sessions import Place, Sessions
from analyzer.read.cursor import Place as Where
from analyzer.read.decoding import Decoding
from analyzer.read.exchange import STRANGE, exchange_in, says_something, unread
from analyzer.read.recover import Fault, typed
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first, text_of

_REFUSED = 400

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
        self._records = Decoding(source, rows, _raw, _is_value, session=lambda: self._sessions.session)
        self._sessions = Sessions(self.name, rows)
        self._memories = (self._sessions,)

    knows = staticmethod(knows)

    def _take(self, record: Raw, raw: bytes, at: Where) -> bool:
        del raw
        self._sessions.number = at.event
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
            event = event_of(raw)
        except (msgspec.DecodeError, RecursionError):
            value = value_of(bytes(raw))
            found = typed(event_of, value) if knows(value) else None
            if found is None:
                return False
            event, faults = found
        number = self._sessions.number
        if not self._taken(event, raw, place):
            return False
        self._rows.faults += [(number, self._sessions.session, *fault) for fault in faults]
        return True

    def _line(self, raw: Raw, place: Place) -> bool:
        """A recorder's line: the name of a client method, and what it took or gave."""
        try:
            parts = _raws(raw)
        except msgspec.DecodeError:
            return False
        method = (text_of(parts[0]) if len(parts) == 2 else None) or ""
        if not method.startswith("client."):
            return False
        payload, way = parts[1], f"{place.pointer}/1"
        if first(payload) == b"[":
            inner = _raws(payload)
            if len(inner) == 2 and first(inner[0]) == b'"':
                return self._inside(inner[1], replace(place, pointer=f"{way}/1", session=text_of(inner[0])))
            return False
        return self._inside(payload, replace(place, pointer=way, begins=method.endswith(".sessions.create")))

    def _taken(self, event: Event, raw: Raw, place: Place) -> bool:
        native = event.type
        if event.session_id is not None:
            place = replace(place, session=event.session_id)
        if native == "session" and event.id is not None:
            self._sessions.snapshot(event, place)
            return True
        if native is not None and is_event(event):
            self._sessions.take(event, native, place)
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
        if exchange is None or not is_url(exchange.url):
            return False
        named = exchange.url.partition("/v1/sessions/")[2].partition("?")[0].partition("/")[0]
        accepted = None if exchange.status is None else exchange.status < _REFUSED
        number, taken = self._sessions.number, False
        faults = unread(exchange.request, exchange.response)
        for body, own in ((exchange.request, accepted), (exchange.response, None)):
            any_taken = False
            for frame in () if body is None else body.frames:
                assert body is not None
                where = "" if body.opaque else place.pointer + body.pointer
                inner = replace(
                    place,
                    session=named or place.session,
                    accepted=own,
                    opaque=body.opaque,
                    pointer=where,
                    begins=not named and exchange.request is not None,
                )
                any_taken |= self._inside(Raw(frame), inner)
            taken |= any_taken
        if not (any_taken or faults or accepted is False) and says_something(exchange.response):
            faults = [STRANGE]
        self._rows.faults += [(number, self._sessions.session, *fault) for fault in faults]
        if not taken:
            self._sessions.append("request", "request", replace(place, session=named or None), Event())
        return True


def _time_of(raw: Raw) -> str | None:
    try:
        return event_of(raw).processed_at
    except msgspec.DecodeError:
        return None


def _is_value(value: Any) -> bool:
    return isinstance(value, dict | list)
