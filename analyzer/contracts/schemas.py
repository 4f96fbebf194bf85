"""A schema as a value: decoded under limits, spelled one way, and named by the digest of that spelling."""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import Any

import msgspec

#: Levels of nesting that are judged, of schemas and of payloads: past 20,000 the engine ends the process.
MAX_DEPTH = 500

#: Bytes of one schema; the Agents API takes 3 MiB for a whole tool table.
MAX_SCHEMA_BYTES = 4 * 1024 * 1024

_ALIKE = bytes.maketrans(b"{}", b"[]")
_OPEN = ord("[")
_PASSES = 40
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")
_BOM = b"\xef\xbb\xbf"


def decode(raw: bytes, *, most: int = MAX_SCHEMA_BYTES) -> object:
    """Decode the JSON text of a schema, keeping integers of any size exact; a byte order mark is passed over.

    Raises:
        ValueError: the text has more bytes than `most`, is deeper than `MAX_DEPTH`, or no JSON.
    """
    if len(raw) > most:
        raise ValueError(f"{len(raw)} bytes, and at most {most} are read")
    if too_deep(raw):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value: object = msgspec.json.decode(raw.removeprefix(_BOM))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    return value


def canonical(schema: object) -> bytes:
    """Spell a schema one way: members sorted by code point, no blanks, UTF-8, integers of any size in full.

    `1` and `1.0` stay apart, since the digest names what was written; whether two spellings promise the same is a
    question for `compare`. Never fails on a decoded JSON value, however deep.
    """
    try:
        text = json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        text = "".join(_spell(schema))
    # A lone surrogate cannot come from our own decoder, but a digest must not fail on one.
    return text.encode("utf-8", "surrogatepass")


def plain(value: Any) -> Any:
    """Spell 5.0 as 5, everywhere in a value: they are one number in JSON Schema."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return int(value)
    return value


def schema_id(schema: object) -> str:
    """Name a schema by its canonical form: `s_` and 16 hexadecimal digits."""
    return name_of(canonical(schema))


def name_of(text: bytes) -> str:
    """Name the schema that `text` spells canonically."""
    return "s_" + blake2b(text, digest_size=8).hexdigest()


def depth(value: object) -> int:
    """Count the levels of containers in a decoded JSON value; a scalar has none."""
    levels, here = 0, [value]
    while True:
        below: list[object] = []
        found = False
        for item in here:
            if isinstance(item, dict):
                found = True
                below.extend(item.values())
            elif isinstance(item, list):
                found = True
                below.extend(item)
        if not found:
            return levels
        levels, here = levels + 1, below


def too_deep(text: bytes, *, limit: int = MAX_DEPTH) -> bool:
    """Say whether JSON text is nested deeper than `limit`, before any parser sees it.

    Texts with few brackets, nearly all of them, cost two counts.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    # Strings by splitting at quotes, once escapes are out of the way: twenty times as fast as a regular expression.
    outside = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    brackets = b"".join(outside).translate(_ALIKE, _NO_BRACKET)
    # Each pass takes the innermost level away, and nearly all that is long is wide and not deep.
    left = brackets
    for passes in range(_PASSES):
        if passes + left.count(b"[") <= limit:
            return False
        left = left.replace(b"[]", b"")
    level = 0
    for bracket in brackets:
        if bracket == _OPEN:
            level += 1
            if level > limit:
                return True
        else:
            level -= 1
    return False


def _spell(value: object) -> list[str]:
    """Write what is too deep for the encoder, with a stack of our own."""
    out: list[str] = []
    stack: list[tuple[bool, object]] = [(False, value)]
    while stack:
        literal, item = stack.pop()
        if literal:
            out.append(str(item))
        elif isinstance(item, dict):
            out.append("{")
            stack.append((True, "}"))
            for position, key in reversed(list(enumerate(sorted(item)))):
                stack.append((False, item[key]))
                stack.append((True, ("," if position else "") + json.dumps(key, ensure_ascii=False) + ":"))
        elif isinstance(item, list):
            out.append("[")
            stack.append((True, "]"))
            for position, child in reversed(list(enumerate(item))):
                stack.append((False, child))
                if position:
                    stack.append((True, ","))
        else:
            out.append(json.dumps(item, ensure_ascii=False))
    return out
