"""Spans of exported traces: turns, agents, what models said and the tools that were run."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from analyzer.read.cursor import Cursor
from analyzer.read.members import held
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


class _Run(NamedTuple):
    """A tool that was run."""

    record: Record
    name: str | None
    event: int
    error: str | None
    opaque: bool
    server: str | None
    text: str | None
    container: str
    told: str
    output: str | None


class _Failure(msgspec.Struct, gc=False):
    message: str | None = None


_mcp = msgspec.json.Decoder(_Mcp).decode
_turn = msgspec.json.Decoder(_Turn).decode
_failure = msgspec.json.Decoder(_Failure).decode


class Spans:
    """Appends the rows of the spans of one source."""

    def __init__(self, wire: str, rows: Rows, cursor: Cursor) -> None:
        self._wire = wire
        self._rows = rows
        self._cursor = cursor
        self._generations = Generations(wire, rows, cursor)
        self._waiting: list[_Run] = []

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
            self._waiting.append(_run_of(record, span, event, error, opaque=opaque))
            return
        if native == "generation":
            self._generations.take(record, span, error)
            return
        told = held(_turn, span.data, _Turn())[0]
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

    def forget(self, event: int) -> None:
        """Drop what was read of the record that begins with this event: it is read once more."""
        while self._waiting and self._waiting[-1].event >= event:
            self._waiting.pop()

    def end(self) -> None:
        """The block is read: append the tools that were run, which may stand before what the model said."""
        for run in self._waiting:
            self._executed(run)
        self._waiting = []

    def _executed(self, run: _Run) -> None:
        """A tool that was run: the arguments it was given and what it returned.

        The span has no id but its own; it ran a call of the model's that its turn has and that is still open.
        """
        record, name, text = run.record, run.name, run.text
        made = self._generations.known.run(record, name, text)
        item_id, pair_id = (record.id, record.id) if made is None else (made.item_id, made.pair_id)
        if made is not None and run.told == "truncated":
            text = None  # the model's side has all of it
        where = ("", "") if run.opaque else ("/span_data/input", "/span_data/output")
        self._rows.call_sightings.add(
            event=run.event,
            session=record.trace_id,
            turn=record.parent_id,
            wire=self._wire,
            stage="executor",
            item_id=item_id,
            call_id=None if made is None else made.call_id,
            pair_id=pair_id,
            kind="function" if run.server is None else "mcp",
            server=run.server,
            name=name,
            text=text,
            container=run.container,
            status=run.told,
            owed_by="nobody",
            pointer=where[0],
        )
        cut = run.output is not None and run.output.endswith(_TRUNCATED)
        self._rows.result_sightings.add(
            event=run.event,
            session=record.trace_id,
            turn=record.parent_id,
            wire=self._wire,
            stage="executor",
            item_id=record.id,
            call_id=None if made is None else made.call_id,
            pair_id=pair_id,
            name=name,
            success=run.error is None,
            status="truncated" if cut else "completed" if run.error is None else "failed",
            error=run.error,
            text=run.output,
            container="null" if run.output is None else "text",
            pointer=where[1],
        )


def _run_of(record: Record, span: Span, event: int, error: str | None, *, opaque: bool) -> _Run:
    """What a span of a function says."""
    server = held(_mcp, span.mcp_data, _Mcp())[0].server
    text, container = arguments(span.input)
    told = "completed" if error is None else "failed"
    if text is None or container == "null":
        text, told = None, "redacted"
    elif text.endswith(_TRUNCATED):
        told = "truncated"
    return _Run(record, span.name, event, error, opaque, server, text, container, told, text_of(span.output))


def _error(record: Record) -> str | None:
    """Why a span failed, if it did."""
    error = text_of(record.error)
    if first(record.error) == b"{":
        return held(_failure, record.error, _Failure())[0].message or error
    return error
