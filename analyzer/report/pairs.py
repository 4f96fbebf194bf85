"""Two calls or two sessions side by side on paper: where they differ, and by which contracts each was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.contracts.comparison.compare import Difference, structural_difference
from analyzer.masking import masked
from analyzer.pointer import parts, resolve
from analyzer.replay.divergence import Divergence, Step
from analyzer.replay.payloads import read_payload
from analyzer.report.accounts import counted
from analyzer.report.naming import bare
from analyzer.report.outline import outline
from analyzer.report.paper import Paper, Words
from analyzer.report.sheet import Places
from analyzer.visible import visible, visible_value

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_MOST = 40
_LINES = 60


def calls(paper: Paper, audit: Audit, a: int, b: int, *, how: str) -> None:
    """Two calls: verdicts, arguments, structural difference, results."""
    sides = [side(audit, each) for each in (a, b)]
    left, right = sides
    paper.wrapped(how)
    paper.blank()
    places = Places(audit)
    for letter, each in zip("AB", sides, strict=True):
        paper.line((f"{letter} ", "dim"), _title(each), f"  {_judged(each)}")
        paper.exact((places.of(each["event"], each["pointer"]), "place"), indent=2)
    if left["schema_id"] != right["schema_id"]:
        paper.wrapped(
            ("judged by different schemas: ", "warning"),
            f"{visible(left['schema_id'] or 'none')} and {visible(right['schema_id'] or 'none')}",
        )
    paper.heading("Arguments")
    paper.columns(*([line.text for line in outline(each["arguments"], most=_LINES)] for each in sides), indent=2)
    for difference in differences(left["arguments"], right["arguments"], _MOST):
        _difference(paper, difference)
    for each in left["failures"]:
        where = visible(each["instance_pointer"], limit=200) or "(root)"
        says = f"  {visible(each['keyword'])} {visible(each['expected'] or '', limit=200)}"
        paper.wrapped(("> A ", "guilty"), (where, "guilty"), says, indent=2, hang=4)
    paper.heading("Results")
    paper.columns(*([line.text for line in outline(each["output"], most=_LINES)] for each in sides), indent=2)


def side(audit: Audit, call: int) -> dict[str, Any]:
    """A call with its arguments, verdict, failures and output."""
    frames = audit.frames
    [row] = frames["calls"].filter(pl.col("call") == call).to_dicts()
    mine = (pl.col("call") == call) & (pl.col("role") == "arguments")
    verdict: dict[str, Any] = next(
        iter(frames["verdicts"].filter(mine).sort("side", "verdict").to_dicts()),
        {"verdict": None, "verdict_is": "not judged", "reason": None, "schema_id": None},
    )
    failures = frames["violations"].filter(pl.col("verdict") == verdict["verdict"]).sort("position").to_dicts()
    results = frames["results"].filter(pl.col("call") == call).sort("rank", "result").to_dicts()
    output = results[0]["structured"] or results[0]["text"] or results[0]["error"] if results else None
    return {
        **{name: row[name] for name in ("session", "turn", "call_id", "tool", "outcome", "event", "pointer")},
        "arguments": _value(row["text"]),
        "verdict": verdict["verdict_is"],
        "reason": verdict["reason"],
        "schema_id": verdict["schema_id"],
        "failures": failures,
        "output": _value(output),
    }


def differences(a: Any, b: Any, most: int | None = None) -> list[Difference]:
    """The structural difference, of `most` places; a credential is hidden by the names around it, too."""
    whole_a, whole_b = masked(a), masked(b)
    return [
        each._replace(old=_masked_at(whole_a, each.pointer, each.old), new=_masked_at(whole_b, each.pointer, each.new))
        for each in structural_difference(a, b)[:most]
    ]


def _masked_at(whole: Any, pointer: str, value: Any) -> Any:
    """A value of a payload as it stands in `whole`, the payload with its credentials masked."""
    if value is None:
        return None
    try:
        return resolve(whole, pointer)
    except LookupError:  # the name of a member on the way is masked
        for step in reversed(parts(pointer)):
            value = [value] if step.isdecimal() else {step: value}
        shown = masked(value)
        for _ in parts(pointer):
            shown = shown[0] if isinstance(shown, list) else next(iter(shown.values()))
        return shown


def call_record(audit: Audit, a: int, b: int, *, how: str) -> dict[str, Any]:
    """Two calls for programs."""
    left, right = side(audit, a), side(audit, b)
    return {
        "schema": "analyzer.diff/v1",
        "how": how,
        "a": _plain(left),
        "b": _plain(right),
        "same_schema": left["schema_id"] == right["schema_id"],
        "arguments": [each._asdict() for each in differences(left["arguments"], right["arguments"])],
        "output": [each._asdict() for each in differences(left["output"], right["output"])],
    }


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    failures = [
        {"pointer": each["instance_pointer"], **{name: each[name] for name in ("keyword", "expected", "actual")}}
        for each in told["failures"]
    ]
    return {**{name: told[name] for name in told if name not in ("event", "pointer", "failures")}, "failures": failures}


def sessions(paper: Paper, audit: Audit, a: str, b: str, found: Divergence) -> None:
    """Two sessions to their first divergence."""
    paper.wrapped(("A ", "dim"), (visible(a), "head"), ("   B ", "dim"), (visible(b), "head"))
    if found.tools:
        paper.wrapped(("their tool tables differ: ", "warning"), "what follows may be no choice of the model", hang=2)
        for tool in found.tools:
            paper.wrapped(
                f"{visible(bare(tool.tool), limit=100)} {tool.role}: {_versions(tool.a)} | {_versions(tool.b)}",
                indent=2,
                hang=4,
            )
    if not found.reason:
        paper.wrapped(f"no difference in {counted(found.common, 'step')}; ids and times are not compared")
        return
    paper.wrapped(f"{counted(found.common, 'step')} alike, then {found.reason}")
    paper.blank()
    for step in found.before:
        paper.line(("= ", "dim"), *_step(step), indent=2)
    places = Places(audit)
    for letter, side_step in zip("AB", (found.a, found.b), strict=True):
        if side_step is None:
            paper.line((f"{letter} ", "guilty"), ("ended", "dim"), indent=2)
            continue
        paper.wrapped((f"{letter} ", "guilty"), *_step(side_step), indent=2, hang=4)
        paper.exact((places.of(side_step.event, side_step.pointer), "place"), indent=6)
    if found.a and found.b and found.a[:2] == found.b[:2]:
        for difference in differences(found.a.value, found.b.value, _MOST):
            _difference(paper, difference)


def session_record(a: str, b: str, found: Divergence) -> dict[str, Any]:
    """Two sessions for programs."""
    return {
        "schema": "analyzer.diff/v1",
        "a": a,
        "b": b,
        "common": found.common,
        "reason": found.reason or None,
        "at": [_record(step) if step is not None else None for step in (found.a, found.b)],
        "tools": [{"tool": bare(tool.tool), "role": tool.role, "a": tool.a, "b": tool.b} for tool in found.tools],
    }


def _record(step: Step) -> dict[str, Any]:
    return {"what": step.what, "label": step.label, "value": step.value, "seq": step.seq}


def _versions(identities: tuple[str, ...]) -> str:
    return visible(", then ".join(identities), limit=200) if identities else "never offered"


def _step(step: Step) -> list[Words]:
    label = bare(step.label) if step.what != "message" else step.label
    return [(f"{step.what} ", "dim"), (visible(label, limit=100), "head"), f" {visible_value(step.value, limit=400)}"]


def _difference(paper: Paper, difference: Difference) -> None:
    place = visible(difference.pointer, limit=200) or "(root)"
    old, new = visible_value(difference.old, limit=160), visible_value(difference.new, limit=160)
    what, both = "differs at ", f"  {old} -> {new}"
    if difference.change.endswith("removed"):
        what, both = "only in A ", f"  {old}"
    elif difference.change.endswith("added"):
        what, both = "only in B ", f"  {new}"
    paper.wrapped((what, "dim"), (place, "guilty"), both, indent=2, hang=4)


def _title(told: dict[str, Any]) -> Words:
    return (f"{visible(told['session'] or '-', limit=60)} {visible(told['call_id'] or '-', limit=60)}", "head")


def _judged(told: dict[str, Any]) -> str:
    reason = f" {told['reason']}" if told["reason"] else ""
    tool = visible(bare(told["tool"] or "-"), limit=60)
    return f"{tool}, arguments {told['verdict']}{reason}, outcome {told['outcome']}"


def _value(text: str | None) -> Any:
    payload = read_payload(text)
    return payload.value if payload.problem is None and payload.kind in ("value", "string") else text
