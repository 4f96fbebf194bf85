"""Records and members of them decoded into structs: what is of another type is named and left out, the rest is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.values import first

T = TypeVar("T")

_SURROGATES = (b"\\ud", b"\\uD")


def opened(
    raw: bytes, decode: Callable[[bytes], T], knows: Callable[[Any], float], *, utf8: bool
) -> tuple[T | None, bytes, list[Fault]]:
    """A record, its text without what cannot be kept, and what was wrong; None where it is no object of the format."""
    if raw == b"[DONE]":  # the end mark of many event streams
        return None, raw, []
    try:
        if not utf8:
            raw.decode()
        record = decode(raw)
        if b"\\u" in raw and (_SURROGATES[0] in raw or _SURROGATES[1] in raw):
            msgspec.json.decode(raw)
        return record, raw, []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not isinstance(parsed[0], dict) or not knows(parsed[0]):
        return None, raw, []
    found = typed(decode, parsed[0])
    if found is None:
        return None, raw, []
    return found[0], msgspec.json.encode(parsed[0]), parsed[1] + found[1]


def held(decode: Callable[[Any], T], raw: bytes | msgspec.Raw, default: T) -> tuple[T, list[Fault]]:
    """What a member holds, with what in it is of another type named and left out; the default where it is itself."""
    if not raw:
        return default, []
    try:
        return decode(raw), []
    except (msgspec.DecodeError, RecursionError):
        if bytes(raw) == b"null":
            return default, []
    parsed = parse(bytes(raw))
    found = None if isinstance(parsed, Unreadable) else typed(decode, parsed[0])
    return (default, [Fault("member_type", "", "of another type")]) if found is None else found


_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode


def listed(raw: bytes | msgspec.Raw) -> list[bytes]:
    """The elements of a member that is a list; none where it is something else."""
    found = _raws(raw) if first(raw) == b"[" else []
    return b"\0".join(found).split(b"\0") if found else []  # NUL stands in no JSON; one by one takes twice as long
