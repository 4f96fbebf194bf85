"""What could be tightened at one place: the five classes of tightening, and bounds of numbers besides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from analyzer.contracts.places import conjuncts, schemas_at
from analyzer.contracts.repairs.smallest import is_number, listed
from analyzer.contracts.tightening.narrow import ITEM, Path, closed
from analyzer.contracts.tightening.observed import Place
from analyzer.contracts.tightening.shapes import free_text, identifier, shape
from analyzer.pointer import pointer
from analyzer.secrets import find, secret_name

Klass = Literal["enum", "pattern", "additionalProperties", "required", "output", "bounds", "schema"]

#: A list of codes: so few different values, each so often on average, none longer.
_MOST_CODES, _OFTEN, _LONGEST_CODE = 12, 4, 64
_LOOKED_AT = 200
#: An index that no tuple reaches: the schema of the items in general.
_ANY_ITEM = 10**9


@dataclass(frozen=True)
class Idea:
    """Keywords for one place; `rejected` says why there are none."""

    path: Path
    klass: Klass
    pointer: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    rejected: str = ""


def ideas(root: Any, path: Path, place: Place, shape_klass: Klass | None) -> Iterator[list[Idea]]:
    """Each tightening of one place as a list of alternatives, the tightest first.

    `root` is the tool's schema; with a `shape_klass` there is none, and the types are ideas as well.
    """
    bound = _bound(root, path)
    if any(_leaves_open(root, path[:length]) for length in range(len(path) + 1)):
        return
    if shape_klass:
        names = sorted(place.types - ({"integer"} if "number" in place.types else set()))
        if names:
            keywords = {"type": names[0] if len(names) == 1 else names}
            yield [_idea(path, shape_klass, bound, keywords)]
    types = place.types - {"null"}
    if types == {"object"}:
        yield from _object(root, path, place, bound)
    elif types and not types & {"array", "boolean"} and _credential(path, place):
        # A list of those seen would show them, and refuse the next one.
        yield [Idea(path, "pattern", _spelled(path), None, None, rejected="a credential, left alone")]
    elif types == {"string"}:
        yield _text(path, place, bound)
    elif types and types <= {"integer", "number"}:
        yield _number(path, place, bound)


def _bound(root: Any, path: Path) -> list[dict[str, object]]:
    return schemas_at(root, [_ANY_ITEM if step is ITEM else step for step in path])


def _leaves_open(root: Any, path: Path) -> bool:
    # What a schema leaves unevaluated depends on what stands beside it: nothing can be added there.
    unevaluated = ("unevaluatedProperties", "unevaluatedItems")
    return any(keyword in schema for schema in _bound(root, path) for keyword in unevaluated)


def _idea(path: Path, klass: Klass, bound: list[dict[str, object]], keywords: dict[str, Any]) -> Idea:
    before = {keyword: schema[keyword] for schema in reversed(bound) for keyword in keywords if keyword in schema}
    return Idea(path, klass, _spelled(path), before or None, keywords, keywords)


def _object(root: Any, path: Path, place: Place, bound: list[dict[str, object]]) -> Iterator[list[Idea]]:
    here = _spelled(path)
    if place.is_map():
        yield [Idea(path, "additionalProperties", here, None, None, rejected="the member names vary: a map")]
        return
    required = sorted({name for schema in bound for name in listed(schema, "required")})
    for name in place.always():
        if name not in required:
            after = {"required": [name]}
            yield [Idea(path, "required", _spelled((*path, name)), {"required": required}, after, after)]
    if any(schema.get("additionalProperties") is False for schema in bound):
        return
    if any("patternProperties" in schema for schema in conjuncts(root, bound, branches=True)):
        yield [Idea(path, "additionalProperties", here, None, None, rejected="the schema names members by pattern")]
        return
    shown = {"additionalProperties": False}
    before = _idea(path, "additionalProperties", bound, shown).before
    keywords = closed(root, bound, place.names())
    yield [Idea(path, "additionalProperties", here, before, shown, keywords)]


def _text(path: Path, place: Place, bound: list[dict[str, object]]) -> list[Idea]:
    if any(keyword in schema for schema in bound for keyword in ("enum", "const", "pattern", "format")):
        return []
    texts = place.texts
    found: list[Idea] = []
    if _codes(texts):
        values: list[str | None] = [*sorted(set(texts)), *([None] if "null" in place.types else [])]
        found.append(_idea(path, "enum", bound, {"enum": values}))
    elif free_text(texts):
        return [Idea(path, "pattern", _spelled(path), None, None, rejected="free text, left alone")]
    common = shape(texts)
    if common is not None:
        found.append(_idea(path, "pattern", bound, {"pattern": common.pattern, "maxLength": common.max_length}))
    if not found:
        found = [Idea(path, "pattern", _spelled(path), None, None, rejected="no common shape")]
    return found


def _credential(path: Path, place: Place) -> bool:
    name = next((step for step in reversed(path) if step is not ITEM), "")
    return secret_name(str(name)) or any(find(text) for text in set(place.texts[:_LOOKED_AT]))


def _codes(texts: Sequence[str]) -> bool:
    distinct = set(texts)
    few = len(distinct) <= _MOST_CODES and len(texts) >= _OFTEN * len(distinct)
    short = all(0 < len(text) <= _LONGEST_CODE and text.isprintable() for text in distinct)
    return few and short and not identifier(sorted(distinct))


def _number(path: Path, place: Place, bound: list[dict[str, object]]) -> list[Idea]:
    numbers = [number for number in place.numbers if is_number(number)]
    if not numbers or any("enum" in schema or "const" in schema for schema in bound):
        return []
    low, high = min(numbers), max(numbers)
    keywords: dict[str, Any] = {}
    if not any("minimum" in schema or "exclusiveMinimum" in schema for schema in bound):
        whole = "number" not in place.types
        keywords["minimum"] = -_round_up(-2 * low) if low < 0 else 1 if whole and low >= 1 else 0
    if not any("maximum" in schema or "exclusiveMaximum" in schema for schema in bound):
        keywords["maximum"] = _round_up(2 * high) if high > 0 else 0
    return [_idea(path, "bounds", bound, keywords)] if keywords else []


def _round_up(number: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... : room for twice of what was seen, and easy to remember."""
    power = 10 ** math.floor(math.log10(number))
    best = next(step * power for step in (1, 2, 5, 10) if step * power >= number * (1 - 1e-12))
    return int(best) if best >= 1 else round(best, 12)


def _spelled(path: Path) -> str:
    return pointer("*" if step is ITEM else step for step in path)
