"""Failures in words: which keyword, where in the payload, by which place of the schema, expected and actual."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jsonschema_rs

from analyzer.pointer import pointer

_SHORT = 300
_MOST_LEVELS = 8
_NOTHING = object()
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_Kind = jsonschema_rs.ValidationErrorKind
# A false schema fails in the name of the keyword that holds it, unless that is a member's name.
_HOLDERS = frozenset(
    {"items", "additionalItems", "unevaluatedItems", "contains", "then", "else", "propertyNames", "prefixItems"}
)
_NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies")


class Violation(NamedTuple):
    """One keyword that failed, of a member that should not be there or is absent: one for each such member.

    `expected` is the JSON text of what the schema says there, `actual` that of the failing value: unmasked, and cut
    when long. For a member that should not be there `actual` holds just this one, for an absent one it is empty.
    """

    instance_pointer: str
    schema_pointer: str
    keyword: str
    expected: str
    actual: str
    branch: int | None = None  #: of `anyOf` and `oneOf`, the branch that came nearest; its own failures follow
    member: str | None = None  #: the extra or the absent one, or the first of the branches that passed where one may
    level: int = 0  #: 0 for a failure of the payload, one more for each branch it is told from


def undecided(error: jsonschema_rs.ValidationError) -> bool:
    """Say whether an error means that the engine gave a pattern up, and so that it does not know.

    Only the kind tells: the message holds the payload, which may well speak of backtracking.
    """
    kind = error.kind
    if isinstance(kind, _Kind.BacktrackLimitExceeded | _Kind.RegexEngineFailure):
        return True
    if isinstance(kind, _Kind.PropertyNames):
        return undecided(kind.error)
    if isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid):
        return any(branch and all(undecided(one) for one in branch) for branch in kind.context)
    return False


def more_than(value: object, most: int) -> bool:
    """Say whether a JSON value is made of more than `most` values."""
    count, stack = 1, [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list):
            count += len(item)
            if count > most:
                return True
            stack.extend(item.values() if isinstance(item, dict) else item)
    return False


def tell(
    errors: Iterable[jsonschema_rs.ValidationError], schema: object, payload: object, *, limit: int
) -> list[Violation]:
    """Put the engine's errors into words, in the order of the payload's members and then of the schema's.

    Of failed alternatives the nearest branch is told after the failure, a level deeper. `limit` counts level 0.
    """
    certain = [error for error in errors if not undecided(error)]
    if len(certain) > 1:
        certain.sort(key=_order)
    told: list[Violation] = []
    for error in certain:
        if limit <= 0:
            break
        found = list(_tell(error, schema, payload, 0, most=limit))
        limit -= sum(each.level == 0 for each in found)
        told += found
    return told


def _order(error: jsonschema_rs.ValidationError) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]], str]:
    return _steps(error.instance_path), _steps(error.schema_path), error.message


def _steps(path: Iterable[str | int]) -> list[tuple[int, int, str]]:
    return [(0, step, "") if isinstance(step, int) else (1, 0, step) for step in path]


def _tell(
    error: jsonschema_rs.ValidationError, schema: object, payload: object, level: int, *, most: int
) -> Iterator[Violation]:
    """The failure itself, once for each of at most `most` extra members, then what the nearest branch misses."""
    # The engine makes these anew whenever they are asked for.
    kind, at, by = error.kind, error.instance_path, error.schema_path
    actual = _at(payload, at, _NOTHING)
    if actual is _NOTHING:
        actual = error.instance
    nearest: tuple[int, list[jsonschema_rs.ValidationError]] | None = None
    members: list[str | None] = [None]
    extra = isinstance(kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties)
    if isinstance(kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties):
        members = list(sorted(kind.unexpected)[:most])
    elif isinstance(kind, _Kind.Required):
        members = [kind.property]
    elif isinstance(kind, _Kind.PropertyNames):
        members, actual = [str(kind.error.instance)], kind.error.instance
    elif isinstance(kind, _Kind.OneOfMultipleValid):
        members = [next((str(index) for index, errors in enumerate(kind.context) if not errors), None)]
    elif isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid):
        nearest = _nearest(kind.context, len(at))
    place = pointer(at), pointer(by), *_keyword(error, kind, by, schema)
    branch = nearest[0] if nearest else None
    for member in members:
        here = {member: actual[member]} if extra and isinstance(actual, dict) and member in actual else actual
        yield Violation(*place, "" if isinstance(kind, _Kind.Required) else text_of(here), branch, member, level)
    if nearest and level < _MOST_LEVELS:
        for each in sorted(nearest[1], key=_order):
            yield from _tell(each, schema, payload, level + 1, most=most)


def _keyword(
    error: jsonschema_rs.ValidationError, kind: jsonschema_rs.ValidationErrorKind, path: list[str | int], schema: object
) -> tuple[str, str]:
    """The keyword that failed, and what the schema says there."""
    if isinstance(kind, _Kind.Required):
        # `dependentRequired` fails as `required` does, at a place of its own.
        return _last(path, "required"), text_of(kind.property, _SHORT)
    if isinstance(kind, _Kind.FalseSchema):
        holder, named = _last(path, ""), len(path) > 1 and path[-2] in _NAMED
        return (holder if holder in _HOLDERS and not named else "false"), "false"
    if isinstance(kind, _Kind.PropertyNames):
        return "propertyNames", text_of({_last(path, ""): _at(schema, path, None)}, _SHORT)
    values = [value for name, value in kind.as_dict().items() if name != "context"]
    says = values[0] if len(values) == 1 else error.message
    if isinstance(kind, _Kind.Type) and len(kind.types) == 1:
        says = kind.types[0]
    return kind.name, text_of(_at(schema, path, says), _SHORT)


def _last(path: list[str | int], default: str) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), default)


def _nearest(
    branches: list[list[jsonschema_rs.ValidationError]], depth_here: int
) -> tuple[int, list[jsonschema_rs.ValidationError]] | None:
    """Choose the branch a reader means: of the right type and kind first, then with the fewest faults, the deepest."""

    def distance(errors: list[jsonschema_rs.ValidationError]) -> tuple[int, int, int, int]:
        root_type = sum(isinstance(e.kind, _Kind.Type) and len(e.instance_path) == depth_here for e in errors)
        other_kind = sum(
            isinstance(e.kind, _Kind.Constant | _Kind.Enum) and len(e.instance_path) <= depth_here + 1 for e in errors
        )
        faults = sum(
            len(e.kind.unexpected)
            if isinstance(e.kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties)
            else 1
            for e in errors
        )
        return root_type, other_kind, faults, -max((len(e.instance_path) for e in errors), default=0)

    failing = [(index, errors) for index, errors in enumerate(branches) if errors]
    return min(failing, key=lambda branch: distance(branch[1])) if failing else None


def _at(value: object, path: Iterable[str | int], default: object) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, _NOTHING)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return default
    return default if value is _NOTHING else value


def text_of(value: object, limit: int = 4_000) -> str:
    """JSON text, cut at a blank where possible so that half a secret is not taken for none."""
    if isinstance(value, str):
        value = value[: limit + 1]
    if isinstance(value, dict | list) and more_than(value, limit):
        text = ""
        for piece in _ENCODER.iterencode(value):
            text += piece
            if len(text) > limit:
                break
    else:
        text = _ENCODER.encode(value)
    if len(text) <= limit:
        return text
    cut = max(text.rfind(stop, limit // 2, limit) for stop in (" ", ",", '"'))
    return text[: cut if cut > 0 else limit] + "…"
