"""Spans of exported traces: turns, agents, what models said and the tools that were run."""

from __future__ import annotations

import msgspec

from analyzer.read.openai.cursor import Cursor
from analyzer.read.rows import Rows
from analyzer.read.sdk.generations import Generations
from analyzer.read.sdk.records import Record, Span
from analyzer.read.values import arguments, first, text_of

_TRUNCATED = "... [truncated]"


class _Turn(msgspec.Struct, gc=False):
    sdk_span_type: str | None = None
    agent_name: str | None = None


class _Mcp(msgspec.Struct, gc=False):
    server: str | None = None


class _Failure(msgspec.Struct, gc=False):
    message: str | None = None


class Spans:
    """Appends the rows of the spans of one source."""

    def __init__(self, wire: str, rows: Rows, cursor: Cursor) -> None:
        self._wire = wire
        self._rows = rows
        self._cursor = cursor
        self._generations = Generations(wire, rows, cursor)
        self._waiting: list[tuple[Record, Span, int, bool]] = []

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._generations.known.trim()

    def take(self, record: Record) -> None:
        """One span."""
        span = record.span_data or Span()
        native, session, turn = span.type or "span", record.trace_id, record.parent_id
        error = _error(record)
        if native == "function":
            event, opaque = self._cursor.event(native, "item", session, turn=turn, when=record.started_at)
            self._waiting.append((record, span, event, opaque))
            return
        if native == "generation":
            self._generations.take(record, span, error)
            return
        told = msgspec.json.decode(span.data, type=_Turn) if first(span.data) == b"{" else _Turn()
        kind = "turn" if told.sdk_span_type == "turn" else "notice"
        event, _ = self._cursor.event(
            native, kind, session, turn=record.id if kind == "turn" else None, when=record.started_at
        )
        if kind == "turn":
            status = "completed" if error is None else "failed"
            self._rows.turn_states.add(
                event=event, session=session, turn=record.id, agent=told.agent_name, status=status, error=error
            )
        elif native == "agent":
            self._rows.session_states.add(event=event, session=session, agent_name=span.name)

    def end(self) -> None:
        """The block is read: append the tools that were run, which may stand before what the model said."""
        for record, span, event, opaque in self._waiting:
            self._executed(record, span, event, _error(record), opaque=opaque)
        self._waiting = []

    def _executed(self, record: Record, span: Span, event: int, error: str | None, *, opaque: bool) -> None:
        """A tool that was run: the arguments it was given and what it returned.

        The span has no id but its own; it ran a call of the model's that its turn has and that is still open.
        """
        session, turn = record.trace_id, record.parent_id
        server = msgspec.json.decode(span.mcp_data, type=_Mcp).server if first(span.mcp_data) == b"{" else None
        text, container = arguments(span.input)
        status = "completed" if error is None else "failed"
        if text is None or container == "null":
            text, told = None, "redacted"
        else:
            told = "truncated" if text.endswith(_TRUNCATED) else status
        where = ("", "") if opaque else ("/span_data/input", "/span_data/output")
        made = self._generations.known.run(record, span.name, text)
        item_id, pair_id = (record.id, record.id) if made is None else (made.item_id, made.pair_id)
        if made is not None and told == "truncated":
            text = None  # the model's side has all of it
        self._rows.call_sightings.add(
            event=event,
            session=session,
            turn=turn,
            wire=self._wire,
            stage="executor",
            item_id=item_id,
            call_id=None if made is None else made.call_id,
            pair_id=pair_id,
            kind="function" if server is None else "mcp",
            server=server,
            name=span.name,
            text=text,
            container=container,
            status=told,
            owed_by="nobody",
            pointer=where[0],
        )
        output = text_of(span.output)
        cut = output is not None and output.endswith(_TRUNCATED)
        self._rows.result_sightings.add(
            event=event,
            session=session,
            turn=turn,
            wire=self._wire,
            stage="executor",
            item_id=record.id,
            call_id=None if made is None else made.call_id,
            pair_id=pair_id,
            name=span.name,
            success=error is None,
            status="truncated" if cut else status,
            error=error,
            text=output,
            container="null" if output is None else "text",
            pointer=where[1],
        )


def _error(record: Record) -> str | None:
    """Why a span failed, if it did."""
    error = text_of(record.error)
    if first(record.error) == b"{":
        return msgspec.json.decode(record.error, type=_Failure).message or error
    return error
