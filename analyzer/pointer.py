"""JSON Pointer (RFC 6901) and RFC 9535 normalized paths: spell, read, resolve, and find in raw bytes.

A pointer is the address of a finding inside its record. Nothing here recurses, so depth costs time and never the stack.
Malformed pointers and paths raise `ValueError`; an address that leads nowhere raises `LookupError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_BAD_TILDE = re.compile(r"~(?![01])")
_UNSAFE_IN_PATH = re.compile(r"[\x00-\x1f'\\]")
_PATH_STEP = re.compile(r"\[(?:(0|[1-9][0-9]*)|'((?:[^'\\\x00-\x1f]|\\(?:[btnfr'\\]|u00[01][0-9a-f]))*+)')\]")
_PATH_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_SHORT = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", "'": r"\'", "\\": r"\\"}
_LONG = {short[1]: char for char, short in _SHORT.items()}
_CLOSING = {b"{": b"}", b"[": b"]"}

# Possessive quantifiers: a hostile record may hold an unclosed string of a gigabyte, which must fail in one pass.
_BLANK = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb'[^ \t\n\r,:\[\]{}"]++')
_BRACKET = re.compile(rb'(?P<open>[{\[])|(?P<close>[}\]])|"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)


def pointer(parts: Iterable[str | int]) -> str:
    """Spell a JSON Pointer from its unescaped steps."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parts(pointer: str) -> list[str]:
    """Return the unescaped steps of a JSON Pointer; `""` has none."""
    if not pointer:
        return []
    if pointer[0] != "/" or _BAD_TILDE.search(pointer):
        raise ValueError(f"not a JSON Pointer: {pointer!a:.200}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def join(pointer: str, *steps: str | int) -> str:
    """Return the pointer that leads `steps` further."""
    for step in steps:
        if isinstance(step, str) and ("~" in step or "/" in step):
            pointer += "/" + step.replace("~", "~0").replace("/", "~1")
        else:
            pointer += f"/{step}"
    return pointer


def parent(pointer: str) -> str:
    """Return the pointer to the element that holds this one; the whole document has no parent."""
    if not pointer:
        raise LookupError("the whole document has no parent")
    return pointer[: pointer.rindex("/")]


def star(pointer: str) -> str:
    """Return the pointer with array indexes as `*`, so that the same fault in another element groups with this one."""
    if not pointer:
        return pointer
    return "/".join("*" if _INDEX.fullmatch(step) else step for step in pointer.split("/"))


def path(pointer: str, value: object = None) -> str:
    """Return the RFC 9535 normalized path of a pointer, such as `$['item']['arguments'][0]`.

    A pointer alone cannot tell index 0 from a member named "0". With the `value` it points into, the containers
    decide; without it, or past the place where the value ends, steps that read as indexes are indexes.
    """
    out, here = ["$"], value
    for step in parts(pointer):
        number = _INDEX.fullmatch(step)
        if isinstance(here, dict):
            out.append(_name(step))
            here = here.get(step)
        elif number:
            out.append(f"[{step}]")
            here = here[int(step)] if isinstance(here, list) and int(step) < len(here) else None
        else:
            out.append(_name(step))
            here = None
    return "".join(out)


def pointer_of_path(normalized_path: str) -> str:
    """Return the JSON Pointer of an RFC 9535 normalized path."""
    if not normalized_path.startswith("$"):
        raise ValueError(f"not a normalized path: {normalized_path!a:.200}")
    steps, at = [], 1
    while at < len(normalized_path):
        match = _PATH_STEP.match(normalized_path, at)
        if match is None:
            raise ValueError(f"not a normalized path at character {at}: {normalized_path!a:.200}")
        index, name = match.groups()
        steps.append(index if index is not None else _PATH_ESCAPE.sub(_unescape, name))
        at = match.end()
    return pointer(steps)


def resolve(value: object, pointer: str) -> object:
    """Return the element of a decoded JSON value that the pointer leads to."""
    steps = parts(pointer)
    for depth, step in enumerate(steps):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            held = "an object" if isinstance(value, dict) else "an array" if isinstance(value, list) else "a scalar"
            raise LookupError(f"no {step!a:.200} in {held} at {join('', *steps[:depth])!a:.200}")
    return value


def locate(raw: bytes, pointer: str) -> tuple[int, int]:
    """Return start and end of the pointed-to element in raw JSON bytes; of duplicate members the last, as parsers do.

    One pass whatever the depth. It checks no more of the JSON than it needs to find its way.
    """
    steps = parts(pointer)
    at = _blank(raw, 3 if raw.startswith(b"\xef\xbb\xbf") else 0)
    if not steps:
        return at, _skip(raw, at)
    found: tuple[int, int] | None = None
    open_: list[tuple[bytes, int]] = []  # the containers on the way to the target: closing bracket, next index
    enter = True
    while True:
        if enter:
            enter = False
            closing = _CLOSING.get(raw[at : at + 1])
            if closing is None:  # the way would lead on, but here is a scalar
                at = _skip(raw, at)
            else:
                open_.append((closing, 0))
                at = _blank(raw, at + 1)
                if raw[at : at + 1] != closing:
                    at, enter, found = _element(raw, at, open_, steps, found)
                    continue
        if not open_:
            break
        at = _blank(raw, at)
        mark = raw[at : at + 1]
        if mark == b",":
            at, enter, found = _element(raw, _blank(raw, at + 1), open_, steps, found)
        elif mark == open_[-1][0]:
            open_.pop()
            at += 1
        else:
            raise LookupError(f"the record is not JSON at byte {at}")
    if found is None:
        raise LookupError(f"nothing at {pointer!a:.200} in the record")
    return found


def containers(raw: bytes) -> dict[int, int]:
    """Return where each object and array ends, by where it starts; what is not closed is not there."""
    ends: dict[int, int] = {}
    open_: list[int] = []
    for match in _BRACKET.finditer(raw):
        if match.lastgroup == "open":
            open_.append(match.start())
        elif match.lastgroup == "close" and open_:
            ends[open_.pop()] = match.end()
    return ends


def elements(raw: bytes, at: int = 0, ends: Mapping[int, int] | None = None) -> Iterator[tuple[str | int, int, int]]:
    """Give the members or items of the container at byte `at`: name or index, start and end of the value.

    In the order of the bytes, duplicate members included; a scalar has none. One step looks no further than its
    element, and with the `ends` of all `containers` not even into it. Raises LookupError where the bytes stop being
    JSON.
    """
    known = ends or {}
    at = _blank(raw, at)
    closing = _CLOSING.get(raw[at : at + 1])
    if closing is None:
        return
    at, index = _blank(raw, at + 1), 0
    while raw[at : at + 1] != closing:
        if index:
            if raw[at : at + 1] != b",":
                raise LookupError(f"the record is not JSON at byte {at}")
            at = _blank(raw, at + 1)
        key: str | int = index
        if closing == b"}":
            end = _string(raw, at)
            key = _text(raw[at:end])
            at = _blank(raw, end)
            if raw[at : at + 1] != b":":
                raise LookupError(f"the record is not JSON at byte {at}")
            at = _blank(raw, at + 1)
        end = known.get(at) or _skip(raw, at)
        yield key, at, end
        at, index = _blank(raw, end), index + 1


def _element(
    raw: bytes, at: int, open_: list[tuple[bytes, int]], steps: list[str], found: tuple[int, int] | None
) -> tuple[int, bool, tuple[int, int] | None]:
    """Pass one element of the innermost container: (where to go on, whether to open the element, what is found)."""
    closing, index = open_[-1]
    step = steps[len(open_) - 1]
    if closing == b"}":
        end = _string(raw, at)
        here = _text(raw[at:end]) == step
        at = _blank(raw, end)
        if raw[at : at + 1] != b":":
            raise LookupError(f"the record is not JSON at byte {at}")
        at = _blank(raw, at + 1)
    else:
        here = str(index) == step
        open_[-1] = (closing, index + 1)
    if here and len(open_) < len(steps):
        return at, True, None
    end = _skip(raw, at)
    return end, False, (at, end) if here else found


def _skip(raw: bytes, at: int) -> int:
    """Return the end of the value that starts at `at`."""
    first = raw[at : at + 1]
    if first == b'"':
        return _string(raw, at)
    if first not in (b"{", b"["):
        match = _SCALAR.match(raw, at)
        if match is None:
            raise LookupError(f"the record is not JSON at byte {at}")
        return match.end()
    depth = 0
    while True:
        match = _TO_BRACKET.match(raw, at)
        if match is None:
            raise LookupError("the record ends inside a value")
        at = match.end()
        depth += 1 if match[1] in b"{[" else -1
        if depth == 0:
            return at


def _string(raw: bytes, at: int) -> int:
    match = _STRING.match(raw, at)
    if match is None:
        raise LookupError(f"the record is not JSON at byte {at}")
    return match.end()


def _blank(raw: bytes, at: int) -> int:
    match = _BLANK.match(raw, at)
    return match.end() if match else at


def _text(literal: bytes) -> str:
    text = literal.decode("utf-8", "surrogatepass" if b"\xed" in literal else "replace")
    if "\\" not in text:
        return text[1:-1]
    try:
        return str(json.loads(text, strict=False))
    except ValueError as error:
        raise LookupError(f"a member name is not JSON: {text!a:.200}") from error


def _name(step: str) -> str:
    return "['" + _UNSAFE_IN_PATH.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04x}", step) + "']"


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _LONG[match[2]]
