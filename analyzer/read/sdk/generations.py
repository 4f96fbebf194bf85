"""Spans of type generation: what the model was sent and what it said, in the shape of chat completions or of Responses.

They hold the call ids that the spans of functions lack. A call is of the turn that its span stands in, so that an id
which a provider gives again and again names one call in each.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from analyzer.read.anymessage import said_of
from analyzer.read.cursor import Cursor
from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.ledger import Recent
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.sdk.records import Record, Span
from analyzer.read.values import ABSENT, Raw, encoded, first

_STRANGE = "what a span of type generation says is in no known shape"
_MOST_OPEN = 256  # calls of one turn that a span may be of: each span looks at all of them
_ROLES = ("assistant", "user", "system", "developer", "tool")
_json = msgspec.json.Decoder().decode


class Made(NamedTuple):
    """A call as the model made it; `turn` and `pair_id` are those that its results have, `when` its reply began."""

    turn: str | None
    pair_id: str
    item_id: str
    call_id: str | None
    name: str | None
    text: str | None
    when: str


class _Spot(NamedTuple):
    """Where a message stands, and in which span; `to` is empty where nothing can lead to it."""

    event: int
    trace: str | None
    turn: str | None
    span: str | None
    to: str
    when: str


class _Settings(msgspec.Struct, gc=False):
    tools: Raw = ABSENT
    parallel_tool_calls: bool | None = None


class Known:
    """What the traces of a run have shown so far; bounded."""

    def __init__(self) -> None:
        self.open: Recent[tuple[str | None, str | None], list[Made]] = Recent()
        """By trace and turn the calls that no span shows to be run."""
        self.made: Recent[tuple[str | None, str], list[Made]] = Recent()
        """By trace and call id every emission."""
        self.alike: Recent[tuple[str | None, str, str | None], list[Made]] = Recent()
        """The same by the arguments, too."""
        self.sent: Recent[tuple[str | None, int, int], None] = Recent()
        """Messages that a trace has shown: the digest of each, and which of several equal ones it is."""
        self.spans: Recent[tuple[str | None, str | None], None] = Recent()
        self.models: Recent[str | None, str | None] = Recent()
        self.runs: Recent[tuple[str | None, str | None], Made | None] = Recent()
        """By trace and span what an execution was of."""

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        for each in (self.open, self.made, self.alike, self.sent, self.spans, self.models, self.runs):
            each.trim()

    def emit(self, trace: str | None, made: Made) -> None:
        """Note an emission."""
        call_id = made.call_id or ""
        self.made.setdefault((trace, call_id), []).append(made)
        self.alike.setdefault((trace, call_id, made.text), []).append(made)

    def run(self, record: Record, name: str | None, text: str | None) -> Made | None:
        """The call that an execution is of, which is then not open any more: of its turn, with its arguments.

        Of several the one of the latest reply before it: tools of the replies before have run, or never will. What ran
        before a reply was asked for is none of its calls.
        """
        key = (record.trace_id, record.id)
        if key in self.runs:
            return self.runs[key]
        waiting = self.open.get((record.trace_id, record.parent_id), [])
        began = record.started_at
        named = [made for made in waiting if made.name == name and (began is None or made.when <= began)]
        alike = [made for made in named if made.text == text] or named
        found = max(alike, key=lambda made: made.when, default=None)
        if found is not None:
            waiting.remove(found)
        if record.id is not None:
            self.runs[key] = found
        return found


class Generations:
    """Appends the rows of these spans for one source."""

    def __init__(self, wire: str, rows: Rows, cursor: Cursor) -> None:
        self._wire = wire
        self._rows = rows
        self._cursor = cursor
        self.known: Known = rows.shared.setdefault(f"{wire} generations", Known())

    def take(self, record: Record, span: Span, error: str | None) -> None:
        """One span."""
        trace, turn, known = record.trace_id, record.parent_id, self.known
        kind = "notice" if error is None else "error"
        event, opaque = self._cursor.event("generation", kind, trace, turn=turn, when=record.started_at)
        if record.id is not None and (trace, record.id) in known.spans:
            return  # posted again
        self._settings(span, event, trace, opaque=opaque)
        spot = _Spot(event, trace, turn, record.id, "", record.started_at or "")
        seen: Counter[int] = Counter()
        nth: Counter[tuple[str, str | None]] = Counter()
        for to, message in _listed(span.input, "/span_data/input"):
            digest = hash(encoded(message))
            seen[digest] += 1
            key = (trace, digest, seen[digest])
            self._sent(said_of(message), nth, spot._replace(to="" if opaque else to), fresh=key not in known.sent)
            known.sent[key] = None
        said = _listed(span.output, "/span_data/output")
        for to, message in said:
            self._said(said_of(message), spot._replace(to="" if opaque else to))
        if (span.output and bytes(span.output) not in (b"null", b"[]") and not said) or any(map(_is_strange, said)):
            self._rows.faults.append((event, trace, *Fault("unknown_item", "/span_data/output", _STRANGE)))
        known.spans[trace, record.id] = None

    def _settings(self, span: Span, event: int, trace: str | None, *, opaque: bool) -> None:
        try:
            settings = msgspec.json.decode(span.model_config or b"{}", type=_Settings)
        except (msgspec.DecodeError, RecursionError):
            settings = _Settings()
        if span.model is not None and self.known.models.get(trace) != span.model:
            self.known.models[trace] = span.model
            self._rows.session_states.add(
                event=event, session=trace, model=span.model, parallel=settings.parallel_tool_calls
            )
        if first(settings.tools) == b"[":
            table = self._rows.table(bytes(settings.tools), "chat")
            to = None if opaque else "/span_data/model_config/tools"
            self._rows.showings.add(event=event, session=trace, channel="request", scope="all", table=table, pointer=to)

    def _sent(self, said: Said, nth: Counter[tuple[str, str | None]], at: _Spot, *, fresh: bool) -> None:
        """A message of the request: a copy, but for what came before the trace."""
        for call in said.calls:
            key = (at.trace, call.call_id or "")
            place = nth["call", call.call_id]
            nth["call", call.call_id] += 1
            alike = self.known.alike.get((*key, call.text)) or self.known.made.get(key, [])[-1:]
            if not alike:
                alike = [_made(call, at, f"{at.span}<{len(nth)}")]
                self.known.emit(at.trace, alike[0])
            if fresh:
                self._call(call, alike[min(place, len(alike) - 1)], at, reply=None)
        for result in said.results:
            place = nth["result", result.call_id]
            nth["result", result.call_id] += 1
            if fresh:
                self._result(result, at, place)
        if fresh and said.text is not None and not said.results:
            self._message(said, at)

    def _said(self, said: Said, at: _Spot) -> None:
        """What the model answered."""
        waiting = self.known.open.setdefault((at.trace, at.turn), [])
        for index, call in enumerate(said.calls):
            made = _made(call, at, f"{at.span}#{index}{at.to}")
            waiting.append(made)
            self.known.emit(at.trace, made)
            self._call(call, made, at, reply=at.span)
        del waiting[:-_MOST_OPEN]
        if said.text is not None:
            self._message(said, at)

    def _call(self, call: Call, made: Made, at: _Spot, *, reply: str | None) -> None:
        self._rows.call_sightings.add(
            event=at.event,
            session=at.trace,
            turn=made.turn,
            wire=self._wire,
            stage="history" if reply is None else "item",
            reply=reply,
            item_id=made.item_id,
            call_id=call.call_id,
            pair_id=made.pair_id,
            kind=call.kind,
            name=call.name,
            text=call.text,
            container=call.container,
            owed_by=call.owed_by,
            pointer=at.to and at.to + call.to,
        )

    def _result(self, result: Result, at: _Spot, place: int) -> None:
        emissions = self.known.made.get((at.trace, result.call_id or ""), [])
        made = emissions[min(place, len(emissions) - 1)] if emissions else None
        pair_id = result.call_id if made is None else made.pair_id
        self._rows.result_sightings.add(
            event=at.event,
            session=at.trace,
            turn=None if made is None else made.turn,
            wire=self._wire,
            stage="history",
            item_id=f"{pair_id}/{place}",
            call_id=result.call_id,
            pair_id=pair_id,
            name=result.name,
            success=result.success,
            error=result.error,
            text=result.text,
            container=result.container,
            pointer=at.to and at.to + result.to,
        )

    def _message(self, said: Said, at: _Spot) -> None:
        self._rows.messages.add(
            event=at.event,
            session=at.trace,
            turn=at.turn,
            role=said.role or "assistant",
            text=said.text,
            pointer=at.to and at.to + said.to,
        )


def _made(call: Call, at: _Spot, item_id: str) -> Made:
    return Made(at.turn, call.call_id or item_id, item_id, call.call_id, call.name, call.text, at.when)


def _listed(raw: Raw, to: str) -> list[tuple[str, Any]]:
    """The messages of a list, each with the pointer to it; a response stands for the items of its output."""
    found = []
    for index, each in enumerate(_json(raw) if first(raw) == b"[" else ()):
        inner = each.get("output") if isinstance(each, dict) and "role" not in each and "type" not in each else None
        if isinstance(inner, list):
            found += [(f"{to}/{index}/output/{place}", item) for place, item in enumerate(inner)]
        else:
            found.append((f"{to}/{index}", each))
    return found


def _is_strange(said: tuple[str, Any]) -> bool:
    """Whether an output is neither a message nor an item."""
    message = said[1]
    return not isinstance(message, dict) or not (message.get("role") in _ROLES or isinstance(message.get("type"), str))
