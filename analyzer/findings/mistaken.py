"""The tool that may have been meant: another one advertised at the call that takes what this one refuses."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import msgspec
import polars as pl

from analyzer.contracts.verdicts.engine import Judge
from analyzer.replay.payloads import read_payload
from analyzer.trace import Trace

#: Tools that each failing payload is tried on; how many payloads of a session are, is the caller's to say.
MOST_TOOLS = 40
_NAMED = 3


def takers(failing: pl.DataFrame, trace: Trace) -> dict[int, str]:
    """By verdict, a sentence that names the tools which take its arguments; `failing` has verdict, call and text.

    Only a tool that knows every member by name counts: one that takes anything says nothing about what was meant.
    """
    asked = failing.join(
        trace.calls.select("call", "session", "tool", "seq"), on="call", how="inner", maintain_order="left"
    )
    offers = _offers(trace, asked)
    schemas = {row["schema_id"]: row for row in trace.schemas.iter_rows(named=True)}
    takes = _Taker(schemas, assert_formats=trace.settings.assert_formats)
    tables: dict[tuple[str, int, str], tuple[tuple[str, str], ...]] = {}
    known: dict[tuple[tuple[str, str], ...], dict[str, str | None]] = {}
    said = {}
    for verdict, session, tool, seq, text in asked.select("verdict", "session", "tool", "seq", "text").iter_rows():
        changes = offers.get(session, [])
        place = session, bisect_right(changes, seq, key=lambda change: change[1]), tool
        if place not in tables:
            tables[place] = tuple(each for each in _in_force(changes, seq) if each[0] != tool)[:MOST_TOOLS]
        table = tables[place]
        answers = known.setdefault(table, {})
        if text not in answers:
            if not table:
                continue
            value = read_payload(text).value
            told = isinstance(value, dict) and bool(value)
            answers[text] = _sentence([_spelled(other) for other, identity in table if told and takes(identity, value)])
        if (sentence := answers[text]) is not None:
            said[verdict] = sentence
    return said


def _offers(trace: Trace, asked: pl.DataFrame) -> dict[str, list[tuple[str, int, str | None]]]:
    """By session, every change of a tool's arguments, in order: tool, since, schema id (null: withdrawn)."""
    mine = trace.offers.filter(
        (pl.col("role") == "arguments") & pl.col("session").is_in(asked["session"].unique().implode())
    ).sort("session", "since", "tool")
    found: dict[str, list[tuple[str, int, str | None]]] = {}
    schema = pl.when(pl.col("state") == "offered").then("schema_id")
    for session, tool, since, identity in mine.select("session", "tool", "since", schema).iter_rows():
        found.setdefault(session, []).append((tool, since, identity))
    return found


def _in_force(changes: list[tuple[str, int, str | None]], seq: int) -> list[tuple[str, str]]:
    held: dict[str, str | None] = {}
    for tool, since, identity in changes:
        if since > seq:
            break
        held[tool] = identity
    return sorted((tool, identity) for tool, identity in held.items() if identity is not None)


class _Taker:
    """Which schemas take a payload; each is read once, and compiled once a payload has no member strange to it."""

    def __init__(self, schemas: dict[str, dict[str, Any]], *, assert_formats: bool) -> None:
        self._schemas = schemas
        self._assert_formats = assert_formats
        self._known: dict[str, tuple[Any, frozenset[str]]] = {}
        self._judges: dict[str, Judge] = {}

    def __call__(self, identity: str, payload: dict[str, Any]) -> bool:
        if identity not in self._known:
            schema = msgspec.json.decode(self._schemas[identity]["text"]) if identity in self._schemas else None
            members = schema.get("properties") if isinstance(schema, dict) else None
            self._known[identity] = schema, frozenset(members if isinstance(members, dict) else ())
        schema, names = self._known[identity]
        if not payload.keys() <= names:
            return False
        if identity not in self._judges:
            dialect = self._schemas[identity]["dialect"]
            self._judges[identity] = Judge(schema, dialect=dialect, assert_formats=self._assert_formats)
        judge = self._judges[identity]
        return judge.problem is None and judge.judge(payload)[0] == "valid"


def _spelled(tool: str) -> str:
    kind, server, name = [*tool.split(":", 2), "", ""][:3]
    return f"{server}{'.' if kind == 'namespace' else '/'}{name}" if server else name


def _sentence(names: list[str]) -> str | None:
    if not names:
        return None
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Another advertised tool takes these arguments: {', '.join(names[:_NAMED])}{more}."
