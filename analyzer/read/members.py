"""Records and members of them decoded into structs: what is of another type is named and left out, the rest is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.values import first

T = TypeVar("T")


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
