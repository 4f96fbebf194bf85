"""A finding or an event with all that proves it: the record, what is wrong in it, and the schema it was judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from analyzer.errors import EvidenceUnavailable
from analyzer.pointer import join, parts
from analyzer.tui.case import Case, Place
from analyzer.tui.jsonlines import JsonLines
from analyzer.tui.records import document
from analyzer.tui.theme import Glyphs
from analyzer.visible import visible

_EXTRA = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_GATE = 10 << 20  # bytes of a record that is shown only when asked for


@dataclass(frozen=True)
class Judged:
    """The schema in force: its text, where it came from, and which of its keywords failed."""

    schema_id: str
    raw: bytes
    origin: str  # safe text
    flagged: dict[str, tuple[str, str]]
    focus: str


@dataclass(frozen=True)
class Shown:
    """One record on the screen. `model` is None where the record is not to be had; `trouble` says why."""

    place: Place | None
    raw: bytes
    model: JsonLines | None
    cursor: int
    trouble: str
    judged: Judged | None
    session: str | None
    call: int | None
    call_id: str | None
    tool: str | None  # tool key
    finding: dict[str, Any] | None
    held_back: int = 0  # bytes of a record too big to be shown unasked
    pairs: tuple[tuple[str, str], ...] = ()  # pointer into the record, pointer into the schema


def of_finding(case: Case, index: int, glyphs: Glyphs, *, whole: bool = False) -> Shown:
    """The evidence of a finding, by its row."""
    finding = case.found.row(index, named=True)
    place = case.place_of_finding(finding)
    base = (finding["location"] or {}).get("pointer") or ""
    call = _call(case, finding["session"], finding["call_id"], finding["seq"])
    tool = call["tool"] if call else None
    failures = _with_members(case, finding["failures"] or [], call, finding)
    severity = finding["severity"] or "info"
    contract = finding["contract"]
    judged = None
    if contract and contract["schema_id"]:
        flags = {f["schema_pointer"] or "": (severity, _got(f)) for f in failures}
        since = _since(case, finding["session"], tool, contract["schema_id"], finding["seq"])
        passes = f"would pass {visible(contract['passes'][:12])}" if contract["passes"] else ""
        spot = f"{visible(contract['file'], limit=60)}:{contract['line']}" if contract["file"] and not since else ""
        origin = " · ".join(
            word for word in (since, spot, visible(contract["channel"] or "", limit=20), passes) if word
        )
        judged = _judged(case, contract["schema_id"], origin, flags)
    flags = {_guilty(base, f): (severity, _wanted(f)) for f in failures}
    pairs = tuple((_guilty(base, f), f["schema_pointer"] or "") for f in failures)
    found = _shown(
        case, place, flags or {base: (severity, "")}, glyphs, judged=judged, call=call, finding=finding, whole=whole
    )
    return replace(found, pairs=pairs)


def of_event(case: Case, event: int, glyphs: Glyphs, *, focus: str = "", whole: bool = False) -> Shown:
    """The evidence of an event, by its number: with the verdict on the call that it shows first, if it does."""
    place = case.place_of_event(event)
    call, result = _owner(case, event)
    flags: dict[str, tuple[str, str]] = {}
    pairs: list[tuple[str, str]] = []
    base = (place.pointer if place is not None else "") + ((result or call or {}).get("pointer") or "")
    judged = None
    if call is not None:
        mine = pl.col("call") == call["call"] if result is None else pl.col("result") == result["result"]
        verdicts = case.rows("verdicts", mine, pl.col("role") == ("arguments" if result is None else "output"))
        if verdicts and verdicts[0]["schema_id"]:
            verdict = verdicts[0]
            failed = case.rows("violations", pl.col("verdict") == verdict["verdict"])
            for f in failed:
                f["pointer"] = f["instance_pointer"]
                flags[_guilty(base, f)] = ("error", _wanted(f))
                pairs.append((_guilty(base, f), f["schema_pointer"] or ""))
            since = _since(case, call["session"], call["tool"], verdict["schema_id"], call["seq"])
            origin = " · ".join(word for word in (since, visible(verdict["verdict_is"] or "", limit=20)) if word)
            keywords = {f["schema_pointer"] or "": ("error", _got(f)) for f in failed}
            judged = _judged(case, verdict["schema_id"], origin, keywords)
    focus = focus or next(iter(flags), base)
    found = _shown(case, place, flags, glyphs, judged=judged, call=call, finding=None, focus=focus, whole=whole)
    return replace(found, pairs=tuple(pairs))


def _owner(case: Case, event: int) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The call that an event shows, and the result if it shows that."""
    calls = case.rows("calls", (pl.col("event") == event) | (pl.col("action_event") == event))
    if calls:
        return calls[0], None
    results = case.rows("results", (pl.col("event") == event) | (pl.col("echo_event") == event))
    if not results:
        return None, None
    calls = case.rows("calls", pl.col("call").eq_missing(results[0]["call"]))
    return (calls[0] if calls else None), results[0]


def _shown(
    case: Case,
    place: Place | None,
    flags: dict[str, tuple[str, str]],
    glyphs: Glyphs,
    *,
    judged: Judged | None,
    call: dict[str, Any] | None,
    finding: dict[str, Any] | None,
    focus: str = "",
    whole: bool,
) -> Shown:
    raw, model, cursor, trouble, held = b"", None, 0, "", 0
    if place is None:
        trouble = "this finding is about no single record"
    elif place.length > _GATE and not whole:
        held, trouble = place.length, f"{place.length:,} bytes are in this record: enter shows it all the same"
    else:
        try:
            raw = case.record(place)
        except EvidenceUnavailable as error:
            trouble = f"evidence unavailable: {error.problem}"
        else:
            model = JsonLines(document(raw), glyphs=glyphs, flagged=flags)
            wanted = focus or next(iter(flags), "")
            cursor = model.nearest(wanted)
    session = place.session if place else None
    if finding is not None:
        session = finding["session"]
    return Shown(
        place,
        raw,
        model,
        cursor,
        trouble,
        judged,
        session,
        call["call"] if call else None,
        (call or finding or {}).get("call_id"),
        call["tool"] if call else None,
        finding,
        held,
    )


def _judged(case: Case, schema_id: str, origin: str, flags: dict[str, tuple[str, str]]) -> Judged | None:
    found = case.rows("schemas", pl.col("schema_id") == schema_id)
    if not found or found[0]["text"] is None:
        return None
    focus = next(iter(flags), "")
    return Judged(schema_id, found[0]["text"].encode("utf-8", "surrogatepass"), origin, flags, focus)


def _call(case: Case, session: str | None, call_id: str | None, seq: int | None) -> dict[str, Any] | None:
    if call_id is None:
        return None
    found = case.rows("calls", pl.col("session").eq_missing(session), pl.col("call_id") == call_id)
    if seq is not None:
        found.sort(key=lambda row: abs((row["seq"] or 0) - seq))
    return found[0] if found else None


def _since(case: Case, session: str | None, tool: str | None, schema_id: str, seq: int | None) -> str:
    if tool is None or session is None:
        return ""
    rows = case.rows("offers", pl.col("session") == session, pl.col("tool") == tool, pl.col("schema_id") == schema_id)
    rows = [row for row in rows if seq is None or row["since"] <= seq] or rows
    return f"in force since {rows[-1]['since']}" if rows else ""


def _with_members(
    case: Case, failures: list[dict[str, Any]], call: dict[str, Any] | None, finding: dict[str, Any]
) -> list[dict[str, Any]]:
    """The failures with the member meant, where the verdict on the call tells it."""
    if call is None or not failures or not finding["contract"]:
        return failures
    own = [pl.col("call") == call["call"], pl.col("schema_id") == finding["contract"]["schema_id"]]
    verdicts = [row["verdict"] for row in case.rows("verdicts", *own, pl.col("role") == "arguments")]
    failed = case.rows("violations", pl.col("verdict").is_in(verdicts)) if verdicts else []
    # One keyword fails at one place once for each extra or absent member: only the sides tell these apart.
    told = {
        (row["instance_pointer"], row["schema_pointer"], row["expected"], row["actual"]): row["member"]
        for row in failed
    }
    for failure in failures:
        key = failure["pointer"], failure["schema_pointer"], failure["expected"], failure["actual"]
        failure["member"] = told.get(key)
    return failures


def _guilty(base: str, failure: dict[str, Any]) -> str:
    """Where the fault is in the record: the extra member itself, of an absent one the object that lacks it."""
    extra = [failure["member"]] if failure.get("member") and failure["keyword"] in _EXTRA else []
    return join(base, *parts(failure["pointer"] or ""), *extra)


def _wanted(failure: dict[str, Any]) -> str:
    return f"{visible(failure['keyword'] or '', limit=40)}: {visible(failure['expected'] or '', limit=60)}"


def _got(failure: dict[str, Any]) -> str:
    return f"got {visible(failure['actual'] or 'nothing', limit=60)}"
