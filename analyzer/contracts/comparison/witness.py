"""Values that tell two schemas apart: made at the places where they differ, and checked before they are believed.

What is made is only a guess; a witness is a value that the engine accepts under one schema and refuses under the
other. Schemas are in their one spelling (see `normalise`). The order of the guesses is fixed, so is the witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from analyzer.contracts.comparison.side import (
    MAX_ITEMS,
    MAX_LEVEL,
    TYPES,
    Side,
    distinct,
    element,
    samples,
    scalars,
    types,
    without,
)
from analyzer.contracts.comparison.tidy import text

__all__ = ["probes"]

#: Pairs of alternatives walked at one place, values made for one member, and values made for all.
MAX_PAIRS = 12
MAX_VALUES = 256
MAX_MADE = 10_000

_GENERIC: tuple[Any, ...] = (None, True, 0, -1, 1.5, "x", "", "x y", [], ["x"], {}, {"x": "x"})


def probes(a: Side, b: Side) -> Iterator[Any]:
    """Make values near the differences of two schemas; how many is bounded."""
    return islice(_Prober(a, b).near(a.root, b.root, 0), MAX_MADE)


class _Prober:
    """Walks two schemas side by side and goes down only where they differ."""

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.made = 0
        self.open: set[str] = set()
        self.same_definitions = text(a.definitions) == text(b.definitions)

    def near(self, in_a: Any, in_b: Any, level: int) -> Iterator[Any]:
        base = distinct([*self.a.samples(in_a), *self.b.samples(in_b)])
        yield from base
        left, right = self.a.spelled(in_a), self.b.spelled(in_b)
        pair = f"{left} {right}"
        same = left == right and ("$ref" not in left or self.same_definitions)
        if same or self.a.spent or self.b.spent or level > MAX_LEVEL or pair in self.open:
            return
        self.open.add(pair)
        for value in self.apart(in_a, in_b, base, level):
            self.made += 1
            if self.made > MAX_MADE:
                break
            yield value
        self.open.discard(pair)

    def apart(self, in_a: Any, in_b: Any, base: list[Any], level: int) -> Iterator[Any]:
        views_a, views_b = self.a.views(in_a) or [{}], self.b.views(in_b) or [{}]
        objects = [value for value in base if isinstance(value, dict)]
        arrays = [value for value in base if isinstance(value, list)]
        for one, other in _distinct_pairs([*zip(views_a, views_b, strict=False), *product(views_a, views_b)]):
            yield from [*one.get("enum", [])[:200], *other.get("enum", [])[:200]]
            for view, name in product((one, other), TYPES[2:5]):
                if name in types(view):
                    yield from scalars(view, name)
            yield from self.objects(one, other, objects, level)
            yield from self.arrays(one, other, arrays, level)
        yield from _GENERIC

    def below(self, in_a: Any, in_b: Any, level: int) -> list[Any]:
        """Make the values for one member or item; the deeper it is, the fewer."""
        return distinct([*islice(self.near(in_a, in_b, level + 1), MAX_VALUES >> level)])

    def objects(
        self, one: dict[str, Any], other: dict[str, Any], bases: list[dict[str, Any]], level: int
    ) -> Iterator[Any]:
        """Change one member of a sample at a time: leave it out, or put in what one of the two may refuse."""
        names: set[str] = set()
        for view in (one, other):
            names |= {*view.get("properties", {}), *view.get("required", ()), *view.get("dependentRequired", {})}
            names |= {sample for pattern in view.get("patternProperties", {}) for sample in samples(pattern)}
        spare = next(f"extra{'_' * n}" for n in range(len(names) + 1) if f"extra{'_' * n}" not in names)
        for name in [*sorted(names), spare, "extra 1", "X"]:
            for base in bases:
                if name in base:
                    yield without(base, name)
            values = self.below(self.a.member(one, name), self.b.member(other, name), level) if bases else []
            for value, base in product(values, bases):
                yield {**base, name: value}
        sizes = {view[bound] for view in (one, other) for bound in ("minProperties", "maxProperties") if bound in view}
        for size, base, step in product(sorted(sizes), bases, (-1, 0, 1)):
            more = {f"x{n}": "x" for n in range(min(max(size + step - len(base), 0), MAX_ITEMS))}
            yield {**dict(list(base.items())[: max(int(size) + step, 0)]), **more}

    def arrays(self, one: dict[str, Any], other: dict[str, Any], bases: list[list[Any]], level: int) -> Iterator[Any]:
        """Change one item of a sample at a time, then its length."""
        fronts = max(len(view.get("prefixItems", ())) for view in (one, other))
        for index in range(min(fronts, MAX_ITEMS) + 1 if bases else 0):
            values = self.below(element(one, index), element(other, index), level)
            for value, base in product(values, bases):
                if index <= len(base):
                    yield [*base[:index], value, *base[index + 1 :]]
        sizes = {int(view[bound]) for view in (one, other) for bound in ("minItems", "maxItems") if bound in view}
        for size, step in product(sorted({*sizes, fronts}), (-1, 0, 1)):
            for side, view in product((self.a, self.b), (one, other)):
                if 0 <= size + step <= MAX_ITEMS:
                    yield side.array(view, size + step, level)
        for base in bases:
            yield [*base, *base]


def _distinct_pairs(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return list({text(list(pair)): pair for pair in pairs}.values())[:MAX_PAIRS]
