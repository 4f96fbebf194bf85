"""One schema as a set of values: what it accepts, and small values that it does.

Values are made by rough rules and checked before they are handed out. Schemas are in their one spelling (see
`normalise`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from analyzer.contracts.comparison.tidy import text
from analyzer.contracts.repairs.exemplar import exemplar
from analyzer.contracts.verdicts.bounded import Bounded, Undecided, measure

__all__ = ["MAX_ITEMS", "MAX_LEVEL", "TYPES", "Side", "distinct", "element", "samples", "scalars", "types", "without"]

#: Levels of a made value, and alternatives of one place.
MAX_LEVEL = 8
MAX_VIEWS = 6
#: Compiled subschemas of one side; beyond, nothing more is made.
MAX_COMPILED = 600
#: Characters of all that is spelled for one side; beyond, nothing more is made.
MAX_TEXT = 2_000_000
#: A string or an array that a bound asks for is made up to this length.
MAX_LENGTH = 5_000
MAX_ITEMS = 60

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
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class _Judge:
    """A compiled schema, asked thousands of times: what costs most is done only where it is needed."""

    def __init__(self, schema: Any, *, assert_formats: bool) -> None:
        self._bounded = Bounded(schema, assert_formats=assert_formats)
        spelled = text(schema)
        self._no_references = '"$ref"' not in spelled  # without them, steps are at most subschemas times values
        self._patterns = '"pattern' in spelled

    def accepts(self, value: Any) -> bool | None:
        try:
            if self._bounded.valid(value, counted=self._no_references):
                return True
            if self._patterns:
                self._bounded.errors(value, limit=20)  # a refusal may be a pattern that was given up
        except Undecided:
            return None
        return False


class Side:
    """One of the two schemas: what it accepts, and small values that it does."""

    def __init__(self, document: Any, *, assert_formats: bool = False) -> None:
        """Take the whole document.

        Raises:
            Undecided: the engine may not judge by this schema.
        """
        self.document = document
        self.definitions: dict[str, Any] = document.get("$defs", {}) if isinstance(document, dict) else {}
        self.root = without(document, "$defs")
        self._assert_formats = assert_formats
        self._compiled: dict[str, _Judge | None] = {}
        self._samples: dict[str, list[Any]] = {}
        self._whole = _Judge(document, assert_formats=assert_formats)
        self._spelled = 0

    @property
    def spent(self) -> bool:
        """Whether the budget for made values is used up."""
        return self._spelled > MAX_TEXT

    def spelled(self, value: Any) -> str:
        """Spell a subschema, at the cost of the budget."""
        spelled = text(value)
        self._spelled += len(spelled)
        return spelled

    def judges(self, value: Any) -> bool | None:
        """Say whether the schema accepts the value; None where that cannot be decided."""
        try:
            measure(value)
        except Undecided:
            return None
        return self._whole.accepts(value)

    def accepts(self, schema: Any, value: Any) -> bool:
        """Say whether a subschema is known to accept the value."""
        if isinstance(schema, bool):
            return schema
        if self.spent:
            return False
        key = self.spelled(schema)
        if key not in self._compiled:
            if len(self._compiled) >= MAX_COMPILED:
                return False
            try:
                closed = {**schema, "$defs": self.definitions} if self.definitions else schema
                self._compiled[key] = _Judge(closed, assert_formats=self._assert_formats)
            except Undecided:
                self._compiled[key] = None
        compiled = self._compiled[key]
        return compiled is not None and compiled.accepts(value) is True

    def samples(self, schema: Any, level: int = 0) -> list[Any]:
        """Return up to three values that the subschema accepts, the smallest first."""
        if level > MAX_LEVEL or schema is False or self.spent:
            return []
        key = self.spelled(schema)
        if key not in self._samples:
            self._samples[key] = []  # a schema inside itself: its smallest value holds no other one
            self._samples[key] = self._make(schema, level)
        return self._samples[key]

    def _make(self, schema: Any, level: int) -> list[Any]:
        found: list[Any] = []
        for view in self.views(schema):
            found += [value for value in self._drafts(view, level) if self.accepts(schema, value)][:2]
        found = distinct(found)
        return [*found[:2], max(found, key=lambda value: len(text(value)))] if len(found) > 2 else found

    def _drafts(self, view: dict[str, Any], level: int) -> Iterator[Any]:
        if "enum" in view:
            yield from view["enum"][:4]
            return
        for name in types(view):
            if name == "object":
                names = view.get("required", [])
                yield self._object(view, names, level)
                yield self._object(view, sorted({*view.get("properties", {}), *names}), level)
            elif name == "array":
                for size in sorted({view.get("minItems", 0), max(1, view.get("minItems", 0))}):
                    yield self.array(view, size, level)
            else:
                yield from islice(scalars(view, name), 40)

    def _object(self, view: dict[str, Any], names: list[str], level: int) -> dict[str, Any]:
        out = {}
        for name in names:
            values = self.samples(self.member(view, name), level + 1)
            if values:
                out[name] = values[0]
        for name in ("x1", "x2", "x3", *(sample for p in view.get("patternProperties", {}) for sample in samples(p))):
            values = self.samples(self.member(view, name), level + 1)
            if len(out) < view.get("minProperties", 0) and name not in out and values:
                out[name] = values[0]
        return out

    def array(self, view: dict[str, Any], size: int, level: int) -> list[Any]:
        """Make an array of this many items for a view, or fewer where no further item is found."""
        out: list[Any] = []
        for index in range(min(size, MAX_ITEMS)):
            values = self.samples(element(view, index), level + 1)
            if view.get("uniqueItems"):
                item = element(view, index)
                wider = [*values, *islice((v for n in types(item) for v in scalars(item, n)), 200)]
                values = [v for v in distinct(wider) if v not in out and self.accepts(item, v)]
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
            schema = False if target is False else _merged(without(schema, "$ref"), target)
        if not isinstance(schema, dict):
            return []
        out = [without(schema, "allOf", "anyOf", "oneOf")]
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


def scalars(view: Any, name: str) -> Iterator[Any]:
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


def types(view: Any) -> tuple[str, ...]:
    """Return the type names of a view, the likeliest first."""
    if not isinstance(view, dict):
        return ()
    named = view.get("type")
    if named is None:
        # A schema without a type is most often meant for the type its other keywords are for.
        kinds = (("properties", "object"), ("required", "object"), ("items", "array"), ("pattern", "string"))
        first = next((kind for keyword, kind in kinds if keyword in view), "null")
        return (first, *(name for name in TYPES if name != first))
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


def without(schema: Any, *names: str) -> Any:
    """Return an object without these members."""
    return {key: member for key, member in schema.items() if key not in names} if isinstance(schema, dict) else schema


def distinct(values: list[Any]) -> list[Any]:
    """Return the values without repetition, in the order of their first occurrence."""
    return list({text(value): value for value in values}.values())


def samples(pattern: str) -> list[str]:
    """Return up to two strings that a pattern most likely matches, the shortest and a longer one."""
    short = exemplar(pattern)
    if short is None:
        return []
    longer = exemplar(pattern, least=len(short) + 1)
    return [short] if longer is None else [short, longer]
