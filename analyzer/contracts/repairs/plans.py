"""Plans for one violation, and how the cheapest of several violations go together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from analyzer.contracts.repairs.edits import Edit
from analyzer.pointer import join, parent

#: What an edit costs: to lose nothing, to guess at a name, to take the schema's own value, to lose, to invent.
LOSSLESS, LOSSY, RENAME, GIVEN, NEAR, CUT, REMOVE, INVENT = 1, 2, 2, 3, 4, 6, 7, 10


class Plan(NamedTuple):
    """Edits that belong together, and what they cost."""

    cost: float
    edits: tuple[Edit, ...]


def batch(violations: Iterable[list[Plan]]) -> Plan:
    """The cheapest plan of every violation at once, left out where it would touch what another one touches."""
    cost, edits = 0.0, list[Edit]()
    touched: set[str] = set()
    above: set[str] = set()
    for plans in violations:
        plan = plans[0]
        places = {edit.pointer for edit in plan.edits} | {_target(edit) for edit in plan.edits}
        if not any(place in above or not touched.isdisjoint([place, *_above(place)]) for place in places):
            touched |= places
            above.update(*map(_above, places))
            cost += plan.cost
            edits.extend(plan.edits)
    return Plan(cost, tuple(sorted(edits, key=_late)))


def _late(edit: Edit) -> tuple[bool, list[int]]:
    # Items go from the end, so that the places of the edits that follow stay where they were.
    steps = edit.pointer.split("/")
    return edit.op == "remove", [-int(step) if step.isdecimal() and len(step) < 10 else 0 for step in steps]


def _target(edit: Edit) -> str:
    return join(parent(edit.pointer), edit.after) if edit.op == "rename" else edit.pointer


def _above(place: str) -> list[str]:
    return [place[:end] for end, char in enumerate(place) if char == "/"]
