"""Payload texts as values: decoded once, exactly, with what two parsers would read differently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec
import polars as pl

from analyzer.contracts.schemas import MAX_DEPTH, too_deep

MAX_PAYLOAD = 32 << 20  # bytes of one payload that is judged
MAX_LAYERS = 8

_decode = msgspec.json.decode
_encode = msgspec.json.encode
# An integer that a double may not hold. The decoder itself refuses what overflows a double.
_LONG_NUMBER = re.compile(r"(?:^|[:\[,\s])-?[0-9]{16}")
_DIGITS = "[0-9]{8}"  # four times as fast as the former, which is asked only of what this one finds
_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')


class Payload(NamedTuple):
    """What a text holds.

    `kind`: value (an object, an array, a number, ...), string (JSON of a string), not_json, empty. `problem` is a
    reason of `frames.REASONS` or None. `ambiguous`: (fault kind, words) where two parsers read two values.
    """

    kind: str
    value: Any
    problem: str | None = None
    ambiguous: tuple[str, str] | None = None


_EMPTY = Payload("empty", None)
_LOT = 16 << 20  # bytes


def read_payload(text: str | None) -> Payload:
    """Decode a payload's text as JSON."""
    if text is None or not text or text.isspace():
        return _EMPTY
    if len(text) > MAX_PAYLOAD:
        return Payload("value", None, "payload_too_large")
    if text.count("[") + text.count("{") > MAX_DEPTH and too_deep(text.encode()):
        return Payload("value", None, "payload_too_deep")
    try:
        value = _decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return _refused(text)
    kind = "string" if type(value) is str else "value"
    # What is written again just as it stands has no member twice; this is true of nearly all.
    plain = text.encode() == _encode(value)
    if plain and not _LONG_NUMBER.search(text):
        return Payload(kind, value)
    return Payload(kind, value, *_readings(text, plain=plain))


#: Notes by which hosts and recorders say that a text was cut.
CUT_NOTES = (
    *("[truncated]", "... truncated", "(truncated)", "<truncated", "[output truncated", "truncated for persistence"),
    *("Output truncated", "output was truncated", "characters truncated", "tokens truncated", "bytes truncated"),
)
_NOTED = 128  # characters at the end in which a note stands


def noted_as_cut(text: str | None) -> bool:
    """Whether a text begins as JSON does and ends with the note that the rest was left out."""
    text = (text or "").rstrip()
    return text.lstrip()[:1] in ("{", "[") and any(note in text[-_NOTED:] for note in CUT_NOTES)


def read_arguments(text: str | None) -> Payload:
    """Decode the text of arguments: null is as good as nothing, whatever it was called with."""
    payload = read_payload(text)
    return _EMPTY if payload.kind == "value" and payload.value is None and payload.problem is None else payload


def in_lots(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Rows with a `text`, one after the other so many that their texts may be held once more."""
    length = pl.col("text").str.len_bytes().cast(pl.Int64)
    if not rows.height or rows.select(length.sum()).item() <= _LOT:
        return [rows]
    weights = rows.select(length.fill_null(0).cum_sum()).to_series()
    return rows.with_columns(lot=weights // _LOT).partition_by("lot", maintain_order=True, include_key=False)


def one_by_one(texts: pl.Series) -> Iterator[str | None]:
    """The texts as Python's, few of them at a time."""
    return (text for lot in in_lots(texts.to_frame("text")) for text in lot["text"])


def value_of(text: str | None) -> Any:
    """The value of a text that `plain_values` has read."""
    return _decode(text or "")


def plain_values(texts: pl.Series) -> Iterator[Any]:
    """The object or array in each text where every parser reads it alike; None where `read_payload` must look.

    A value is made when it is asked for: of long outputs a million would not fit into memory.
    """
    # As bytes: a Python string of a text with one emoji takes four bytes for every character.
    for raw in _readable(texts).cast(pl.Binary).to_list():
        try:
            value = None if raw is None else _decode(raw)
        except (msgspec.DecodeError, RecursionError):
            value = None
        # What is written again just as it stands has no member twice; this is true of nearly all.
        yield value if value.__class__ in _PLAIN and _encode(value) == raw else None


_PLAIN = (dict, list)


def _readable(texts: pl.Series) -> pl.Series:
    """The texts, null in the place of those that are too long, nested too deep, or hold a number that is too long."""
    length, digits = texts.str.len_bytes(), texts.str.contains(_DIGITS)
    if not digits.any() and cast("int", length.max() or 0) <= MAX_DEPTH * 2:
        return texts
    numbers = digits.arg_true()
    numbers = numbers.filter(texts.gather(numbers).str.contains(_LONG_NUMBER.pattern))
    deep = (length > MAX_DEPTH * 2).arg_true()
    deep = deep.filter(texts.gather(deep).str.count_matches(r"[\[{]") > MAX_DEPTH)
    nested = [too_deep(raw) for raw in texts.gather(deep).cast(pl.Binary).to_list()]
    marked = (
        (length > MAX_PAYLOAD).scatter(numbers, True).scatter(deep.filter(pl.Series(nested, dtype=pl.Boolean)), True)
    )
    return texts.set(marked, None) if marked.any() else texts


def _readings(text: str, *, plain: bool) -> tuple[str | None, tuple[str, str] | None]:
    if not plain:
        twice: list[str] = []

        def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) < len(pairs):
                names = [name for name, _ in pairs]
                twice.extend(name for name in found if names.count(name) > 1)
            return found

        try:
            json.loads(text, object_pairs_hook=members)
        except (ValueError, RecursionError):
            return None, None
        if twice:
            return "payload_ambiguous", ("duplicate_member", f"the member {twice[0]!r} stands twice; the last was read")
    if _LONG_NUMBER.search(text):
        for match in _STRING_OR_NUMBER.finditer(text):
            number = match[0]
            if number[0] == '"':
                continue
            if "." in number or "e" in number or "E" in number:
                if float(number) in (float("inf"), float("-inf")):
                    return "payload_ambiguous", ("number_inexact", "a number beyond what a double holds")
            elif abs(int(number[:400])) > 1 << 53:
                return None, ("number_inexact", f"{number[:40]} is beyond 2^53; it was judged exactly as written")
    return None, None


def _refused(text: str) -> Payload:
    """What the decoder refuses: JSON with numbers out of range, or no JSON at all."""
    try:
        value = json.loads(text, parse_int=_exact)
    except (ValueError, RecursionError):
        return Payload("not_json", None)
    fault = ("number_inexact", "a number that is not finite or out of range")
    return Payload("string" if isinstance(value, str) else "value", value, "payload_ambiguous", fault)


def _exact(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float("inf")


def layers(value: str) -> tuple[int, Any]:
    """How many more times a string decodes to JSON of a container, and the container; 0 where it does not."""
    count = 0
    inner: Any = value
    while isinstance(inner, str) and count < MAX_LAYERS:
        stripped = inner.lstrip()
        if stripped[:1] not in ('"', "{", "["):
            return 0, None
        payload = read_payload(inner)
        if payload.kind not in ("value", "string") or payload.problem is not None:
            return 0, None
        count += 1
        inner = payload.value
    return (count, inner) if isinstance(inner, dict | list) else (0, None)
