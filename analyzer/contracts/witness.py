"""Values that tell two schemas apart: made at the places where they differ, and checked before they are believed.

What is made is only a guess; a witness is a value that the engine accepts under one schema and refuses under the
other. Schemas are in their one spelling (see `normalise`). The order of the guesses is fixed, so is the witness.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from analyzer.contracts.bounded import Bounded, Undecided
from analyzer.contracts.pattern_sample import samples
from analyzer.contracts.tidy import spell

__all__ = ["Side", "probes"]

#: Levels of a made value, alternatives of one place, and values made for one place.
MAX_LEVEL = 8
MAX_VIEWS = 6
MAX_VALUES = 256
#: Values made for one pair of schemas, those inside others counted as well.
MAX_MADE = 10_000
#: Compiled subschemas of one side; beyond, nothing more is made.
MAX_COMPILED = 600
#: A string or an array that a bound asks for is made up to this length.
MAX_LENGTH = 5_000
MAX_ITEMS = 60

_GENERIC: tuple[Any, ...] = (None, True, 0, -1, 1.5, "x", "", "x y", [], ["x"], {}, {"x": "x"})
_FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class Side:
    """One of the two schemas: what it accepts, and small values that it does."""

    def __init__(self, document: Any, *, assert_formats: bool = False) -> None:
        """Take the whole document.

        Raises:
            Undecided: the engine may not judge by this schema.
        """
        self.document = document
        self.definitions: dict[str, Any] = document.get("$defs", {}) if isinstance(document, dict) else {}
        self.root = _without(document, "$defs")
        self._assert_formats = assert_formats
        self._compiled: dict[str, Bounded | None] = {}
        self._samples: dict[str, list[Any]] = {}
        self._whole = Bounded(document, assert_formats=assert_formats)

    def judges(self, value: Any) -> bool | None:
        """Say whether the schema accepts the value; None where that cannot be decided."""
        return _judge(self._whole, value)

    def accepts(self, schema: Any, value: Any) -> bool:
        """Say whether a subschema is known to accept the value."""
        if isinstance(schema, bool):
            return schema
        key = spell(schema)
        if key not in self._compiled:
            if len(self._compiled) >= MAX_COMPILED:
                return False
            try:
                closed = {**schema, "$defs": self.definitions} if self.definitions else schema
                self._compiled[key] = Bounded(closed, assert_formats=self._assert_formats)
            except Undecided:
                self._compiled[key] = None
        compiled = self._compiled[key]
        return compiled is not None and _judge(compiled, value) is True

    def samples(self, schema: Any, level: int = 0) -> list[Any]:
        """Return up to three values that the subschema accepts, the smallest first."""
        if level > MAX_LEVEL or schema is False:
            return []
        key = spell(schema)
        if key not in self._samples:
            self._samples[key] = []  # a schema inside itself: its smallest value holds no other one
            self._samples[key] = self._make(schema, level)
        return self._samples[key]

    def _make(self, schema: Any, level: int) -> list[Any]:
        found: list[Any] = []
        for view in self.views(schema):
            found += [value for value in self._drafts(view, level) if self.accepts(schema, value)][:2]
        found = _distinct(found)
        return [*found[:2], max(found, key=lambda value: len(spell(value)))] if len(found) > 2 else found

    def _drafts(self, view: dict[str, Any], level: int) -> Iterator[Any]:
        if "enum" in view:
            yield from view["enum"][:4]
            return
        for name in _names(view):
            if name == "object":
                names = view.get("required", [])
                yield self._object(view, names, level)
                yield self._object(view, sorted({*view.get("properties", {}), *names}), level)
            elif name == "array":
                for size in sorted({view.get("minItems", 0), max(1, view.get("minItems", 0))}):
                    yield self.array(view, size, level)
            else:
                yield from islice(_scalars(view, name), 40)

    def _object(self, view: dict[str, Any], names: list[str], level: int) -> dict[str, Any]:
        out = {}
        for name in names:
            values = self.samples(self.member(view, name), level + 1)
            if values:
                out[name] = values[0]
        for name in ("x1", "x2", "x3", *(text for p in view.get("patternProperties", {}) for text in samples(p))):
            values = self.samples(self.member(view, name), level + 1)
            if len(out) < view.get("minProperties", 0) and name not in out and values:
                out[name] = values[0]
        return out

    def array(self, view: dict[str, Any], size: int, level: int) -> list[Any]:
        out: list[Any] = []
        for index in range(min(size, MAX_ITEMS)):
            values = self.samples(element(view, index), level + 1)
            if view.get("uniqueItems"):
                item = element(view, index)
                wider = [*values, *islice((v for n in _names(item) for v in _scalars(item, n)), 200)]
                values = [v for v in _distinct(wider) if v not in out and self.accepts(item, v)]
            if "contains" in view and self.samples(view["contains"], level + 1):
                values = self.samples(view["contains"], level + 1)
            if not values:
                break
            out.append(values[0])
        return out

    def views(self, schema: Any) -> list[dict[str, Any]]:
        """Return the alternatives of a subschema, each joined with what holds for all of them."""
        for _ in range(len(self.definitions) + 1):
            if not isinstance(schema, dict) or "$ref" not in schema:
                break
            target = self.definitions.get(schema["$ref"].removeprefix("#/$defs/"), {})
            schema = False if target is False else _merged(_without(schema, "$ref"), target)
        if not isinstance(schema, dict):
            return []
        out = [_without(schema, "allOf", "anyOf", "oneOf")]
        for part in schema.get("allOf", []):
            out = [_merged(view, other) for view, other in product(out, self.views(part))][:MAX_VIEWS]
        for name in ("anyOf", "oneOf"):
            if name in schema:
                branches = [view for branch in schema[name] for view in self.views(branch)]
                out = [_merged(view, branch) for branch, view in product(branches, out)][:MAX_VIEWS]
        for names in (("if", "then"), ("else",), ("not",)):
            met = [part for name in names for part in self.views(schema.get(name, False))[:1]]
            if len(met) == len(names):
                out += [functools.reduce(_merged, met, view) for view in out[:2]]
        return out

    def member(self, view: dict[str, Any], name: str) -> Any:
        """Return the subschema that a view has for a member of this name."""
        if name in view.get("properties", {}):
            return view["properties"][name]
        for pattern, schema in view.get("patternProperties", {}).items():
            if self.accepts({"pattern": pattern}, name):
                return schema
        return view.get("additionalProperties", {})


def probes(a: Side, b: Side) -> Iterator[Any]:
    """Make values near the differences of two schemas; how many is bounded."""
    return islice(_Prober(a, b).near(a.root, b.root, 0), MAX_MADE)


class _Prober:
    """Walks two schemas side by side and goes down only where they differ."""

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.made = 0
        self.open: set[str] = set()

    def near(self, in_a: Any, in_b: Any, level: int) -> Iterator[Any]:
        base = _distinct([*self.a.samples(in_a), *self.b.samples(in_b)])
        yield from base
        pair = spell([in_a, in_b])
        same = spell([in_a, self.a.definitions]) == spell([in_b, self.b.definitions])
        if same or level > MAX_LEVEL or pair in self.open:
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
            for view, name in product((one, other), _TYPES[2:5]):
                if name in _names(view):
                    yield from _scalars(view, name)
            yield from self.objects(one, other, objects, level)
            yield from self.arrays(one, other, arrays, level)
        yield from _GENERIC

    def below(self, in_a: Any, in_b: Any, level: int) -> list[Any]:
        """Make the values for one member or item; the deeper it is, the fewer."""
        return _distinct([*islice(self.near(in_a, in_b, level + 1), MAX_VALUES >> level)])

    def objects(
        self, one: dict[str, Any], other: dict[str, Any], bases: list[dict[str, Any]], level: int
    ) -> Iterator[Any]:
        """Change one member of a sample at a time: leave it out, or put in what one of the two may refuse."""
        names: set[str] = set()
        for view in (one, other):
            names |= {*view.get("properties", {}), *view.get("required", ()), *view.get("dependentRequired", {})}
            names |= {text for pattern in view.get("patternProperties", {}) for text in samples(pattern)}
        spare = next(f"extra{'_' * n}" for n in range(len(names) + 1) if f"extra{'_' * n}" not in names)
        for name in [*sorted(names), spare, "extra 1", "X"]:
            for base in bases:
                if name in base:
                    yield _without(base, name)
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


def _scalars(view: Any, name: str) -> Iterator[Any]:
    """Make values of one scalar type on both sides of every bound of a view."""
    if not isinstance(view, dict):
        return
    if name == "null":
        yield None
    elif name == "boolean":
        yield from (True, False)
    elif name == "string":
        yield from _strings(view)
    elif name in ("integer", "number"):
        edges = [view[b] for b in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if b in view]
        step = view.get("multipleOf", 1)
        for edge in edges or [0]:
            yield from (edge, edge + 1, edge - 1)
            if max(abs(edge), abs(step)) > 2**60:
                continue  # beyond what a float adds exactly
            if name == "number":
                yield from (edge + 0.5, edge - 0.5)
            whole = edge // step * step if step else edge
            yield from (whole, whole + step, whole - step, whole + 2 * step)
        yield from (1, step, 0.5)
        yield from range(2, 40)


def _strings(view: dict[str, Any]) -> Iterator[str]:
    low, high = view.get("minLength", 0), view.get("maxLength")
    yield from samples(view["pattern"]) if "pattern" in view else ()
    if view.get("format") in _FORMATS:
        yield _FORMATS[view["format"]]
    lengths = [low, max(low, 1), *([low - 1] if low else []), *([high, high + 1] if high is not None else [])]
    for length in lengths:
        if length <= MAX_LENGTH:
            yield "a" * length
            for one in samples(view.get("pattern", "")):
                yield (one + one[-1:] * max(length - len(one), 0))[:length] if one else one
    yield from ("X", "x y", "0", *(letter * max(low, 1) for letter in "bcdefgh" if low < MAX_LENGTH))


def element(view: Any, index: int) -> Any:
    """Return the subschema that a view has for the item at an index."""
    if not isinstance(view, dict):
        return {}
    front = view.get("prefixItems", ())
    return front[index] if index < len(front) else view.get("items", {})


def _names(view: Any) -> tuple[str, ...]:
    if not isinstance(view, dict):
        return ()
    named = view.get("type")
    if named is None:
        # A schema without a type is most often meant for the type its other keywords are for.
        kinds = (("properties", "object"), ("required", "object"), ("items", "array"), ("pattern", "string"))
        first = next((kind for keyword, kind in kinds if keyword in view), "null")
        return (first, *(name for name in _TYPES if name != first))
    return (named,) if isinstance(named, str) else tuple(named)


def _merged(view: dict[str, Any], other: Any) -> dict[str, Any]:
    """Join two schemas roughly; whoever uses the result checks it."""
    if not isinstance(other, dict):
        return view
    out = {**view, **other}
    for name in ("properties", "patternProperties"):
        if name in view and name in other:
            out[name] = {**view[name], **other[name]}
    if "required" in view and "required" in other:
        out["required"] = sorted({*view["required"], *other["required"]})
    return out


def _judge(compiled: Bounded, value: Any) -> bool | None:
    try:
        if compiled.valid(value):
            return True
        compiled.errors(value)  # a refusal may be a pattern that was given up
    except Undecided:
        return None
    return False


def _without(schema: Any, *names: str) -> Any:
    return {key: member for key, member in schema.items() if key not in names} if isinstance(schema, dict) else schema


def _distinct(values: list[Any]) -> list[Any]:
    return list({spell(value): value for value in values}.values())


def _distinct_pairs(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return list({spell(list(pair)): pair for pair in pairs}.values())[: MAX_VIEWS * 2]
