"""Two sets of contracts on paper: what came, went, was renamed, and changed in which direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from analyzer.contracts.comparison.compare import Breakage, Comparison, Difference, Disagreement
from analyzer.contracts.comparison.rename import Rename
from analyzer.report.drifts import comparison, record
from analyzer.report.paper import Paper
from analyzer.visible import visible, visible_value

_MOST = 12
_MOST_DIFFERENCES = 40


class Compared(NamedTuple):
    """One tool and role on both sides; without a comparison only one side has it."""

    tool: str
    role: str
    what: str  # compared, added, removed
    comparison: Comparison | None = None
    breakage: Breakage | None = None
    differences: Sequence[Difference] = ()
    calls: Sequence[tuple[str, Disagreement]] = ()
    """Recorded payloads on which the two disagree, each with the name of its call."""


def sides(paper: Paper, a: str, b: str) -> None:
    """What is called A and B below."""
    paper.line(("A ", "dim"), visible(a, limit=200), ("   B ", "dim"), visible(b, limit=200))


def told(paper: Paper, compared: Sequence[Compared], renamed: Sequence[Rename], *, structure: bool) -> None:
    """All of it; with `structure` also the structural difference."""
    for each in compared:
        paper.blank()
        paper.line(
            (visible(each.tool) or "schema", "head"),
            f"  {visible(each.role)}",
            f"  {each.what}" * (not each.comparison),
        )
        if each.comparison is None or each.breakage is None:
            continue
        comparison(paper, each.comparison, each.breakage, sides=("A", "B"))
        for name, disagreement in each.calls[:_MOST]:
            side = disagreement.accepted_by.upper()
            value = visible_value(disagreement.payload, limit=200)
            paper.wrapped((visible(name, limit=120), "place"), f"  passes {side} only: {value}", indent=4, hang=4)
        if len(each.calls) > _MOST:
            paper.line(f"and {len(each.calls) - _MOST} more recorded payloads", indent=4)
        for difference in each.differences[:_MOST_DIFFERENCES] if structure else ():
            sides = f"{visible_value(difference.old, limit=120)} -> {visible_value(difference.new, limit=120)}"
            place = visible(difference.pointer, limit=200) or "(root)"
            paper.wrapped((f"{difference.change} ", "dim"), (place, "place"), f"  {sides}", indent=4, hang=4)
    for rename in renamed:
        paper.wrapped(
            f"{visible(rename.old)} may be {visible(rename.new)} now: they share {rename.score:.0%} of their shape",
            hang=2,
        )
    if not compared:
        paper.line("nothing to compare")


def records(compared: Sequence[Compared], renamed: Sequence[Rename]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": "analyzer.contracts.diff/v1",
        "tools": [
            {
                "tool": each.tool or None,
                "role": each.role or None,
                "what": each.what,
                "comparison": record(each.comparison, each.breakage) if each.comparison and each.breakage else None,
                "calls": [
                    {"call": name, "accepted_by": one.accepted_by, "payload": one.payload} for name, one in each.calls
                ],
                "structure": [difference._asdict() for difference in each.differences],
            }
            for each in compared
        ],
        "renamed": [rename._asdict() for rename in renamed],
    }
