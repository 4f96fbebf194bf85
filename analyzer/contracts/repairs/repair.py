"""The smallest edit that makes a payload pass its schema, verified; and the smallest payload that passes at all.

A repair shows what the schema asked for beside what was sent. It never guesses what the model meant: an edit that
invents a value says so. The search is best-first over the violations and ends in bounded work, whatever the schema and
the payload.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from analyzer.contracts import dialects
from analyzer.contracts.nearest import did_you_mean
from analyzer.contracts.places import at
from analyzer.contracts.repairs.candidates import Finder
from analyzer.contracts.repairs.edits import INVENTED, Edit, apply, condense, shown
from analyzer.contracts.repairs.plans import Plan, batch
from analyzer.contracts.repairs.smallest import MISSING, Sketcher
from analyzer.contracts.verdicts.bounded import Bounded, Undecided
from analyzer.pointer import pointer
from analyzer.visible import visible, visible_value

__all__ = ["Edit", "Repair", "apply", "describe", "did_you_mean", "repair", "repairer", "smallest"]

_MOST_EDITS = 2_000
_MOST_ERRORS = 500
_STEPS_A_UNIT = 2_000
#: Violations of one payload whose plans are also tried one at a time, and plans tried of each.
_SINGLES, _EACH = 6, 6
_FAILURES = (Undecided, ValueError, LookupError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Repair:
    """Edits that make a payload pass: applied in order they give `payload`, which the engine accepted.

    `guesses` is true unless every edit is lossless and none invents a value.
    """

    edits: tuple[Edit, ...]
    payload: Any
    verified: bool
    guesses: bool


def repair(
    schema: object,
    payload: object,
    *,
    budget: int = 300,
    dialect: str = dialects.DEFAULT,
    assert_formats: bool = False,
) -> Repair | None:
    """The cheapest edits found that make `payload` pass `schema`: none where it passes, None where none were found.

    `budget` bounds the work, in payloads judged. `dialect` holds where the schema names none. A schema that cannot be
    compiled offline, and one under which judging would take too many steps, has no repair. Nothing is raised.
    """
    return repairer(schema, budget=budget, dialect=dialect, assert_formats=assert_formats)(payload)


def repairer(
    schema: object, *, budget: int = 300, dialect: str = dialects.DEFAULT, assert_formats: bool = False
) -> Callable[[object], Repair | None]:
    """`repair` for many payloads of one schema, which is compiled once."""
    try:
        bounded = Bounded(schema, dialect=dialect, assert_formats=assert_formats)
    except _FAILURES:
        return lambda _: None

    finder = Finder(schema, Sketcher(schema, marked=True))

    def repaired(payload: object) -> Repair | None:
        finder.begin()
        try:
            search = _Search(bounded, finder, budget)
            edits = search.run(payload)
            if edits is None:
                return None
            edits = search.needed(payload, condense(edits))
            guesses = any(edit.invented or not edit.lossless for edit in edits)
            return Repair(edits, apply(payload, edits), verified=True, guesses=guesses)
        except _FAILURES:
            return None

    return repaired


def smallest(
    schema: object, *, budget: int = 300, dialect: str = dialects.DEFAULT, assert_formats: bool = False
) -> object | None:
    """The smallest value found that `schema` allows, verified: required members only, each as short as it can be.

    None where none was found; None too where null is the smallest value itself.
    """
    try:
        bounded = Bounded(schema, dialect=dialect, assert_formats=assert_formats)
        value = Sketcher(schema).sketch([schema])
        if value is MISSING:
            return None
        search = _Search(bounded, Finder(schema, Sketcher(schema)), budget)
        edits = search.run(value)
        return None if edits is None else search.pruned(apply(value, edits))
    except _FAILURES:
        return None


def describe(found: Repair, payload: object = None) -> str:
    """One line on a payload, safe to print: `/seats: add (required, placeholder 0); /litres: "3" -> 3`."""
    return "; ".join(_describe(shown(edit, payload)) for edit in found.edits) or "nothing to repair"


def _describe(edit: Edit) -> str:
    place = visible(edit.pointer) or "(root)"
    if edit.op == "rename":
        return f"{place}: rename to {_short(edit.after)} ({edit.why})"
    if edit.op == "remove":
        return f"{place}: remove ({edit.why})"
    why = edit.why.removesuffix(f"; {INVENTED}")
    if edit.op == "add":
        return f"{place}: add ({why}{', placeholder' if edit.invented else ':'} {_short(edit.after)})"
    note = f" ({why}, placeholder)" if edit.invented else "" if edit.lossless else f" ({why})"
    return f"{place}: {_short(edit.before)} -> {_short(edit.after)}{note}"


def _short(value: object) -> str:
    return visible_value(value, limit=60)


class _State(NamedTuple):
    """A payload on the way: sorted by the estimate of all it will cost, then by age."""

    estimate: float
    age: int
    cost: float
    edits: tuple[Edit, ...]
    violations: list[list[Plan]]
    together: Plan


class _Search:
    """Best-first over payloads: cost so far plus the cheapest plan of each remaining violation."""

    def __init__(self, bounded: Bounded, finder: Finder, budget: int) -> None:
        self.bounded = bounded
        self.finder = finder
        self.budget = float(budget)
        self.visits = 0
        self.seen: dict[str, float] = {}

    def run(self, payload: object) -> tuple[Edit, ...] | None:
        """The edits that make the payload valid, or None when the budget ran out."""
        queue: list[_State] = []
        best = state = self._visit(payload, (), 0.0)
        if state is None:
            return None
        # The cheapest plan of every violation at once, again and again, is mostly all it takes.
        while state is not None and state.violations:
            heapq.heappush(queue, state)
            edits = (*state.edits, *state.together.edits)
            state = best = self._visit(payload, edits, state.cost + state.together.cost)
        while queue and self.budget > 0:
            state = heapq.heappop(queue)
            if best is not None and state.estimate >= best.cost:
                break
            plans = [plan for plans in state.violations[:_SINGLES] for plan in plans[:_EACH]]
            for plan in [state.together, *plans]:
                cost = state.cost + plan.cost
                if best is None or cost < best.cost:
                    found = self._visit(payload, (*state.edits, *plan.edits), cost)
                    if found is not None and found.violations:
                        heapq.heappush(queue, found)
                    elif found is not None:
                        best = found
        return None if best is None else best.edits

    def _visit(self, payload: object, edits: tuple[Edit, ...], cost: float) -> _State | None:
        """The payload with the edits; None if seen before, past judging or mending, or out of budget."""
        if len(edits) > _MOST_EDITS or self.budget <= 0:
            return None
        try:
            edited = apply(payload, edits)
            self._spend(self.bounded.steps(edited) + 20 * len(edits))
            key = repr(edited)  # tells 5 from 5.0 and 1 from true
            if self.seen.get(key, math.inf) <= cost:
                return None
            self.seen[key] = cost
            self.visits += 1
            if self.bounded.valid(edited, counted=True):
                return _State(cost, self.visits, cost, edits, [], Plan(0, ()))
            violations = self.finder.plans(edited, self.bounded.errors(edited, limit=_MOST_ERRORS, counted=True))
        except (Undecided, LookupError):
            return None
        self._spend(200 * len(violations))
        together = batch(violations)
        return _State(cost + together.cost, self.visits, cost, edits, violations, together) if violations else None

    def needed(self, payload: object, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        """The edits without those that the payload passes without."""
        for edit in edits[::-1] if 1 < len(edits) <= 30 else ():
            fewer = tuple(other for other in edits if other is not edit)
            try:
                if self.bounded.valid(apply(payload, fewer)):
                    edits = fewer
            except (Undecided, LookupError, ValueError):  # without this edit another one has no place
                continue
        return edits

    def pruned(self, value: object) -> object:
        """The value without the members and items that it passes without."""
        queue: list[list[str | int]] = [[]]
        while queue:
            path = queue.pop(0)
            here = at(value, path)
            keys = list(here) if isinstance(here, dict) else range(len(here))[::-1] if isinstance(here, list) else ()
            for key in keys:
                edit = Edit("remove", pointer([*path, key]), None, None, "", lossless=False)
                fewer = apply(value, [edit])
                if not self._spend(self.bounded.steps(fewer)):
                    return value
                if self.bounded.valid(fewer):
                    value = fewer
                else:
                    queue.append([*path, key])
        return value

    def _spend(self, steps: int) -> bool:
        # A judgement of up to two thousand steps costs one, and so does whatever else takes as long.
        self.budget -= max(1.0, steps / _STEPS_A_UNIT)
        return self.budget > 0
