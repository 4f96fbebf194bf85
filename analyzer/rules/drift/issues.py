"""Validators that name their member in a place of its own: pydantic above its words, zod in a list of issues.

Their words alone would mislead: beside the member that is missing stand those that were sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_PYDANTIC = re.compile(r"(?m)^(?:(?P<path>[^\s\[][^\n]*)\n)?[ \t]+[^\n]*?\[type=(?P<type>\w+)")
_HEAD = re.compile(r"\b\d+ validation errors? for ")
_STEP = re.compile(r"[^.\[\]]+")
# Parts of pydantic's types, the more special first; what a program's own check refuses is business.
_TYPES = (
    (r"^missing", "required"),
    (r"^extra_forbidden|^unexpected", "additionalProperties"),
    (r"^value_error|^assertion_error", None),
    (r"^literal_error|^enum", "enum"),
    (r"pattern", "pattern"),
    (r"^(?:less|greater)_than|too_(?:short|long)$|^multiple_of", "range"),
    (r"_type$|_parsing|^int_from_float|_from_|^none_required", "type"),
)
_ISSUES = re.compile(r"\[\s*\{\s*\"")
_CODES = {
    "invalid_type": "type",
    "unrecognized_keys": "additionalProperties",
    **dict.fromkeys(("invalid_enum_value", "invalid_value", "invalid_literal"), "enum"),
    **dict.fromkeys(("too_big", "too_small", "not_multiple_of"), "range"),
    **dict.fromkeys(("invalid_string", "invalid_format"), "pattern"),
    "invalid_union": "type",
}
_MOST_ISSUES = 50


class Issue(NamedTuple):
    """The path to the member refused, empty for the root, and the constraint, as a keyword."""

    path: tuple[str, ...]
    constraint: str


def issues(text: str) -> Iterator[Issue]:
    """The issues that a text lists in the way of pydantic or zod, in their order."""
    if _HEAD.search(text):
        yield from _of_pydantic(text)
    for found in _ISSUES.finditer(text):
        try:
            listed, _ = json.JSONDecoder().raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        yield from _of_zod(listed[:_MOST_ISSUES])
        break


def _of_pydantic(text: str) -> Iterator[Issue]:
    for found in _PYDANTIC.finditer(text):
        constraint = next((word for pattern, word in _TYPES if re.search(pattern, found["type"])), None)
        if constraint is not None:
            path = found["path"] or ""
            yield Issue(() if _HEAD.search(path) else tuple(_STEP.findall(path)), constraint)


def _of_zod(listed: Sequence[Any]) -> Iterator[Issue]:
    for each in listed:
        if not isinstance(each, dict) or not isinstance(each.get("path"), list):
            continue
        path, keys = tuple(map(str, each["path"])), each.get("keys")
        constraint = _CODES.get(str(each.get("code")))
        if constraint == "type" and "undefined" in (each.get("received"), str(each.get("message")).rpartition(" ")[2]):
            constraint = "required"
        if constraint == "additionalProperties" and isinstance(keys, list) and keys:
            path += (str(keys[0]),)
        if constraint is not None:
            yield Issue(path, constraint)
