"""Traces made by hand, for what no Agents API log can show: rows as dictionaries, what they leave out is null."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer import frames
from analyzer.trace import Settings, Trace

Row = dict[str, Any]
_ADDED: dict[str, dict[str, Any]] = {
    **{name: {"seq": pl.Int64()} for name in frames.RECORDED if name != "tables"},
    "events": {"seq": pl.Int64(), "copy": pl.String()},
    "call_sightings": {"seq": pl.Int64(), "call": pl.Int64()},
    "result_sightings": {"seq": pl.Int64(), "result": pl.Int64()},
}


def trace(settings: Settings | None = None, /, **rows: list[Row]) -> Trace:
    """A trace of these rows by frame name; `session` is s1 where a row does not say."""
    given = {name: _frame(name, each) for name, each in rows.items()}
    empty = {name: _frame(name, []) for name in _ADDED if name not in rows}
    return Trace(settings=settings or Settings()).with_frames(**given, **empty)


def hits(check: Any, made: Trace) -> list[Row]:
    """What a rule says of a trace, as rows with the columns it gave; fails where a column is none of HITS."""
    found = check(made)
    assert {name: dtype for name, dtype in found.schema.items() if frames.HITS.get(name) != dtype} == {}
    return found.to_dicts()  # type: ignore[no-any-return]


def _frame(name: str, rows: list[Row]) -> pl.DataFrame:
    schema = {**getattr(frames, name.upper()), **_ADDED.get(name, {})}
    unknown = {column for row in rows for column in row} - set(schema)
    assert not unknown, f"{name} has no {sorted(unknown)}"
    default: Row = {"session": "s1"} if "session" in schema else {}
    return pl.DataFrame([{**dict.fromkeys(schema), **default, **row} for row in rows], schema=schema)
