"""A member of a tool's payloads came to have another type while the session ran.

What it says: the first calls all had one JSON type at this place and all later ones another; null and absent count as
no type, and `1` and `1.5` as one.
Why it matters: whoever reads the member was made for the first type.
Bad:
    tool find {"type":"object","properties":{}}
    call c1 find
    result c1 ok {"total":12}
    call c2 find
    result c2 ok {"total":9}
    call c3 find
    result c3 ok {"total":"7.50 EUR"}
Good:
    tool find {"type":"object","properties":{}}
    call c1 find
    result c1 ok {"total":12}
    call c2 find
    result c2 ok {"total":9.5}
    call c3 find
    result c3 ok {"total":null}
Blind spots: of a payload that keeps its schema only the members are looked at that the schema declares without a type.
Items of lists, members below the second level and payloads over 4,000 bytes are not looked at. A session that is judged
in windows is seen window by window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.pointer import join, parts
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import decode, json_type
from analyzer.trace import Trace, of_rows

_LONGEST = 4_000
_MEMBER = "^/properties/[^/]+(?:/properties/[^/]+)?$"
_MOST = 60  # payloads of one tool in one session
_BEFORE = 2  # how often the first type must have been seen


def check(trace: Trace) -> pl.DataFrame:
    """Members whose type switched once, where no schema that the payload keeps fixes it."""
    found: list[dict[str, Any]] = []
    free = _free(trace)
    for role, by, frame in (("arguments", "call", trace.calls), ("output", "result", trace.results)):
        for payloads in _of_tools(_loose(trace, role, by, frame, list(free)), role, by):
            values = [decode(text) for text in payloads["text"]]
            if not _steady(values):
                found += _switches(payloads.to_dicts(), values, by, role, free)
    return hits(found)


@of_rows
def _of_tools(loose: pl.DataFrame, role: str, by: str) -> list[pl.DataFrame]:
    """The objects among the payloads, tool by tool, where there are enough of one tool in a session."""
    objects = loose.filter(
        pl.col("text").str.contains(r"^\s*\{"),
        pl.col("text").str.len_bytes() <= _LONGEST,
        pl.col("success").fill_null(value=True) if role == "output" else pl.lit(value=True),
    ).select(by, "session", "tool", "seq", "event", "pointer", "call_id", "text", "kept")
    return (
        objects.filter(pl.len().over("session", "tool") > _BEFORE)
        .sort("session", "tool", "seq", by)
        .group_by("session", "tool", maintain_order=True)
        .head(_MOST)
        .partition_by("session", "tool", maintain_order=True)
    )


def _free(trace: Trace) -> dict[str, set[str]]:
    """By schema, the members of the two levels that it declares without a type."""
    if not trace.holds("schema_facts.fact=schema_vacuous"):
        return {}
    places = trace.schema_facts.filter(pl.col("fact") == "schema_vacuous", pl.col("pointer").str.contains(_MEMBER))
    free: dict[str, set[str]] = {}
    for schema, pointer in places.select("schema_id", "pointer").iter_rows():
        steps = parts(pointer)[1::2]
        free.setdefault(schema, set()).add(join("", *steps))
    return free


def _loose(trace: Trace, role: str, by: str, frame: pl.DataFrame, free: list[str]) -> pl.DataFrame:
    """The payloads that keep no schema, or one with free members, which is then named in `kept`."""
    verdicts = trace.verdicts.filter(pl.col("role") == role, pl.col("verdict_is") == "valid", pl.col(by).is_not_null())
    fixed = (verdicts.filter(~pl.col("schema_id").is_in(free)) if free else verdicts)[by]
    loose = frame.filter(~pl.col(by).is_in(fixed.implode()))
    if not free:
        return loose.with_columns(kept=pl.lit(None, pl.String))
    kept = verdicts.select(by, kept="schema_id").unique(by, keep="first", maintain_order=True)
    return loose.join(kept, on=by, how="left", maintain_order="left")


def _switches(
    payloads: list[dict[str, Any]], values: list[Any], by: str, role: str, free: dict[str, set[str]]
) -> Iterator[dict[str, Any]]:
    seen: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for row, value in zip(payloads, values, strict=True):
        for path, inner in _members(value):
            where = join(join("", path[0]), path[1]) if isinstance(path, tuple) else join("", path)
            if row["kept"] is not None and where not in free[row["kept"]]:
                continue
            kind = json_type(inner)
            seen.setdefault(where, []).append(("number" if kind == "integer" else kind, row))
    for where in sorted(seen):
        kinds = [kind for kind, _ in seen[where]]
        if len(set(kinds)) != 2:
            continue
        at = next(index for index, kind in enumerate(kinds) if kind != kinds[0])
        if at < _BEFORE or set(kinds[at:]) != {kinds[at]}:
            continue
        (old, before), (new, row) = seen[where][at - 1], seen[where][at]
        yield {
            by: row[by],
            "message": f"{where} was {old} {at} times and is {new} from here on ({role}).",
            "hint": "Keep the type, or say in the schema that there are two.",
            "keyword": role,
            "instance_pointer": where,
            "related": [place(before["event"], before["pointer"], "had the first type", before["call_id"])],
        }


def _steady(values: list[Any]) -> bool:
    """Whether no member changes its type: so it is nearly always, and this is quickly told."""
    kinds: dict[Any, type] = {}
    for value in values:
        for where, inner in _members(value):
            kind = float if type(inner) is int else type(inner)
            if kinds.setdefault(where, kind) is not kind:
                return False
    return True


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    """The members on both levels that are not null."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if inner is not None:
                yield name, inner
                if isinstance(inner, dict):
                    yield from (((name, below), leaf) for below, leaf in inner.items() if leaf is not None)
