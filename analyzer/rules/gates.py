"""Which call a host's gate record is about."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from analyzer.rules.order import source_of
from analyzer.trace import Trace, shared


class _Call(NamedTuple):
    """A call as gates see it; the greatest is the one meant."""

    begun: int
    call: int
    answered: int | None


class _Line:
    """Calls under one name, in their order; gates ask for the latest of them, each at a later place than the last."""

    def __init__(self) -> None:
        self._coming: deque[_Call] = deque()
        self._begun: list[_Call] = []

    def put(self, call: _Call) -> None:
        self._coming.append(call)

    def latest(self, seq: int, *, waiting: bool) -> _Call | None:
        """The last that has begun at `seq`; with `waiting` the last that is not answered then."""
        while self._coming and self._coming[0].begun <= seq:
            self._begun.append(self._coming.popleft())
        while waiting and self._begun and (answered := self._begun[-1].answered) is not None and answered <= seq:
            self._begun.pop()
        return self._begun[-1] if self._begun else None

    def last(self) -> _Call:
        return self._coming[-1] if self._coming else self._begun[-1]


_ANY = "\0"  # the turn under which the calls of all turns stand
_Lines = dict[tuple[int, str | None], _Line]  # by file and turn


@shared
def numbered_gates(trace: Trace) -> pl.DataFrame:
    """GATES with `seq`, in order, numbered in `gate`."""
    return trace.gates.sort("session", "seq", "event", "pointer").with_row_index("gate")


@shared
def gated(trace: Trace) -> pl.DataFrame:
    """The gate records with the call each is about: the one it names, else the latest of its tool that waits.

    A record of another file than its call's stands at the end of the session, whenever it was written: it is about the
    call it names, else about the only one of its tool. `ordered` says that its place tells when the gate was asked.
    """
    answered = trace.results.select("result", answered="seq")
    calls = trace.calls.select(
        *("session", "call", "name", "outcome", "result"),
        its_id="call_id",
        its_turn="turn",
        of="event",
        at="pointer",
        begun="seq",
    ).join(answered, on="result", how="left", maintain_order="left")
    gates = numbered_gates(trace)
    picked = pl.DataFrame(_picked(gates, calls), schema={"gate": gates.schema["gate"], "call": pl.Int64}, orient="row")
    return (
        gates.join(picked, on="gate", maintain_order="left")
        .join(calls.drop("session"), on="call", how="left", maintain_order="left")
        .with_columns(ordered=source_of("event") == source_of("of"))
    )


def _picked(gates: pl.DataFrame, calls: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """The number of each gate that is about a call, and the call."""
    lines: dict[tuple[str | None, bool, str], _Lines] = {}
    only: dict[tuple[str | None, str], int | None] = {}  # None where a tool has several calls
    placed = calls.with_columns(source=source_of("of")).sort("begun", "call")
    columns = ("session", "its_id", "name", "begun", "call", "answered", "source", "its_turn")
    for session, call_id, name, begun, call, answered, source, turn in placed.select(columns).iter_rows():
        only[session, name] = None if (session, name) in only else call
        for named, key in ((True, call_id), (False, name)):
            of_key = lines.setdefault((session, named, key), {}) if key is not None else {}
            for each in (turn, _ANY):
                of_key.setdefault((source, each), _Line()).put(_Call(begun, call, answered))
    asked = gates.select("gate", "session", "call_id", "check", "seq", "turn", source=source_of("event"))
    for gate, session, call_id, check, seq, turn, source in asked.iter_rows():
        named = call_id is not None
        of_key = lines.get((session, named, call_id if named else check), {})
        call = _meant(of_key, (turn, None), source, seq, named=named) if turn is not None else None
        call = call or _meant(of_key, (_ANY,), source, seq, named=named)
        if call is not None:
            yield gate, call.call
        elif not named and (source, _ANY) not in of_key and (alone := only.get((session, check))) is not None:
            yield gate, alone


def _meant(lines: _Lines, turns: tuple[str | None, ...], source: int, seq: int, *, named: bool) -> _Call | None:
    """The latest call of these turns: of the gate's own file one that has begun, of another whatever is named."""
    here = (lines[source, turn].latest(seq, waiting=not named) for turn in turns if (source, turn) in lines)
    found = [call for call in here if call is not None]
    found += [line.last() for (file, turn), line in lines.items() if named and file != source and turn in turns]
    return max(found, key=lambda call: call[:2], default=None)
