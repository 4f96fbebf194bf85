"""Records that the fast decoder refuses: say what is wrong, and read what can be read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")


class Fault(NamedTuple):
    """One fault of one record: a kind of `frames.FAULT_KINDS`, where it lies, and in words."""

    fault: str
    pointer: str
    detail: str
    at: int | None = None


class Unreadable(NamedTuple):
    """Why a record is not JSON: byte `at`, and whether the text simply ends too early."""

    detail: str
    at: int
    cut: bool


_SURROGATE = re.compile("[\ud800-\udfff]")
_PLACE = re.compile(r" - at `(key in )?\$(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([A-Za-z0-9_]+)|\[(\d+|\.\.\.)\]")
_TYPE_ROUNDS = 32
# What a record may be cut in the middle of, beside strings.
_WORDS = ("true", "false", "null", "-")


def parse(raw: bytes) -> tuple[Any, list[Fault]] | Unreadable:
    """Any JSON text as a Python value, without lone surrogates and infinite numbers, and the faults found in it."""
    faults: list[Fault] = []
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", "replace")
        faults.append(Fault("invalid_utf8", "", f"byte {error.start} of the record is not UTF-8", error.start))
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        left = text[error.pos :].rstrip()
        cut = any(word.startswith(left) for word in _WORDS) or error.msg.startswith("Unterminated string")
        cut = cut or (error.msg.startswith("Invalid \\uXXXX") and len(left) <= len("u1234"))
        # "Unterminated string starting at", as the parser says it, ends where its own text goes on with a number.
        return Unreadable(
            error.msg.removesuffix(" at").removesuffix(" starting"),
            len(text[: error.pos].encode("utf-8", "replace")),
            cut,
        )
    except RecursionError:
        return Unreadable("nested too deeply to be read", 0, cut=False)
    except ValueError as error:  # an integer of more digits than Python converts
        return Unreadable(str(error).partition(";")[0], 0, cut=False)
    clean = _clean(value, "", faults)
    return clean, faults


# A string without end is one token too: looked for again from each quote inside it, it would take quadratic time.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)


def closed(raw: bytes) -> bytes:
    """The beginning of a JSON text, cut after its last whole member or element and closed there."""
    open_: list[int] = []
    end, depth = 0, 0  # after the last whole thing only opening brackets follow, so what was open there still is
    for token in _TOKEN.finditer(raw):
        mark = raw[token.start()]
        if mark in b"{[":
            open_.append(mark + 2)  # the code of a closing bracket is two more than that of its opening one
        elif mark in b"}]" and open_:
            open_.pop()
            end, depth = token.end(), len(open_)
        elif mark == ord(","):
            end, depth = token.start(), len(open_)
    return raw[:end] + bytes(reversed(open_[:depth]))


def _clean(root: Any, pointer: str, faults: list[Fault]) -> Any:
    """The value without what is no Unicode and no number; by hand, because it may nest as deep as the parser goes."""
    holder = {None: root}
    # Iterators alone, and no list of all that is still to do: a record may hold millions of small values.
    stack: list[tuple[Any, str, Iterator[Any]]] = [(holder, pointer, iter([None]))]
    while stack:
        parent, to, keys = stack[-1]
        for key in keys:
            value = parent[key]
            kind = type(value)
            if kind is str:
                if _SURROGATE.search(value):
                    parent[key] = _clean_text(value, _below(to, key), faults)
            elif kind is float:
                if not math.isfinite(value):
                    faults.append(Fault("number_inexact", _below(to, key), "a number that is not finite"))
                    parent[key] = None
            elif kind is list:
                stack.append((value, _below(to, key), iter(range(len(value)))))
                break
            elif kind is dict:
                place = _below(to, key)
                named = {_clean_text(name, place, faults): inner for name, inner in value.items()}
                parent[key] = named
                stack.append((named, place, iter(list(named))))
                break
        else:
            stack.pop()
    return holder[None]


def _below(pointer: str, key: str | int | None) -> str:
    return pointer if key is None else f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def _clean_text(text: str, pointer: str, faults: list[Fault]) -> str:
    if not _SURROGATE.search(text):
        return text
    faults.append(Fault("lone_surrogate", pointer, "a lone surrogate, which is no character"))
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def typed(decode: Callable[[bytes], T], value: Any) -> tuple[T, list[Fault]] | None:
    """Decode a value into a struct; members of another type than the struct says are named and left out.

    None where the value itself is of another type than the struct (a list, a number).
    """
    faults: list[Fault] = []
    for _ in range(_TYPE_ROUNDS):
        try:
            return decode(msgspec.json.encode(value)), faults
        except msgspec.ValidationError as error:
            place = _PLACE.search(str(error))
            steps = [name or index for name, index in _STEP.findall(place[2])] if place else []
            parent, key = _parent(value, steps)
            if parent is None:
                return None
            faults.append(Fault("member_type", "/" + "/".join(map(str, steps)), str(error).partition(" - at ")[0]))
            parent[key] = None
            if isinstance(parent, dict):
                del parent[key]
            elif len(steps) > 1:  # an element of a list cannot be left out alone
                holder, name = _parent(value, steps[:-1])
                if holder is not None:
                    del holder[name]
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return None
    return None


def _parent(value: Any, steps: list[str]) -> tuple[Any, Any]:
    if not steps:
        return None, None
    for step in steps[:-1]:
        value = value[int(step)] if isinstance(value, list) and step.isdigit() else value.get(step)
        if not isinstance(value, dict | list):
            return None, None
    last = steps[-1]
    if isinstance(value, list):
        if not last.isdigit():  # "[...]": msgspec does not say which element
            return None, None
        return value, int(last)
    return (value, last) if last in value else (None, None)
