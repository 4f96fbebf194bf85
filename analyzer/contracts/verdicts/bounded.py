"""A validator whose work is bounded before it starts: hostile schemas and payloads are refused, never run.

The engine shares references when it compiles but not when it validates: thirty definitions that each name the next one
twice are a billion steps. So the steps are counted first, over pairs of subschema and value, and what would take too
many is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import jsonschema_rs

from analyzer.contracts import dialects
from analyzer.contracts.places import REFERENCES, resolve, subschemas
from analyzer.contracts.schemas import canonical
from analyzer.contracts.verdicts.notes import as_notes

DEEPEST = 500
MOST_SUBSCHEMAS = 5_000
MOST_VALUES = 20_000
MOST_STEPS = 200_000
#: Up to here a bound on the steps says as much as their number.
_FEW_STEPS = 1_500
#: Levels of recursion inside the engine, which ends the process somewhere past 20,000.
_DEEPEST_CHAIN = 5_000
_IN_PLACE_ONE = ("not", "if", "then", "else")
_IN_PLACE_MANY = ("allOf", "anyOf", "oneOf")


class Undecided(Exception):
    """The engine could not or may not judge this payload; the text says why."""


class Bounded:
    """One compiled schema; `valid` and `errors` raise `Undecided` and nothing else."""

    def __init__(self, schema: object, *, dialect: str = dialects.DEFAULT, assert_formats: bool = False) -> None:
        """Compile offline, in the dialect of `$schema`, or in `dialect` where it names none.

        Raises:
            Undecided: the schema is no schema, too deep, too large, or leads outside the document.
        """
        if not isinstance(schema, dict | bool):
            raise Undecided("not a schema")
        measure(schema)
        self._subschemas = _count_subschemas(schema)
        self.schema = schema
        self.dialect = dialect
        told = {"$schema": dialects.META_SCHEMAS[dialect], **schema} if isinstance(schema, dict) else schema
        try:
            self._validator = jsonschema_rs.validator_for(
                told,
                offline=True,
                validate_formats=assert_formats,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=20_000),
                **as_notes(canonical(schema)),
            )
        except BaseException as error:  # noqa: BLE001 - a panic of the engine
            raise _undecided(error) from None

    def steps(self, payload: object) -> int:
        """Subschema applications that judging `payload` takes, at most; raises `Undecided` beyond the limit."""
        values = measure(payload)
        # Where nothing is referred to, no subschema meets a value twice.
        if self._subschemas is not None and self._subschemas * values <= _FEW_STEPS:
            return self._subschemas * values
        return _steps(self.schema, payload)

    def valid(self, payload: object, *, counted: bool = False) -> bool:
        """Whether the payload passes; `counted` when `steps` was asked before, of this schema or a slighter one."""
        if not counted:
            self.steps(payload)
        try:
            return self._validator.is_valid(payload)
        except BaseException as error:  # noqa: BLE001 - a panic of the engine
            raise _undecided(error) from None

    def errors(
        self, payload: object, *, limit: int = 100, counted: bool = False
    ) -> list[jsonschema_rs.ValidationError]:
        """The first failures, in a stable order; raises `Undecided` when a pattern hit the backtracking limit."""
        if not counted:
            self.steps(payload)
        try:
            found = list(islice(self._validator.iter_errors(payload), limit))
        except BaseException as error:  # noqa: BLE001 - a panic of the engine
            raise _undecided(error) from None
        if any("Max limit for backtracking" in error.message for error in found):
            raise Undecided("pattern undecided")
        return sorted(
            found,
            key=lambda error: ([str(key) for key in error.instance_path], [str(key) for key in error.schema_path]),
        )


def measure(value: object) -> int:
    """The number of values in a JSON value; raises `Undecided` when it is too deep or too large."""
    count, level = 0, [value]
    for _ in range(DEEPEST + 1):
        count += len(level)
        if count > MOST_VALUES:
            raise Undecided("too large")
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return count
    raise Undecided("too deep")


def _count_subschemas(schema: object) -> int | None:
    """How many there are; None where a keyword leads to one that stands elsewhere."""
    count, queue, apart = 0, [schema], False
    while queue:
        count += 1
        if count > MOST_SUBSCHEMAS:
            raise Undecided("too many subschemas")
        each = queue.pop()
        apart = apart or (isinstance(each, dict) and any(word in each for word in (*REFERENCES, "dependencies")))
        queue.extend(subschemas(each))
    return None if apart else count


def _steps(root: object, payload: object) -> int:
    """Memoised count over (subschema, value) pairs, iterative because chains of references can be long."""
    cost: dict[tuple[int, int], int] = {}
    depth: dict[tuple[int, int], int] = {}
    targets: dict[str, object] = {}
    stack: list[tuple[object, object, list[tuple[object, object]] | None]] = [(root, payload, None)]
    pairs = 0
    while stack:
        schema, value, parts = stack.pop()
        key = (id(schema), id(value))
        if parts is None:
            if key in cost:
                continue
            # A pair that meets itself again is a loop of references, which the engine cuts as well.
            cost[key] = 1
            parts = list(_applied(root, schema, value, targets))
            pairs += 1 + len(parts)
            if pairs > MOST_STEPS:
                raise Undecided("too many steps")
            stack.append((schema, value, parts))
            stack.extend((below, child, None) for below, child in parts)
        else:
            cost[key] = 1 + sum(cost[id(below), id(child)] for below, child in parts)
            depth[key] = 1 + max((depth.get((id(below), id(child)), 0) for below, child in parts), default=0)
            if cost[key] > MOST_STEPS or depth[key] > _DEEPEST_CHAIN:
                raise Undecided("too many steps")
    return cost[id(root), id(payload)]


def _applied(
    root: object, schema: object, value: object, targets: dict[str, object]
) -> Iterator[tuple[object, object]]:
    if not isinstance(schema, dict):
        return
    for keyword in REFERENCES:
        reference = schema.get(keyword)
        if isinstance(reference, str):
            if reference not in targets:
                targets[reference] = resolve(root, reference)
            if targets[reference] is None:
                raise Undecided("reference not followed")
            yield targets[reference], value
    for keyword in _IN_PLACE_ONE:
        if keyword in schema:
            yield schema[keyword], value
    for keyword in _IN_PLACE_MANY:
        if isinstance(schema.get(keyword), list):
            yield from ((branch, value) for branch in schema[keyword])
    if isinstance(value, dict):
        yield from _applied_to_members(schema, value)
    elif isinstance(value, list):
        yield from _applied_to_items(schema, value)


def _applied_to_members(schema: dict[str, object], value: dict[str, object]) -> Iterator[tuple[object, object]]:
    for keyword in ("dependentSchemas", "dependencies"):
        dependent = schema.get(keyword)
        if isinstance(dependent, dict):
            yield from ((below, value) for name, below in dependent.items() if name in value)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield from ((properties[name], child) for name, child in value.items() if name in properties)
    named = schema.get("patternProperties")
    every = list(named.values()) if isinstance(named, dict) else []
    every += [schema[k] for k in ("additionalProperties", "unevaluatedProperties", "propertyNames") if k in schema]
    yield from ((below, child) for below in every for child in value.values())


def _applied_to_items(schema: dict[str, object], value: list[object]) -> Iterator[tuple[object, object]]:
    every = []
    for keyword in ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"):
        below = schema.get(keyword)
        if isinstance(below, list):
            yield from zip(below, value, strict=False)
        elif isinstance(below, dict):
            every.append(below)
    yield from ((below, child) for below in every for child in value)


def _undecided(error: BaseException) -> Undecided:
    # A panic of the engine derives from BaseException; an interrupt of the user must still pass.
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    return Undecided(f"engine: {type(error).__name__}")
