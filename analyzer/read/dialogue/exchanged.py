"""Requests recorded together with their responses, for the wires whose requests hold the conversation so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue.requests import Dialogue
from analyzer.read.exchange import Body, Exchange, says_something, strange, unread
from analyzer.read.recorded import Recorded
from analyzer.read.rows import Rows
from analyzer.read.values import first

_REFUSED = 400
_MOST = 1 << 16  # responses that are remembered
_END = 512  # bytes of a request that are compared at either end, beside the length of all
_Key = tuple[object, int, int, int]
R = TypeVar("R", bound=Recorded)
P = TypeVar("P")


class Exchanged:
    """Appends exchanges for the adapter of one source; `end` closes a stream that is open."""

    def __init__(self, rows: Rows, dialogue: Dialogue, end: Callable[[], None]) -> None:
        self._rows = rows
        self._dialogue = dialogue
        self._end = end
        self._sessions: dict[_Key | None, str | None] = rows.shared.setdefault(f"exchanges {dialogue.wire}", {})
        """The sessions of the exchanges of a run, by what tells a copy of one: a log that grew may be there twice."""

    def append(
        self,
        exchange: Exchange[R],
        place: Place,
        decoding: Decoding[R],
        *,
        asked: R | None,
        ask: Callable[[R, Place], object],
        take: Callable[[R, bytes, Place], object],
        pieces: Callable[[tuple[bytes, ...]], Sequence[P] | None] = lambda _: None,
        streamed: Callable[[Sequence[P], Place], object] = lambda *_: None,
    ) -> None:
        """Append a request, if it could be read, and what came back; a streamed one may be `pieces`, read at once."""
        request, response = exchange.request, exchange.response
        place = place if exchange.when is None else msgspec.structs.replace(place, when=exchange.when)
        refused = exchange.status is not None and exchange.status >= _REFUSED
        stream = pieces(response.frames) if response is not None and response.stream and not refused else None
        faults = unread(request, response if stream is None else None)
        self._rows.faults += [(place.event, None, *fault) for fault in faults]
        self._end()
        self._dialogue.forget()
        key = _key(place, request, response)
        if response is not None and key in self._sessions:
            # Written again, as where a collector tried twice: no other session that began alike.
            self._dialogue.move(_of(place, request or response))
            self._dialogue.cursor.event("request", "request", self._sessions[key])
            return
        before = self._dialogue.cursor.next
        if asked is not None and request is not None:
            # Some hosts refuse what the model wrote, and show it.
            wrote = response is not None and any(b'"failed_generation"' in frame for frame in response.frames)
            self._dialogue.unseen = refused and not wrote
            ask(asked, _of(place, request))
            self._dialogue.unseen = False
        if response is not None:
            inside = _of(place, response)
            taken = bool(stream) or refused or bool(faults)
            if stream:
                streamed(stream, inside)
            for found in decoding.values(response, response.frames) if stream is None else ():
                if not refused or first(found.record.error) == b"{":
                    taken |= bool(take(found.record, found.text, inside))
                    refused = False
            if not taken and says_something(response):
                self._rows.faults.append((place.event, self._dialogue.session, *strange(response)))
        if refused:
            self._dialogue.fail(place)
        self._end()
        if self._dialogue.cursor.next == before:
            self._dialogue.move(place)
            self._dialogue.cursor.event("request", "request", None)
        if key is not None:
            self._sessions[key] = self._dialogue.session
        if len(self._sessions) > _MOST:
            del self._sessions[next(iter(self._sessions))]


def _key(place: Place, request: Body[Any] | None, response: Body[Any] | None) -> _Key | None:
    """What a copy of an exchange would share with it; None without a time or anything that came back."""
    if place.when is None or response is None or not says_something(response):
        return None
    ends = () if request is None else (request.frames[0][:_END], request.frames[-1][-_END:])
    return place.when, place.length, hash(response.frames), hash(ends)


def _of(place: Place, body: Body[Any]) -> Place:
    pointer = place.pointer + body.pointer
    return Place(place.event, place.offset, place.length, place.line, pointer, place.when, body.opaque)
