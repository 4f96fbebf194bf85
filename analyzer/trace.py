"""One partition of an audit: the frames of whole sessions, as the stages make them and the rules read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from analyzer import frames

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _empty(schema: pl.Schema, **more: Any) -> Any:
    # Made once, for frames do not change: thirty of them at each trace cost as much as the rules of a small log.
    return field(default_factory=cache(pl.Schema({**schema, **more}).to_frame))


def _placed(schema: pl.Schema, **more: Any) -> Any:
    """A recorded frame as the replay stage leaves it."""
    return _empty(schema, seq=pl.Int64(), **more)


@dataclass(frozen=True)
class Settings:
    """What the user may set for the rules; the defaults are those of the command line."""

    writes: frozenset[str] = frozenset()
    """Names of tools declared writing."""
    reads: frozenset[str] = frozenset()
    free_text: frozenset[str] = frozenset()
    """Names of tools whose output is text on purpose."""
    shell: frozenset[str] = frozenset()
    """Names of tools whose output speaks of errors on purpose (shell, tests, logs, search)."""
    ledger: tuple[tuple[str, str], ...] = ()
    """Ledger fields: name and JMESPath."""
    clock_skew: float = 5.0
    """Seconds that timestamps may go back."""
    retries: int = 3
    """How often the same call may fail before it is a storm."""
    waited: float = 600.0
    """Seconds that a required action may stay open."""
    assert_formats: bool = False
    max_findings: int = 500_000
    """Findings that are listed, some 1 GB; what is beyond is counted by rule."""


@dataclass(frozen=True)
class Trace:
    """All frames of one partition; `analyzer.frames` says what stands in each.

    Recorded frames carry two more columns here: `seq` (Int64, the place of their event in its session) and, in
    `events`, `copy` (String: null, or "redelivered" where the same event id came before with the same content, or the
    same record at the same time, or "reused" where the id came with other content; rows of other frames that belong to
    a redelivered event are gone).
    `call_sightings` has `call` (Int64) and `result_sightings` has `result` (Int64, null for refused posts).
    """

    settings: Settings = Settings()
    sources: pl.DataFrame = _empty(frames.SOURCES)
    events: pl.DataFrame = _placed(frames.EVENTS, order=pl.String(), copy=pl.String())
    faults: pl.DataFrame = _placed(frames.FAULTS)
    session_states: pl.DataFrame = _placed(frames.SESSION_STATES)
    turn_states: pl.DataFrame = _placed(frames.TURN_STATES)
    tables: pl.DataFrame = _empty(frames.TABLES)
    showings: pl.DataFrame = _placed(frames.SHOWINGS)
    call_sightings: pl.DataFrame = _placed(frames.CALL_SIGHTINGS, call=pl.Int64())
    result_sightings: pl.DataFrame = _placed(frames.RESULT_SIGHTINGS, result=pl.Int64())
    approvals: pl.DataFrame = _placed(frames.APPROVALS)
    gates: pl.DataFrame = _placed(frames.GATES)
    messages: pl.DataFrame = _placed(frames.MESSAGES)
    summaries: pl.DataFrame = _placed(frames.SUMMARIES)
    sessions: pl.DataFrame = _empty(frames.SESSIONS)
    turns: pl.DataFrame = _empty(frames.TURNS)
    tools: pl.DataFrame = _empty(frames.TOOLS)
    schemas: pl.DataFrame = _empty(frames.SCHEMAS)
    schema_facts: pl.DataFrame = _empty(frames.SCHEMA_FACTS)
    contracts: pl.DataFrame = _empty(frames.CONTRACTS)
    offers: pl.DataFrame = _empty(frames.OFFERS)
    calls: pl.DataFrame = _empty(frames.CALLS)
    results: pl.DataFrame = _empty(frames.RESULTS)
    verdicts: pl.DataFrame = _empty(frames.VERDICTS)
    violations: pl.DataFrame = _empty(frames.VIOLATIONS)
    retries: pl.DataFrame = _empty(frames.RETRIES)
    strays: pl.DataFrame = _empty(frames.STRAYS)
    made: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What `shared` functions have made of it."""

    def holds(self, what: str) -> bool:
        """Whether a frame has rows of a kind: `gates`, `results.name` (not null), `calls.kind=mcp|custom`."""
        name, _, rest = what.partition(".")
        frame: pl.DataFrame = getattr(self, name)
        column, _, values = rest.partition("=")
        if frame.is_empty() or not column:
            return not frame.is_empty()
        if not values:
            return frame[column].null_count() < frame.height
        return any(_has(self, name, column, value) for value in values.split("|"))

    def with_frames(self, **changed: pl.DataFrame) -> Trace:
        """A trace with some frames in the place of others."""
        return replace(self, **changed)  # type: ignore[arg-type]


def of_rows(step: Callable[Concatenate[pl.DataFrame, _P], _T]) -> Callable[Concatenate[pl.DataFrame, _P], _T]:
    """A step that makes something of the rows of its first frame, and of none always the same: that is made once.

    Most steps of most audits have no rows to work on, and Polars takes nearly as long for none as for a few.
    """
    made: dict[tuple[str, ...], _T] = {}  # frames of a session seen in windows have more columns

    @wraps(step)
    def taken(rows: pl.DataFrame, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if rows.height:
            return step(rows, *args, **kwargs)
        key = tuple(rows.columns)
        if key not in made:
            made[key] = step(rows, *args, **kwargs)
        return made[key]

    return taken


def shared(make: Callable[Concatenate[Trace, _P], _T]) -> Callable[Concatenate[Trace, _P], _T]:
    """A function of a trace whose answer is kept with the trace: several rules ask for the same."""

    @wraps(make)
    def kept(trace: Trace, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        key = (make, *args, *kwargs.items())
        if key not in trace.made:
            trace.made[key] = make(trace, *args, **kwargs)
        answer: _T = trace.made[key]
        return answer

    return kept


@shared
def _has(trace: Trace, name: str, column: str, value: str) -> bool:
    frame: pl.DataFrame = getattr(trace, name)
    return (frame[column] == value).any()
