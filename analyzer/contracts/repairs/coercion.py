"""Other spellings of one JSON value: the text of a number, the number of a text, one value as a list of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple, NoReturn

from analyzer.contracts.repairs.smallest import is_type

#: A text inside a text inside a text is the most that is unwrapped.
_MOST_LAYERS = 3
_LONGEST = 1_000_000


class Coercion(NamedTuple):
    """A value spelled as another type; `lossless` when the old value can be told from the new."""

    value: Any
    lossless: bool


def coercions(value: object, types: Iterable[str]) -> Iterator[Coercion]:
    """The other spellings of a value that have one of the JSON types, the plainest first."""
    types = list(types)
    for found in _spellings(value, types):
        if any(is_type(found.value, name) for name in types):
            yield found


def _spellings(value: object, types: list[str]) -> Iterator[Coercion]:
    if isinstance(value, str):
        text = value
        for _ in range(_MOST_LAYERS):
            decoded = decode(text)
            if decoded is None:
                break
            yield _whole(decoded) if "number" not in types else decoded
            if not isinstance(decoded.value, str):
                break
            text = decoded.value
        word = {"true": True, "false": False, "none": None, "null": None}.get(value.strip().casefold(), value)
        if word is not value and value not in ("true", "false", "null"):
            yield Coercion(word, lossless=False)
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        yield Coercion(int(value), lossless=True)
    if isinstance(value, int | float | dict | list) and "string" in types:
        yield Coercion(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")), lossless=True)
    if isinstance(value, list) and len(value) == 1:
        yield Coercion(value[0], lossless=True)
    if value is not None and not isinstance(value, list) and "array" in types:
        yield Coercion([value], lossless=True)


def decode(text: str) -> Coercion | None:
    """The JSON value that a text holds, or None; lossless when the text can be told from the value."""
    if len(text) > _LONGEST or not text:
        return None
    lost: list[bool] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        lost.append(len(made) < len(items))
        return made

    def number(digits: str) -> float:
        value = float(digits)
        lost.append(Decimal(digits) != Decimal(repr(value)))
        return value if isfinite(value) else _refuse(digits)

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=_refuse)
        if isinstance(value, dict | list):
            # White space between tokens is no information; a repeated member and a digit too many are.
            return Coercion(value, lossless=not any(lost))
        return Coercion(value, lossless=json.dumps(value, ensure_ascii=False) == text)
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _whole(found: Coercion) -> Coercion:
    if isinstance(found.value, float) and found.value.is_integer() and abs(found.value) < 2**53:
        return Coercion(int(found.value), found.lossless)
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
