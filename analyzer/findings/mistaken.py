"""The tool that may have been meant: another one advertised at the call that takes what this one refuses."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from analyzer.contracts.engine import Judge
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
    judges: dict[str, tuple[dict[str, Any], Judge] | None] = {}
    known: dict[tuple[tuple[str, str], ...], dict[str, str | None]] = {}
    said = {}
    for verdict, session, tool, seq, text in asked.select("verdict", "session", "tool", "seq", "text").iter_rows():
        table = tuple(each for each in _in_force(offers.get(session, []), seq) if each[0] != tool)[:MOST_TOOLS]
        answers = known.setdefault(table, {})
        if text not in answers:
            if not table:
                continue
            value = read_payload(text).value
            names = []
            if isinstance(value, dict) and value:
                for other, identity in table:
                    if identity not in judges:
                        judges[identity] = _judge(schemas.get(identity), assert_formats=trace.settings.assert_formats)
                    judge = judges[identity]
                    if judge is not None and value.keys() <= judge[0].keys() and judge[1].judge(value)[0] == "valid":
                        names.append(_spelled(other))
            answers[text] = _sentence(names)
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


def _judge(schema: dict[str, Any] | None, *, assert_formats: bool) -> tuple[dict[str, Any], Judge] | None:
    """The members that a schema knows by name, and what judges by it; None where it names none."""
    value = msgspec.json.decode(schema["text"]) if schema is not None else None
    members = value.get("properties") if isinstance(value, dict) else None
    if schema is None or not isinstance(members, dict) or not members:
        return None
    judge = Judge(value, dialect=schema["dialect"], assert_formats=assert_formats)
    return (members, judge) if judge.problem is None else None


def _spelled(tool: str) -> str:
    kind, server, name = [*tool.split(":", 2), "", ""][:3]
    return f"{server}{'.' if kind == 'namespace' else '/'}{name}" if server else name


def _sentence(names: list[str]) -> str | None:
    if not names:
        return None
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Another advertised tool takes these arguments: {', '.join(names[:_NAMED])}{more}."
