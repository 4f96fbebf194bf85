"""The named differences of two schemas, each at its place and with its own direction.

A direction here is that of one change alone: `wider` when more values pass at this place, `narrower` when fewer do,
`none` when the same do, `incomparable` when some come and some go, `unknown` when it was not decided. What all changes
do together is for `compare` to prove. Schemas are in their one spelling (see `normalise`), and so are the pointers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from analyzer.contracts.comparison.normalise import Normal
from analyzer.contracts.comparison.subset import Prover
from analyzer.contracts.comparison.tidy import spell, text
from analyzer.pointer import pointer

__all__ = ["Change", "changes"]

#: Changes listed of one pair; an enum of thousands that is replaced says nothing more after that.
MAX_CHANGES = 500

_COUNTS = {"string": "Length", "array": "Items", "object": "Properties"}
_ANNOTATIONS = ("default", "description", "examples", "title")
#: Keywords that only add a condition, with those that belong to them.
_CONDITIONS = (
    ("$ref",),
    ("if", "then", "else"),
    ("contains", "minContains", "maxContains"),
    ("dependentRequired",),
    ("dependentSchemas",),
    ("not",),
    ("unevaluatedItems",),
    ("unevaluatedProperties",),
)
_FLIP = {"wider": "narrower", "narrower": "wider"}


@dataclass(frozen=True, slots=True)
class Change:
    """One named difference; `old` and `new` are None where there is nothing on that side.

    Kinds: `type_` widened, narrowed, changed; `enum_value_`, `enum_`, `required_`, `property_`, `pattern_property_`,
    `prefix_item_`, `branch_`, `choice_`, `unique_items_`, `condition_` added, removed; `pattern_`, `format_`,
    `condition_` also changed; `multiple_changed`; `bound_` tightened, loosened; `additional_properties_`, `items_`,
    `value_` closed, opened; `description_`, `title_`, `default_`, `examples_`, `annotation_changed`.
    """

    kind: str
    pointer: str
    old: Any
    new: Any
    direction: str


def changes(a: Normal, b: Normal, *, assert_formats: bool = False) -> tuple[Change, ...]:
    """List the changes from `a` to `b`, sorted by place; annotations last at each place."""
    walk = _Walk(a.schema, b.schema, assert_formats=assert_formats)
    found = [*islice(walk.differences(walk.root(a.schema), walk.root(b.schema), ()), MAX_CHANGES)]
    found += islice(_annotations(a, b), MAX_CHANGES)
    return tuple(sorted(found, key=lambda c: (c.pointer, c.kind, spell(c.old), spell(c.new)))[:MAX_CHANGES])


def _annotations(a: Normal, b: Normal) -> Iterator[Change]:
    for place in sorted({*a.annotations, *b.annotations}):
        old, new = a.annotations.get(place, {}), b.annotations.get(place, {})
        for name in sorted({*old, *new}):
            if name not in old or name not in new or spell(old[name]) != spell(new[name]):
                kind = f"{name}_changed" if name in _ANNOTATIONS else "annotation_changed"
                yield Change(kind, place + pointer([name]), old.get(name), new.get(name), "none")


class _Walk:
    def __init__(self, a: Any, b: Any, *, assert_formats: bool) -> None:
        self.forth = Prover(a, b, assert_formats=assert_formats)
        self.back = Prover(b, a, assert_formats=assert_formats)
        self.assert_formats = assert_formats
        self.defs_a = a.get("$defs", {}) if isinstance(a, dict) else {}
        self.defs_b = b.get("$defs", {}) if isinstance(b, dict) else {}
        self.seen: set[tuple[str, str]] = set()

    def root(self, schema: Any) -> Any:
        return {n: m for n, m in schema.items() if n != "$defs"} if isinstance(schema, dict) else schema

    def direction(self, a: Any, b: Any) -> str:
        """Prove how `b` stands to `a`, both subschemas."""
        wider, narrower = self.forth.proves(a, b), self.back.proves(b, a)
        if wider and narrower:
            return "none"
        return "wider" if wider else "narrower" if narrower else "unknown"

    def differences(self, a: Any, b: Any, path: tuple[str, ...]) -> Iterator[Change]:
        if _is_reference(a) and _is_reference(b):
            pair = (a["$ref"], b["$ref"])
            if pair not in self.seen:
                self.seen.add(pair)
                names = [ref.removeprefix("#/$defs/") for ref in pair]
                yield from self.differences(self.defs_a.get(names[0], {}), self.defs_b.get(names[1], {}), path)
            return
        if text(a) == text(b) and "$ref" not in text(a):
            return
        if a is False or b is False:
            kind = "value_opened" if a is False else "value_closed"
            yield from [] if a is b else [_change(path, kind, a, b, _opens(a))]
            return
        for name in ("anyOf", "oneOf", "allOf"):
            yield from self.branches(name, a, b, path)
        if any((name in a) != (name in b) and len(a if name in a else b) == 1 for name in ("anyOf", "oneOf")):
            return  # one side is nothing but alternatives, the other was compared as one of them
        yield from _types(a, b, path)
        yield from _enums(a, b, path)
        both = _kinds(a) & _kinds(b)  # keywords for a type that came or went say nothing more
        yield from _bounds(a, b, path, both)
        if "string" in both:
            yield from self.texts(a, b, path)
        if "object" in both:
            yield from self.members(a, b, path)
        if "array" in both:
            yield from self.items(a, b, path)
        for group in _CONDITIONS:
            yield from self.condition(group, a, b, path)

    def branches(self, name: str, a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
        """Match alternatives (or parts) by their text, then by their type in order; what is left came or went."""
        if name not in a and name not in b:
            return
        if name != "allOf" and (name in a) != (name in b):
            lone, many = (b, a) if name in a else (a, b)
            if len(many) > 1:
                # Alternatives beside other keywords: a condition that came or went as a whole.
                kind, direction = ("choice_removed", "wider") if name in a else ("choice_added", "narrower")
                yield _change((*path, name), kind, a.get(name), b.get(name), direction)
                return
            old, new = (many[name], [lone]) if name in a else ([lone], many[name])
        else:
            old, new = a.get(name, []), b.get(name, [])
        texts_old, texts_new = [text(branch) for branch in old], [text(branch) for branch in new]
        left = [(i, branch) for i, branch in enumerate(old) if texts_old[i] not in texts_new]
        right = [(i, branch) for i, branch in enumerate(new) if texts_new[i] not in texts_old]
        for i, branch in list(left):
            mate = next((pair for pair in right if _kind(pair[1]) == _kind(branch)), None)
            if mate is not None:
                left.remove((i, branch))
                right.remove(mate)
                yield from self.differences(branch, mate[1], (*path, name, str(mate[0])))
        gain = {"anyOf": "wider", "allOf": "narrower"}.get(name, "unknown")
        for i, branch in left:
            yield _change((*path, name, str(i)), "branch_removed", branch, None, _FLIP.get(gain, gain))
        for i, branch in right:
            yield _change((*path, name, str(i)), "branch_added", None, branch, gain)

    def texts(self, a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
        for name in ("pattern", "format"):
            old, new = a.get(name), b.get(name)
            if old == new:
                continue
            what = "added" if old is None else "removed" if new is None else "changed"
            direction = {"added": "narrower", "removed": "wider", "changed": "unknown"}[what]
            if name == "format" and not self.assert_formats:
                direction = "none"
            yield _change((*path, name), f"{name}_{what}", old, new, direction)

    def members(self, a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
        for group, kind in (("properties", "property"), ("patternProperties", "pattern_property")):
            old, new = a.get(group, {}), b.get(group, {})
            for name in sorted({*old, *new}):
                here = (*path, group, name)
                if name in old and name in new:
                    yield from self.differences(old[name], new[name], here)
                elif name in old:
                    direction = self.direction(old[name], b.get("additionalProperties", {}))
                    yield _change(here, f"{kind}_removed", old[name], None, direction)
                else:
                    direction = self.direction(a.get("additionalProperties", {}), new[name])
                    yield _change(here, f"{kind}_added", None, new[name], direction)
        before, after = set(a.get("required", ())), set(b.get("required", ()))
        for name in sorted(before ^ after):
            kind, direction = ("required_removed", "wider") if name in before else ("required_added", "narrower")
            yield _change((*path, "properties", name), kind, name in before, name in after, direction)
        yield from self.rest("additionalProperties", "additional_properties", a, b, path)
        yield from self.differences(a.get("propertyNames", {}), b.get("propertyNames", {}), (*path, "propertyNames"))

    def items(self, a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
        old, new = a.get("prefixItems", []), b.get("prefixItems", [])
        for i in range(max(len(old), len(new))):
            here = (*path, "prefixItems", str(i))
            if i < len(old) and i < len(new):
                yield from self.differences(old[i], new[i], here)
            elif i < len(old):
                yield _change(here, "prefix_item_removed", old[i], None, self.direction(old[i], b.get("items", {})))
            else:
                yield _change(here, "prefix_item_added", None, new[i], self.direction(a.get("items", {}), new[i]))
        yield from self.rest("items", "items", a, b, path)
        if a.get("uniqueItems", False) != b.get("uniqueItems", False):
            kind, direction = ("added", "narrower") if b.get("uniqueItems") else ("removed", "wider")
            yield _change(
                (*path, "uniqueItems"), f"unique_items_{kind}", a.get("uniqueItems"), b.get("uniqueItems"), direction
            )

    def rest(
        self, name: str, kind: str, a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]
    ) -> Iterator[Change]:
        """Compare what holds for all members or items that have no schema of their own; without one, anything."""
        old, new = a.get(name, {}), b.get(name, {})
        if (old is False) != (new is False):
            what = f"{kind}_opened" if old is False else f"{kind}_closed"
            yield _change((*path, name), what, a.get(name), b.get(name), _opens(old))
        else:
            yield from self.differences(old, new, (*path, name))

    def condition(
        self, group: Iterable[str], a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]
    ) -> Iterator[Change]:
        names = list(group)
        old, new = ({name: schema[name] for name in names if name in schema} for schema in (a, b))
        if spell(old) == spell(new):
            return
        what = "added" if names[0] not in old else "removed" if names[0] not in new else "changed"
        direction = {"added": "narrower", "removed": "wider", "changed": "unknown"}[what]
        if what == "changed":
            direction = self.direction(old, new)
        yield _change((*path, names[0]), f"condition_{what}", old or None, new or None, direction)


def _change(path: tuple[str, ...], kind: str, old: Any, new: Any, direction: str) -> Change:
    return Change(kind, pointer(path), old, new, direction)


def _is_reference(schema: Any) -> bool:
    return isinstance(schema, dict) and set(schema) == {"$ref"}


def _opens(old: Any) -> str:
    return "wider" if old is False else "narrower"


def _kind(branch: Any) -> str:
    return spell(branch.get("type")) if isinstance(branch, dict) else ""


_ALL = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})


def _kinds(schema: dict[str, Any]) -> frozenset[str]:
    named = schema.get("type")
    if named is None:
        return _ALL
    names = frozenset({named} if isinstance(named, str) else named)
    return names - {"number"} | {"integer", "fraction"} if "number" in names else names


def _types(a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
    if "enum" in a and "enum" in b:
        return  # their types follow from their values
    old, new = _kinds(a), _kinds(b)
    if old == new:
        return
    kind, direction = "type_changed", "incomparable"
    if old < new:
        kind, direction = "type_widened", "wider"
    elif new < old:
        kind, direction = "type_narrowed", "narrower"
    yield _change((*path, "type"), kind, a.get("type"), b.get("type"), direction)


def _enums(a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
    here = (*path, "enum")
    if "enum" in a and "enum" in b:
        old, new = {spell(v): v for v in a["enum"]}, {spell(v): v for v in b["enum"]}
        for one in sorted(old.keys() - new.keys()):
            yield _change(here, "enum_value_removed", old[one], None, "narrower")
        for one in sorted(new.keys() - old.keys()):
            yield _change(here, "enum_value_added", None, new[one], "wider")
    elif "enum" in a:
        yield _change(here, "enum_removed", a["enum"], None, "wider")
    elif "enum" in b:
        yield _change(here, "enum_added", None, b["enum"], "narrower")


def _bounds(a: dict[str, Any], b: dict[str, Any], path: tuple[str, ...], both: frozenset[str]) -> Iterator[Change]:
    pairs = [(f"min{what}", f"max{what}", "", "") for kind, what in _COUNTS.items() if kind in both]
    if "integer" in both:
        pairs.append(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
    for low, high, low_open, high_open in pairs:
        for name, strict, sign in ((low, low_open, 1), (high, high_open, -1)):
            old, new = _edge(a, name, strict, sign), _edge(b, name, strict, sign)
            if old == new:
                continue
            tighter = old is None or (new is not None and new > old)
            used = name if name in b or (name in a and strict not in b) else strict
            kind, direction = ("bound_tightened", "narrower") if tighter else ("bound_loosened", "wider")
            yield _change((*path, used), kind, a.get(name, a.get(strict)), b.get(name, b.get(strict)), direction)
    old, new = a.get("multipleOf"), b.get("multipleOf")
    if old != new and "integer" in both:
        yield _change((*path, "multipleOf"), "multiple_changed", old, new, _multiple(old, new))


def _edge(schema: dict[str, Any], name: str, strict: str, sign: int) -> tuple[Any, bool] | None:
    """Spell a bound so that the greater is always the tighter; the open one is tighter than the closed."""
    found = [(sign * schema[name], False)] if name in schema else []
    if strict in schema:
        found.append((sign * schema[strict], True))
    return max(found) if found else None


def _multiple(old: Any, new: Any) -> str:
    if old is None or new is None:
        return "narrower" if old is None else "wider"
    before, after = Fraction(str(old)), Fraction(str(new))
    if (after / before).denominator == 1:
        return "narrower"
    return "wider" if (before / after).denominator == 1 else "incomparable"
