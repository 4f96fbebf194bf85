"""Proofs that every value one schema accepts is accepted by another.

The engine's own containment decides most pairs; where it does not, the pair is taken apart at the members and items
both have, which also carries a proof through schemas that contain themselves. Schemas are in their one spelling (see
`normalise`). A proof is certain; no proof says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from analyzer.contracts.comparison.tidy import text

__all__ = ["Prover"]

#: Pairs of subschemas looked at for one question.
MAX_PAIRS = 3_000
#: Alternatives that the engine may have to multiply out for one pair, and for all: it takes a millisecond for each.
MAX_CHOICES = 64
MAX_CHOICES_IN_ALL = 1_000
#: Characters of a pair of schemas for the engine, and of all that was spelled on the way.
MAX_TEXT = 200_000
MAX_TEXT_IN_ALL = 2_000_000
_Pair = tuple[str, str]


class _Spent(Exception):
    """The budget for one pair of documents is used up."""


class Prover:
    """Proves inclusion between the subschemas of two documents, `left` in `right`, within a budget of work."""

    def __init__(self, left: Any, right: Any, *, assert_formats: bool = False) -> None:
        """Take the two documents; their `$defs` are what references in them name."""
        self._left = left.get("$defs", {}) if isinstance(left, dict) else {}
        self._right = right.get("$defs", {}) if isinstance(right, dict) else {}
        self._assert_formats = assert_formats
        self._pairs = 0
        self._known: dict[_Pair, bool] = {}
        self._assumed: dict[_Pair, tuple[int, int]] = {}  # open pair -> its place on the stack, its level in the value
        self._lowest = MAX_PAIRS  # the lowest place on the stack that the current proof leans on
        self._choices = 0
        self._spelled = 0

    def proves(self, a: Any, b: Any) -> bool:
        """Say whether every value that `a` (of left) accepts is proved to be accepted by `b` (of right)."""
        try:
            return self._subset(_bare(a), _bare(b), 0)
        except _Spent:
            self._assumed.clear()
            return False

    def _text(self, value: Any) -> str:
        spelled = text(value)
        self._spelled += len(spelled)
        if self._spelled > MAX_TEXT_IN_ALL:
            raise _Spent
        return spelled

    def _subset(self, a: Any, b: Any, level: int) -> bool:
        if a is False or b == {}:
            return True
        pair = (self._text(a), self._text(b))
        if pair in self._known:
            return self._known[pair]
        if pair in self._assumed:
            # Induction on the size of the value: what is asked again must be about a part of it.
            place, start = self._assumed[pair]
            self._lowest = min(self._lowest, place)
            return level > start
        self._pairs += 1
        if self._pairs > MAX_PAIRS:
            return False
        outer, self._lowest = self._lowest, MAX_PAIRS
        place = len(self._assumed)
        self._assumed[pair] = (place, level)
        proved = self._decide(a, b, level)
        del self._assumed[pair]
        if not proved or self._lowest >= place:  # a proof that leans on an open assumption is good only below it
            self._known[pair] = proved
        self._lowest = min(outer, self._lowest)
        return proved

    def _decide(self, a: Any, b: Any, level: int) -> bool:
        if "$ref" not in self._text([a, b]):
            if self._engine(a, b):
                return True
        elif self._text([a, self._left]) == self._text([b, self._right]):
            return True
        a, b = _unfold(a, self._left), _unfold(b, self._right)
        if not isinstance(a, dict) or not isinstance(b, dict):
            return a is False
        if any(name.startswith("unevaluated") for name in (*a, *b)):
            return False  # such a schema says something else once taken apart
        return self._by_parts(a, b, level) or self._by_branches(a, b, level)

    def _by_parts(self, a: dict[str, Any], b: dict[str, Any], level: int) -> bool:
        """Prove the members and items both have one by one, and the rest with these left open."""
        a, b = _aligned(a, b), _aligned(b, a)
        places = [
            place for place in _shared(a, b) if self._text(_at(a, place)) != "{}" or self._text(_at(b, place)) != "{}"
        ]
        if not places:
            return False
        bare_a, bare_b = a, b
        for place in places:
            bare_a, bare_b = _opened(bare_a, place), _opened(bare_b, place)
        if "$ref" in self._text([bare_a, bare_b]) or not self._engine(bare_a, bare_b):
            return False
        return all(self._subset(_at(a, place), _at(b, place), level + 1) for place in places)

    def _by_branches(self, a: dict[str, Any], b: dict[str, Any], level: int) -> bool:
        """Prove every alternative of `a` within `b`, then `a` within every part, or some alternative, of `b`."""
        for name in ("anyOf", "oneOf"):
            if name in a:
                rest = {key: member for key, member in a.items() if key != name}
                if all(self._subset(_and(rest, branch), b, level) for branch in a[name]):
                    return True
        rest = {key: member for key, member in b.items() if key not in ("allOf", "anyOf")}
        if "allOf" in b and all(self._subset(a, part, level) for part in b["allOf"]):
            b_rest = {key: member for key, member in b.items() if key != "allOf"}
            return self._subset(a, b_rest, level)
        if "anyOf" in b and "allOf" not in b:
            some = any(self._subset(a, branch, level) for branch in b["anyOf"])
            return some and self._subset(a, rest, level)
        return False

    def _engine(self, a: Any, b: Any) -> bool:
        if a is False or b == {}:
            return True
        if self._text(a) == self._text(b):
            return True
        both = self._text([a, b])
        if '"unevaluated' in both and '"if"' in both:
            return False  # the engine's algebra forgets that a condition alone looks at members and items
        choices = _choices(a) * _choices(b)
        self._choices += choices
        if choices > MAX_CHOICES or self._choices > MAX_CHOICES_IN_ALL or len(both) > MAX_TEXT:
            return False
        try:
            left, right = (self._canonical(schema) for schema in (a, b))
            return right.covers(left) == jsonschema_rs.canonical.Containment.YES
        except ValueError:  # every error of the engine's algebra is one
            return False

    def _canonical(self, schema: Any) -> jsonschema_rs.CanonicalSchema:
        return jsonschema_rs.canonicalize(
            schema, draft=jsonschema_rs.Draft202012, validate_formats=self._assert_formats, offline=True
        )


def _bare(schema: Any) -> Any:
    return {name: member for name, member in schema.items() if name != "$defs"} if isinstance(schema, dict) else schema


def _unfold(schema: Any, definitions: dict[str, Any]) -> Any:
    """Put what a reference names in its place, where nothing else stands beside it."""
    for _ in range(len(definitions) + 1):
        if not isinstance(schema, dict) or set(schema) != {"$ref"}:
            break
        schema = definitions.get(schema["$ref"].removeprefix("#/$defs/"), schema)
    return schema


def _shared(a: dict[str, Any], b: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The places where a subschema of `a` and one of `b` speak of the same values, whatever the value is."""
    for name in sorted(a.get("properties", {}).keys() & b.get("properties", {}).keys()):
        yield ("properties", name)
    same_names = a.get("properties", {}).keys() == b.get("properties", {}).keys()
    same_patterns = text(a.get("patternProperties")) == text(b.get("patternProperties"))
    if same_names and same_patterns and "additionalProperties" in b:
        yield ("additionalProperties",)
    if len(a.get("prefixItems", ())) == len(b.get("prefixItems", ())) and "items" in b:
        yield ("items",)


def _aligned(schema: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The same schema, which also names the members that only the other one names."""
    if "patternProperties" in schema or "properties" not in other:
        return schema
    rest = schema.get("additionalProperties", {})
    return {**schema, "properties": {**dict.fromkeys(other["properties"], rest), **schema.get("properties", {})}}


def _at(schema: dict[str, Any], place: tuple[str, ...]) -> Any:
    found: Any = schema
    for step in place:
        found = found.get(step, {})
    return found


def _opened(schema: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    """The schema with one place of it accepting anything; the member stays named."""
    if len(place) == 1:
        return {name: member for name, member in schema.items() if name != place[0]}
    return {**schema, place[0]: {**schema[place[0]], place[1]: {}}}


def _and(rest: dict[str, Any], branch: Any) -> Any:
    if not rest or branch is False:
        return branch
    return {**rest, "allOf": [*rest.get("allOf", []), branch]}


def _choices(schema: Any) -> int:
    """How many alternatives a schema has once multiplied out; members and items are apart from each other."""
    if not isinstance(schema, dict):
        return 1
    product = 1
    for name in ("anyOf", "oneOf"):
        product *= max(1, sum(_choices(branch) for branch in schema.get(name, ())))
    for part in schema.get("allOf", ()):
        product *= _choices(part)
    for name in ("not", "if", "then", "else", "contains"):
        product *= 1 + _choices(schema[name]) if name in schema else 1
    below = [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values()]
    below += [*schema.get("prefixItems", ()), schema.get("items"), schema.get("additionalProperties")]
    return max([product, *map(_choices, below)])
