"""The smallest edit that makes a payload pass its schema, verified; and the smallest payload that passes at all.

A repair shows what the schema asked for beside what was sent. It never guesses what the model meant: an edit that
invents a value says so. The search is best-first over the violations and ends in bounded work, whatever the schema and
the payload.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from typing import Any

from analyzer.contracts.bounded import MOST_STEPS, Bounded, Undecided
from analyzer.contracts.candidates import Finder
from analyzer.contracts.edits import INVENTED, Edit, apply, condense
from analyzer.contracts.nearest import did_you_mean
from analyzer.contracts.places import at
from analyzer.contracts.plans import Plan, batch
from analyzer.contracts.smallest import MISSING, Sketcher
from analyzer.pointer import pointer

__all__ = ["Edit", "Repair", "apply", "describe", "did_you_mean", "repair", "smallest"]

_MOST_EDITS = 200
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


def repair(schema: object, payload: object, *, budget: int = 300, assert_formats: bool = False) -> Repair | None:
    """The cheapest edits found that make `payload` pass `schema`: none where it passes, None where none were found.

    `budget` bounds the work, in payloads judged. A schema that cannot be compiled offline, and one under which judging
    would take too many steps, has no repair. Nothing is raised.
    """
    try:
        bounded = Bounded(schema, assert_formats=assert_formats)
        search = _Search(bounded, Finder(schema, Sketcher(schema, marked=True)), budget)
        edits = search.run(payload)
        if edits is None:
            return None
        edits = search.needed(payload, condense(edits))
        guesses = any(edit.invented or not edit.lossless for edit in edits)
        return Repair(edits, apply(payload, edits), verified=True, guesses=guesses)
    except _FAILURES:
        return None


def smallest(schema: object, *, budget: int = 300, assert_formats: bool = False) -> object | None:
    """The smallest value found that `schema` allows, verified: required members only, each as short as it can be.

    None where none was found; None too where null is the smallest value itself.
    """
    try:
        bounded = Bounded(schema, assert_formats=assert_formats)
        value = Sketcher(schema).sketch([schema])
        if value is MISSING:
            return None
        search = _Search(bounded, Finder(schema, Sketcher(schema)), budget)
        edits = search.run(value)
        return None if edits is None else search.pruned(apply(value, edits))
    except _FAILURES:
        return None


def describe(found: Repair) -> str:
    """One line of ASCII for reports: `/seats: add (required; placeholder 0); /litres: "3" -> 3`.

    The values are foreign: whoever prints the line passes it through `visible`.
    """
    return "; ".join(_describe(edit) for edit in found.edits) or "nothing to repair"


def _describe(edit: Edit) -> str:
    place = json.dumps(edit.pointer)[1:-1] or "(root)"
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
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class _Search:
    """Best-first over payloads: cost so far plus the cheapest plan of each remaining violation."""

    def __init__(self, bounded: Bounded, finder: Finder, budget: int) -> None:
        self.bounded = bounded
        self.finder = finder
        self.budget = budget

    def run(self, payload: object) -> tuple[Edit, ...] | None:
        """The edits that make the payload valid, or None when the budget ran out."""
        best: tuple[float, tuple[Edit, ...]] | None = None
        seen: set[str] = set()
        queue: list[tuple[float, int, float, tuple[Edit, ...], list[list[Plan]]]] = []

        def visit(edits: tuple[Edit, ...], cost: float) -> None:
            nonlocal best
            key = repr(sorted(repr(edit[:4]) for edit in edits))
            if key in seen or len(edits) > _MOST_EDITS or not self._spend(0):
                return
            seen.add(key)
            try:
                edited = apply(payload, edits)
                errors = self._errors(edited)
            except (Undecided, LookupError):
                if not edits:
                    raise
                return
            if not errors:
                best = min(best or (cost, edits), (cost, edits), key=lambda found: found[0])
                return
            violations = self.finder.plans(edited, errors)
            # A violation without a plan of its own may go with another one's.
            estimate = sum(plans[0].cost for plans in violations) + 20.0 * (not violations)
            heapq.heappush(queue, (cost + estimate, len(seen), cost, edits, violations))

        visit((), 0.0)
        while queue and self.budget > 0:
            estimate, _, cost, edits, violations = heapq.heappop(queue)
            if best is not None and estimate >= best[0]:
                break
            together = batch(violations)
            visit((*edits, *together.edits), cost + together.cost)
            for plans in violations[:_SINGLES]:
                for plan in plans[:_EACH]:
                    if best is None or cost + plan.cost < best[0]:
                        visit((*edits, *plan.edits), cost + plan.cost)
        return best[1] if best else None

    def needed(self, payload: object, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        """The edits without those that the payload passes without."""
        for edit in edits[::-1] if 1 < len(edits) <= 30 else ():
            fewer = tuple(other for other in edits if other is not edit)
            try:
                if self.bounded.valid(apply(payload, fewer)):
                    edits = fewer
            except (Undecided, LookupError):
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

    def _errors(self, payload: object) -> list[Any]:
        self._spend(self.bounded.steps(payload))
        return [] if self.bounded.valid(payload) else self.bounded.errors(payload)

    def _spend(self, steps: int) -> bool:
        # One judgement, and one more for each twentieth of the most steps that a judgement may take.
        self.budget -= (1 + 20 * steps // MOST_STEPS) if steps else 0
        return self.budget > 0
