"""Whether an executor's words say that it refused the shape of arguments, and which member it means.

A refusal names a constraint in the words of a validator (zod, pydantic, ajv, jsonschema, serde, Go's decoder,
JSON-RPC -32602) and a member of the arguments, or their root. "Not found", "forbidden" or "limit exceeded" are
business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from analyzer.pointer import pointer
from analyzer.rules.drift.issues import issues
from analyzer.rules.drift.wordings import CONSTRAINTS, LONGEST

_WORDINGS = {
    constraint: [(words, re.compile(pattern)) for *words, pattern in wordings]
    for constraint, wordings in CONSTRAINTS.items()
}
_BUSINESS = re.compile(
    r"\bnot found\b|\bforbidden\b|unauthori[sz]ed|permission|\bdenied\b|\bconflict\b|\balready\b|\bexceeded\b|\bquota\b"
    r"|rate.limit|time[d]? ?out|unavailable|\bexpired\b|insufficient|\bbalance\b|\bper (?:day|hour|order|user)\b",
    re.IGNORECASE,
)
# A validator that says its name is not overruled by a word of business in a value it quotes.
_VALIDATOR = re.compile(
    r"validation error|-32602|invalid (?:arguments|params|parameters|input)|pars(?:e|ing)|schema", re.IGNORECASE
)
# What a host says that never got as far as the tool: the arguments could not be read, or a validator says its name.
_TURNED_BACK = re.compile(
    r"(?:fail(?:ed|ure)|unable|could not|cannot|can't|error) (?:to )?(?:pars|decod|deserializ)(?:e|ing) [^\n]{0,40}"
    r"\b(?:arguments?|params|parameters|input|payload|json)\b"
    r"|\binvalid (?:function |tool |call )?(?:arguments|params|parameters|json)\b|-32602|\bInputValidationError\b"
    r"|\b\d+ validation errors? for\b|\b(?:arguments|parameters|input|payload) (?:are|is) (?:not valid|invalid)\b"
    r"|\b(?:do|does) not (?:match|conform to|satisfy) (?:the |its )?(?:\w+ )?schema\b",
    re.IGNORECASE,
)
_ROOT = re.compile(r"\b(?:arguments?|params|parameters|input|payload|request body|data|\(root\))\b", re.IGNORECASE)
_MOST_NAMES = 500
# A host that turns a call back says so at once; further down such words may be what a tool found.
_AT_ONCE = 400


# Names of members that are words of every message: these are meant only where something marks them as a name.
_WORDS = frozenset(
    [
        *("a", "all", "an", "and", "any", "array", "as", "at", "be", "boolean", "by", "data", "error", "field", "for"),
        *("from", "has", "if", "in", "input", "integer", "is", "it", "key", "list", "member", "name", "no", "not"),
        *("null", "number", "object", "of", "on", "one", "or", "parameter", "path", "property", "schema", "string"),
        *("the", "this", "to", "type", "valid", "value", "was", "with"),
    ]
)


class Refusal(NamedTuple):
    """The member refused (a bare name, "" for the root), the constraint, as a keyword, and where the member stands."""

    member: str
    constraint: str
    place: str  # JSON Pointer into the arguments; of an absent member, where it would stand


def refusal(text: str, arguments: Any) -> Refusal | None:
    """What an error text refuses of these arguments, or None where it speaks of anything else."""
    text = text[:LONGEST]
    found = _refused(text, arguments)
    if found is None or (_BUSINESS.search(text) and not _VALIDATOR.search(text)):
        return None
    return found


def _refused(text: str, arguments: Any) -> Refusal | None:
    listed = next(issues(text), None)
    if listed is not None:
        return Refusal(_last_name(listed.path), listed.constraint, _place(arguments, listed.path, listed.constraint))
    names = list(dict.fromkeys(_names(arguments)))[:_MOST_NAMES]
    for constraint, wordings in _WORDINGS.items():
        for words, wording in wordings:
            found = wording.search(text) if any(word in text for word in words) else None
            if found is None:
                continue
            told = next((group for group in found.groups() if group), None) if found.groups() else None
            if told is not None:
                path = [step for step in re.split(r"[/.]", told) if step]
                return Refusal(path[-1] if path else "", constraint, _place(arguments, path[-1:], constraint))
            # Of several members named, the one nearest to the wording is meant; `a` in `a.b` is only on the way.
            near = [
                (abs(place.start() - found.start()), name)
                for name in names
                for place in re.finditer(_named(name), text)
            ]
            if near:
                name = min(near)[1]
                return Refusal(name, constraint, _place(arguments, [name], constraint))
            if _ROOT.search(text):
                return Refusal("", constraint, "")
    return None


def _named(name: str) -> str:
    """A pattern for a member's name in words; one that is a word itself begins a line, a quotation or a step."""
    spelled = re.escape(name)
    if name.lower() in _WORDS:
        return rf"(?m)(?:^|(?<=[`'\"\[/.])){spelled}(?!\w|[./]\w)"
    return rf"(?<![\w]){spelled}(?!\w|[./]\w)"


def _last_name(path: Sequence[str]) -> str:
    return next((step for step in reversed(path) if not step.isdecimal()), "")


def _place(arguments: Any, path: Sequence[str], constraint: str) -> str:
    """The pointer to a member that is named by its path, or by its last name alone."""
    steps: list[str | int] = []
    here = arguments
    for number, step in enumerate(path):
        if isinstance(here, dict) and step in here:
            here = here[step]
            steps.append(step)
        elif isinstance(here, list) and step.isdecimal() and int(step) < len(here):
            here = here[int(step)]
            steps.append(int(step))
        elif number == len(path) - 1 and constraint == "required":
            return pointer([*steps, step])
        elif steps:
            break  # a branch's or a type's name ends pydantic's paths
        else:
            found = next((place for place, name in _places(arguments) if name == step), None)
            return pointer(found) if found is not None else pointer([step])
    return pointer(steps)


def turned_back(text: str, arguments: Any) -> bool:
    """Whether a result reads as if the tool never ran: its arguments were refused, or could not be parsed."""
    said = text[:_AT_ONCE]
    return _TURNED_BACK.search(said) is not None or refusal(said, arguments) is not None


def _names(value: Any) -> Iterator[str]:
    for _, name in _places(value):
        yield name


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The members of a value, at any depth, by their place and name."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*path, name), name
            if isinstance(inner, dict | list):
                yield from _places(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict | list):
                yield from _places(inner, (*path, index))
