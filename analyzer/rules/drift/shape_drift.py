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
Blind spots: payloads whose schema fixes the type are judged by it instead; items of lists, members below the second
level and payloads over 4,000 bytes are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.pointer import join
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import decode, json_type
from analyzer.trace import Trace

_LONGEST = 4_000
_MOST = 60  # payloads of one tool in one session
_LEVELS = 2
_BEFORE = 2  # how often the first type must have been seen


def check(trace: Trace) -> pl.LazyFrame:
    """Members whose type switched once, of payloads that no schema was found to fit."""
    found: list[dict[str, Any]] = []
    for role, by, frame in (("arguments", "call", trace.calls), ("output", "result", trace.results)):
        fixed = trace.verdicts.lazy().filter(pl.col("role") == role, pl.col("verdict_is") == "valid").select(by)
        rows = (
            frame.lazy()
            .filter(pl.col("text").str.contains(r"^\s*\{"), pl.col("text").str.len_bytes() <= _LONGEST)
            .filter(pl.col("success").fill_null(value=True) if role == "output" else pl.lit(value=True))
            .select(by, "session", "tool", "seq", "event", "pointer", "call_id", "text")
            .join(fixed, on=by, how="anti", maintain_order="left")
            .filter(pl.len().over("session", "tool") > _BEFORE)
            .sort("session", "tool", "seq", by)
            .group_by("session", "tool", maintain_order=True)
            .head(_MOST)
            .collect()
        )
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows.iter_rows(named=True):
            groups.setdefault((row["session"], row["tool"]), []).append(row)
        for payloads in groups.values():
            found += _switches(payloads, by, role)
    return hits(found)


def _switches(payloads: list[dict[str, Any]], by: str, role: str) -> Iterator[dict[str, Any]]:
    seen: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for row in payloads:
        for where, kind in _types(decode(row["text"]), ""):
            seen.setdefault(where, []).append((kind, row))
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


def _types(value: Any, where: str, level: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and level < _LEVELS:
        for name, inner in value.items():
            if inner is None:
                continue
            place_ = join(where, name)
            kind = json_type(inner)
            yield place_, "number" if kind == "integer" else kind
            yield from _types(inner, place_, level + 1)
