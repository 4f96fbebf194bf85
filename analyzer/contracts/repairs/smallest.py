"""The smallest value that a set of subschemas should accept: a sketch, which the caller verifies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from analyzer.contracts.places import conjuncts, element, member, type_names
from analyzer.contracts.repairs.exemplar import LONGEST, exemplar

#: Stands where no value was found; no JSON value is it.
MISSING = object()
MARK = "placeholder"
FUEL = 6_000
_DEEPEST = 30
_MOST_BRANCHES = 8
_FORMATS = {
    "date": "1970-01-01",
    "date-time": "1970-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT0S",
    "email": "placeholder@example.com",
    "hostname": "example.com",
    "ipv4": "0.0.0.0",  # noqa: S104 - a text, nothing listens
    "ipv6": "::",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "json-pointer": "",
    "regex": "",
}


@dataclass
class Sketcher:
    """Sketches values for places of one schema; `fuel` bounds all the work it will ever do.

    With `marked` the values are meant for a payload: a schema's own default or the first of an enum, null where it is
    allowed, and texts that say what they are. Without it they are as small as they can be.
    """

    root: object
    marked: bool = False
    fuel: int = FUEL

    def refuel(self) -> None:
        """Begin anew, for another payload."""
        self.fuel = FUEL

    def sketch(self, schemas: Iterable[object], depth: int = 0) -> object:
        """A small value for the schemas together, or `MISSING`."""
        self.fuel -= 1
        given = list(schemas)
        if self.fuel < 0 or depth > _DEEPEST or any(schema is False for schema in given):
            return MISSING
        bound = conjuncts(self.root, given)
        for schema in bound:
            if "const" in schema:
                return schema["const"]
        types = allowed_types(bound)
        options = [values for schema in bound if isinstance(values := schema.get("enum"), list)]
        if options:
            fitting = [value for value in options[0] if any(is_type(value, name) for name in types)]
            return (fitting[0] if self.marked else min(fitting, key=size)) if fitting else MISSING
        if self.marked:
            for schema in bound:
                if "default" in schema:
                    return schema["default"]
        for keyword in ("anyOf", "oneOf"):
            for schema in bound:
                if isinstance(schema.get(keyword), list):
                    return self._branch(schema, keyword, bound, depth)
        return self._of_type(types, bound, depth)

    def _branch(self, schema: dict[str, object], keyword: str, bound: list[dict[str, object]], depth: int) -> object:
        # References and allOf are unfolded already: leaving them out keeps each alternative from being unfolded twice.
        rest = [
            {k: v for k, v in other.items() if k not in ("$ref", "allOf")} for other in bound if other is not schema
        ]
        own = {k: v for k, v in schema.items() if k not in (keyword, "$ref", "allOf")}
        branches = schema[keyword]
        assert isinstance(branches, list)
        found = (self.sketch([own, *rest, branch], depth + 1) for branch in branches[:_MOST_BRANCHES])
        return min((value for value in found if value is not MISSING), key=size, default=MISSING)

    def _of_type(self, types: list[str], bound: list[dict[str, object]], depth: int) -> object:
        for name in types:
            if name == "null":
                return None
            if name == "boolean":
                return False
            if name in ("integer", "number"):
                value: object = nearest_number(0, bound, whole=name == "integer")
            elif name == "string":
                value = next(self.texts(bound), MISSING)
            elif name == "array":
                value = self._array(bound, depth)
            else:
                value = self._object(bound, depth)
            if value is not MISSING and value is not None:
                return value
        return MISSING

    def texts(self, bound: list[dict[str, object]]) -> Iterator[str]:
        """Candidate strings, the likeliest first."""
        least, most = limit(bound, "minLength", max, 0), limit(bound, "maxLength", min, LONGEST)
        if least > LONGEST:
            return
        for schema in bound:
            pattern = schema.get("pattern")
            if isinstance(pattern, str):
                text = exemplar(pattern, least=int(least))
                if text is not None:
                    yield text
        for schema in bound:
            text = _FORMATS.get(str(schema.get("format")))
            if text is not None:
                yield text
        text = MARK if self.marked and len(MARK) <= most else ""
        yield text + "a" * (int(least) - len(text))

    def _array(self, bound: list[dict[str, object]], depth: int) -> object:
        least = limit(bound, "minItems", max, 0)
        wanted = [schema["contains"] for schema in bound if "contains" in schema and schema.get("minContains", 1) != 0]
        if least > LONGEST:
            return MISSING
        unique = any(schema.get("uniqueItems") is True for schema in bound)
        items: list[object] = []
        for index in range(max(int(least), len(wanted))):
            value = self.sketch([*element(bound, index), *wanted[index : index + 1]], depth + 1)
            if value is MISSING:
                return MISSING
            items.append(distinct(value, items) if unique else value)
        return items

    def _object(self, bound: list[dict[str, object]], depth: int) -> object:
        names = [name for schema in bound for name in listed(schema, "required")]
        for schema in bound:
            dependent = schema.get("dependentRequired", schema.get("dependencies"))
            if isinstance(dependent, dict):
                for name in names:  # grows while it is read: what one name requires may require more
                    names.extend(other for other in listed(dependent, name) if other not in names)
        least = int(min(limit(bound, "minProperties", max, 0), LONGEST))
        spare = [name for schema in bound for name in named(schema)] + [f"{MARK}{n}" for n in range(least)]
        names = list(dict.fromkeys(names))
        for name in dict.fromkeys(spare):
            if len(names) < least and name not in names:
                names.append(name)
        made: dict[str, object] = {}
        for name in names:
            value = self.sketch(member(bound, name), depth + 1)
            if value is MISSING:
                return MISSING
            made[name] = value
        return made


def allowed_types(bound: Iterable[dict[str, object]]) -> list[str]:
    """The JSON types that all conjuncts allow, the cheapest first; without a `type` those their keywords speak of."""
    types = list(type_names)
    spoken: list[str] = []
    for schema in bound:
        given = schema.get("type")
        names = [given] if isinstance(given, str) else given if isinstance(given, list) else None
        if names is not None:
            types = [name for name in types if name in names or (name == "integer" and "number" in names)]
            spoken = [*types, *spoken]
        for name, keywords in _SPEAKS:
            if any(keyword in schema for keyword in keywords):
                spoken.append(name)
    return [name for name in types if name in spoken] or types


_SPEAKS = (
    ("object", ("properties", "required", "patternProperties", "minProperties", "additionalProperties")),
    ("array", ("items", "prefixItems", "minItems", "contains")),
    ("string", ("pattern", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)


def is_type(value: object, name: str) -> bool:
    """Whether a JSON value has a JSON Schema type; 5.0 is an integer."""
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int | float):
        return name == "number" or (name == "integer" and (isinstance(value, int) or value.is_integer()))
    if name == "null":
        return value is None
    return isinstance(value, {"string": str, "array": list, "object": dict}.get(name, ()))


def nearest_number(value: float, bound: Iterable[dict[str, object]], *, whole: bool) -> float | None:
    """The number nearest to `value` inside all bounds, or None."""
    low, high, step = -math.inf, math.inf, 1.0 if whole else 0.0
    open_low = open_high = False
    for schema in bound:
        for keyword, flag in _BOUNDS.items():
            number = schema.get(keyword)
            if not is_number(number):
                continue
            # Draft 4 spells an open bound as a flag beside it.
            opened = keyword.startswith("exclusive") or schema.get(flag) is True
            if keyword in ("minimum", "exclusiveMinimum") and (number > low or (number == low and opened)):
                low, open_low = number, opened
            elif keyword in ("maximum", "exclusiveMaximum") and (number < high or (number == high and opened)):
                high, open_high = number, opened
        multiple = schema.get("multipleOf")
        if is_number(multiple) and not (whole and multiple == int(multiple) == 1):
            step = max(step, float(multiple)) if not step or multiple % step == 0 else step * multiple
    number = min(max(value if is_number(value) else 0, low), high)
    candidates = [number] if not step else []
    if step and math.isfinite(number / step):
        candidates = [_times(step, math.floor(number / step) + n) for n in (0, 1, -1, 2)]
    elif not step:
        candidates += [low + 1, high - 1, (low + high) / 2]
    for candidate in sorted((c for c in candidates if math.isfinite(c)), key=lambda c: abs(c - number)):
        if low <= candidate <= high and not (open_low and candidate == low) and not (open_high and candidate == high):
            return candidate
    return None


_BOUNDS = {
    "minimum": "exclusiveMinimum",
    "exclusiveMinimum": "",
    "maximum": "exclusiveMaximum",
    "exclusiveMaximum": "",
}


def _times(step: float, count: int) -> float:
    product = round(step * count, 12)
    return int(product) if product.is_integer() else product


def is_number(value: object) -> TypeGuard[float]:
    """Whether the value is a number that arithmetic can bear: no boolean, not infinite, below 1e300."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def limit(
    bound: Iterable[dict[str, object]], keyword: str, choose: Callable[[list[float]], float], default: float
) -> float:
    """The tightest of a numeric keyword over the conjuncts."""
    return choose([default, *(value for schema in bound if is_number(value := schema.get(keyword)))])


def listed(schema: dict[str, object], keyword: object) -> list[str]:
    """The strings that a keyword lists, nothing when it lists something else."""
    values = schema.get(str(keyword))
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def named(schema: dict[str, object]) -> list[str]:
    """The names of `properties`."""
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def size(value: object) -> int:
    """How many characters a value takes as JSON, roughly: what makes one value smaller than another."""
    total, queue = 0, [value]
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            total += 2 + sum(len(name) + 4 for name in value)
            queue.extend(value.values())
        elif isinstance(value, list):
            total += 2 + len(value)
            queue.extend(value)
        elif isinstance(value, str):
            total += 2 + len(value)
        else:
            total += 4 if value is None or isinstance(value, int) else 8
    return total


def distinct(value: object, others: list[object]) -> object:
    """A variation of a scalar that is not among the others."""
    for n in range(len(others) + 1):
        varied = value + n if is_number(value) else value + str(n) if n and isinstance(value, str) else value
        if varied not in others:
            return varied
    return value
