"""Members that are strings and hold the value that their schema wants: told for arguments and for outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl

from analyzer.contracts import dialects
from analyzer.pointer import parent, parts, resolve
from analyzer.rules.failures import refused
from analyzer.rules.payloads import NO_JSON, decode, json_type, layers, short
from analyzer.trace import Settings, Trace

#: Strings that stand for a missing value in some language.
_NOTHING = ("None", "NaN", "nan", "null", "undefined", "nil", "")

_TOLD = 3  # members that a message names


class Stringified(NamedTuple):
    """One payload of which every failure is such a string."""

    row: int  # the call or the result
    verdict: int
    pointer: str  # of the first member
    words: str
    members: tuple[str, ...]  # their pointers


def stringified(trace: Trace, role: str, *, nothing: bool = False, kept: bool = False) -> Iterator[Stringified]:
    """Invalid payloads that strings explain; with `nothing` words for a missing value count where null is allowed.

    With `kept` the payload has to keep its schema once the strings are decoded.
    """
    if not trace.holds("violations"):
        return
    # A payload is a candidate only where a wanted type was missed by a string.
    missed = trace.violations.filter(
        pl.col("keyword").is_in(["type", "anyOf", "oneOf"]), pl.col("actual").str.starts_with('"')
    )
    if missed.is_empty():
        return
    by, payloads = ("call", trace.calls) if role == "arguments" else ("result", trace.results)
    wrong = refused(trace, role).select("verdict", "schema_id", row=by)
    rows = (
        trace.violations.filter(pl.col("verdict").is_in(missed["verdict"].unique().implode()))
        .join(wrong, on="verdict")
        .join(payloads.select("text", row=by), on="row")
        .join(trace.schemas.select("schema_id", "dialect", schema="text"), on="schema_id", how="left")
        .sort("verdict", "position")
    )
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        groups.setdefault(row["verdict"], []).append(row)
    judges: dict[str, Callable[[object], bool]] = {}
    for group in groups.values():
        found = _explain(group, nothing=nothing)
        if found is not None and (not kept or _keeps(group[0], found.members, trace.settings, judges)):
            yield found


def _keeps(
    row: dict[str, Any], members: Iterable[str], settings: Settings, judges: dict[str, Callable[[object], bool]]
) -> bool:
    """Whether the payload keeps its schema where these members are what their strings hold."""
    if row["schema"] is None:
        return True
    if row["schema_id"] not in judges:
        from analyzer.contracts.verdicts.engine import Judge  # few audits have such a payload

        dialect = row["dialect"] or dialects.DEFAULT
        judge = Judge(decode(row["schema"]), dialect=dialect, assert_formats=settings.assert_formats)
        judges[row["schema_id"]] = judge.is_valid
    _, payload = layers(row["text"] or "")
    for member in members:
        holder: Any = resolve(payload, parent(member))
        name = parts(member)[-1]
        if isinstance(holder, list):
            holder[int(name)] = decode(holder[int(name)])
        else:
            holder[name] = decode(holder[name])
    return judges[row["schema_id"]](payload)


def _explain(failures: list[dict[str, Any]], *, nothing: bool) -> Stringified | None:
    _, payload = layers(failures[0]["text"] or "")
    explained: dict[str, str] = {}
    for failure in failures:
        where = failure["instance_pointer"]
        if any(where == known or where.startswith(f"{known}/") for known in explained):
            continue
        try:
            value = resolve(payload, where)
        except (LookupError, ValueError):
            return None
        wanted = _types(failure)
        if not (where and isinstance(value, str) and _holds(value, wanted, nothing=nothing)):
            return None
        explained[where] = (
            f"{where} is the string {short(value, 40)} where the schema wants {' or '.join(sorted(wanted))}"
        )
    words = "; ".join(explained[where] for where in sorted(explained)[:_TOLD])
    if len(explained) > _TOLD:
        words += f"; so are {len(explained) - _TOLD} more"
    return Stringified(failures[0]["row"], failures[0]["verdict"], min(explained), words, tuple(explained))


def _holds(text: str, wanted: set[str], *, nothing: bool) -> bool:
    if nothing and wanted and text in _NOTHING:
        return True
    inner = decode(text)
    if inner is NO_JSON:
        return False
    kind = json_type(inner)
    return kind in wanted or (kind == "integer" and "number" in wanted)


def _types(failure: dict[str, Any]) -> set[str]:
    """The JSON types that a failed `type`, or a choice between types, asks for; empty where a string would do."""
    expected = decode(failure["expected"] or "")
    if expected is NO_JSON and failure["schema"]:  # cut, because it is long
        try:
            expected = resolve(decode(failure["schema"]), failure["schema_pointer"] or "")
        except (LookupError, ValueError):
            return set()
    if failure["keyword"] == "type":
        found = _named(expected)
    elif failure["keyword"] in ("anyOf", "oneOf") and isinstance(expected, list):
        found = set().union(*(_named(branch.get("type")) for branch in expected if isinstance(branch, dict)))
    else:
        return set()
    return set() if "string" in found else found


def _named(types: Any) -> set[str]:
    return (
        {types}
        if isinstance(types, str)
        else {each for each in types if isinstance(each, str)}
        if isinstance(types, list)
        else set()
    )
