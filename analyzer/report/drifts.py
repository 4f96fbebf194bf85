"""Pins and changes on paper: what differs, in which direction, and whom it breaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analyzer.contracts.comparison.compare import Breakage, Change, Comparison, Witness
from analyzer.contracts.pins import Drift
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible, visible_value

_MOST_CHANGES = 30
_MOST_ABSENT = 12
_STYLES = {"breaking": "error", "unknown": "warning", "none": "dim"}


def told(paper: Paper, found: Sequence[Drift], written: Sequence[str], bare: Sequence[str]) -> None:
    """What was pinned, and how each tool stands to its pin."""
    for file in written:
        paper.exact(("pinned ", "dim"), (visible(file, limit=1000), "place"))
    same = [drift.tool for drift in found if drift.what == "same"]
    if same:
        paper.wrapped(f"as pinned: {', '.join(visible(name, limit=80) for name in same)}", hang=2)
    absent = [drift.tool for drift in found if drift.what == "absent"]
    if absent:
        more = f" and {len(absent) - _MOST_ABSENT} more" if len(absent) > _MOST_ABSENT else ""
        names = ", ".join(visible(name, limit=80) for name in absent[:_MOST_ABSENT])
        paper.wrapped((f"pinned, but not advertised here: {names}{more}", "dim"), hang=2)
    for drift in found:
        if drift.what in ("same", "absent"):
            continue
        paper.blank()
        style = "error" if drift.what == "changed" else "warning"
        words: list[Words] = [(visible(drift.tool), "head"), f"  {drift.role}  " if drift.role else "  "]
        seen = f" in {visible(drift.session)}" if drift.session else ""
        paper.line(*words, (drift.what, style), seen)
        if drift.note:
            paper.wrapped(visible(drift.note), indent=2, hang=2)
        if drift.comparison is not None and drift.breakage is not None:
            comparison(paper, drift.comparison, drift.breakage, sides=("the pin", "what was advertised"))
    if bare:
        paper.blank()
        paper.wrapped(f"nothing to pin, no schema: {', '.join(visible(name, limit=80) for name in bare)}", hang=2)


def records(found: Sequence[Drift]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "tool": drift.tool,
            "what": drift.what,
            "role": drift.role or None,
            "note": drift.note or None,
            "session": drift.session,
            "schema_id": drift.schema_id,
            "comparison": record(drift.comparison, drift.breakage) if drift.comparison and drift.breakage else None,
        }
        for drift in found
    ]


def comparison(paper: Paper, found: Comparison, breakage: Breakage, *, sides: tuple[str, str], indent: int = 2) -> None:
    """Relation, whom it breaks, the named changes, and a value on which the two disagree."""
    reason = f" ({found.reason})" if found.reason else ""
    paper.wrapped((f"{found.relation}{reason}: ", "head"), (breakage.reason, _STYLES[breakage.verdict]), indent=indent)
    for change in found.changes[:_MOST_CHANGES]:
        paper.wrapped(*_change(change), indent=indent + 2, hang=4)
    if len(found.changes) > _MOST_CHANGES:
        paper.line(f"and {len(found.changes) - _MOST_CHANGES} more changes", indent=indent + 2)
    for side, witness in zip(sides, (found.witness_a, found.witness_b), strict=True):
        if witness is not None:
            paper.wrapped(f"only {side} accepts ", visible_value(witness.value, limit=300), indent=indent + 2, hang=4)


def _change(change: Change) -> list[Words]:
    place = visible(change.pointer, limit=200) or "(root)"
    sides = [visible_value(side, limit=100) for side in (change.old, change.new) if side is not None]
    words: list[Words] = [(change.kind.replace("_", " "), "name"), f" at {place}"]
    if sides:
        words.append(f": {' -> '.join(sides)}")
    return [*words, (f"  {change.direction}" if change.direction not in ("", "none") else "", "dim")]


def record(found: Comparison, breakage: Breakage) -> dict[str, Any]:
    """A comparison for programs."""
    return {
        "relation": found.relation,
        "reason": found.reason or None,
        "breaks": breakage.verdict,
        "why": breakage.reason,
        "changes": [
            {
                "kind": change.kind,
                "pointer": change.pointer,
                "old": change.old,
                "new": change.new,
                "direction": change.direction,
            }
            for change in found.changes
        ],
        "only_a_accepts": _witness(found.witness_a),
        "only_b_accepts": _witness(found.witness_b),
    }


def _witness(witness: Witness | None) -> list[Any]:
    return [] if witness is None else [witness.value]
