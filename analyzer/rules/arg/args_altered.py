"""The arguments of one call differ between two places that show it.

What it says: the item, the required action, the stream or the executor's log show the same call with other values;
the message names the member and both values. Order of members, `1` for `1.0`, null for an absent member, and the
schema's default for one are no difference.
Why it matters: what was judged or approved is then not what ran.
Bad:
    tool pay {"type":"object","properties":{"to":{"type":"string"},"cents":{"type":"integer"}}}
    item c1 pay {"to":"a-7","cents":100}
    action c1 pay {"to":"a-7","cents":10000}
    result c1 ok moved
Good:
    tool pay {"type":"object","properties":{"to":{"type":"string"},"cents":{"type":"number"}}}
    item c1 pay {"to":"a-7","cents":100}
    action c1 pay {"cents":100.0,"to":"a-7"}
    result c1 ok moved
Blind spots: a recording that shows a call once cannot differ. Approvals are compared by approval-mismatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from analyzer.masking import masked
from analyzer.pointer import join, parts
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import NO_JSON, decode, layers, short
from analyzer.trace import Trace

_STAGES = {
    "item": "item",
    "done": "finished item",
    "action": "required action",
    "stream": "stream",
    "executor": "executor",
}
_ABSENT = object()


def check(trace: Trace) -> pl.DataFrame:
    """Calls whose sightings hold values that differ."""
    several = trace.calls.filter(pl.col("copies") > 1, pl.col("kind") != "custom").select("call", "call_id")
    if several.is_empty():
        return hits(())
    shown = (
        trace.call_sightings.filter(pl.col("call").is_in(several["call"].implode()))
        .filter(pl.col("stage") != "approval", pl.col("text").str.contains(r"\S"))
        .join(several, on="call", suffix="_")
        .sort("call", "seq", "event", "pointer")
        .unique(["call", "text"], keep="first", maintain_order=True)
        .select("call", "call_id", "stage", "status", "event", "pointer", "text")
    )
    by_call: dict[int, list[dict[str, Any]]] = {}
    for row in shown.iter_rows(named=True):
        by_call.setdefault(row["call"], []).append(row)
    schemas = _schemas(trace, by_call)
    return hits(hit for call, rows in by_call.items() if (hit := _altered(rows, schemas.get(call))) is not None)


def _schemas(trace: Trace, calls: Iterable[int]) -> dict[int, str]:
    """The text of the advertised schema of those calls that have one with a default in it."""
    mine = pl.Series(list(calls), dtype=pl.Int64)
    judged = trace.verdicts.filter(
        pl.col("call").is_in(mine.implode()), pl.col("role") == "arguments", pl.col("side") == "advertised"
    )
    texts = trace.schemas.filter(pl.col("text").str.contains('"default":', literal=True)).select("schema_id", "text")
    return dict(judged.select("call", "schema_id").join(texts, on="schema_id").select("call", "text").iter_rows())


def _altered(rows: list[dict[str, Any]], schema: str | None) -> dict[str, Any] | None:
    """The first sighting that differs from the first one, told by its first differing members."""
    values = [(row, layers(row["text"])) for row in rows]
    # What a stream has shown so far is no copy.
    whole = [(row, value) for row, (count, value) in values if count or row["status"] not in ("in_progress", None)]
    first, kept = whole[0] if whole else (None, None)
    if first is None:
        return None
    for row, value in whole[1:]:
        found = [each for each in _differences(kept, value, "") if schema is None or not _filled_in(schema, *each)]
        if found:
            names = [_STAGES.get(each["stage"], each["stage"]) for each in (first, row)]
            said = "; ".join(
                f"{where or 'the whole'} is {_said(where, old)} in the {names[0]}"
                f" and {_said(where, new)} in the {names[1]}"
                for where, old, new in found[:3]
            )
            return {
                "call": row["call"],
                "event": row["event"],
                "pointer": row["pointer"],
                "message": f"The same call is shown with other arguments: {said}.",
                "hint": "Find what rewrites arguments between the model and the executor; run only what was judged.",
                "keyword": "altered",
                "instance_pointer": found[0][0],
                "related": [place(first["event"], first["pointer"], "first shown", first["call_id"])],
            }
    return None


def _differences(old: Any, new: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            left, right = old.get(name), new.get(name)
            if left is None and right is None:
                continue
            if name in old and name in new:
                yield from _differences(left, right, join(where, name))
            elif left is not None or right is not None:
                yield join(where, name), old.get(name, _ABSENT), new.get(name, _ABSENT)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from _differences(left, right, join(where, index))
    elif isinstance(old, bool) is not isinstance(new, bool) or old != new:
        yield where, old, new


def _filled_in(schema: str, where: str, old: Any, new: Any) -> bool:
    """Whether a member that one showing leaves out is in the other as its schema's default."""
    if (old is _ABSENT) is (new is _ABSENT):
        return False
    place = decode(schema)
    for step in parts(where):
        below = place.get("properties") if isinstance(place, dict) else None
        place = below.get(step) if isinstance(below, dict) else place.get("items") if isinstance(place, dict) else None
    return (
        isinstance(place, dict)
        and "default" in place
        and not list(_differences(place["default"], new if old is _ABSENT else old, ""))
    )


def _said(where: str, value: Any) -> str:
    if value is _ABSENT or value is NO_JSON:
        return "absent" if value is _ABSENT else "not JSON"
    return short(next(iter(masked({(parts(where) or [""])[-1]: value}).values())), 40)
