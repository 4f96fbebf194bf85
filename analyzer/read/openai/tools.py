"""Whether a response echoes the tool table of its request, or another one."""

from __future__ import annotations

from typing import Any

import msgspec


def same_tools(left: bytes, right: bytes) -> bool:
    """Whether two tables say the same: order of members, and members that are null, aside."""
    try:
        return bool(_said(msgspec.json.decode(left)) == _said(msgspec.json.decode(right)))
    except (msgspec.DecodeError, RecursionError):
        return False


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _said(member) for name, member in value.items() if member is not None}
    return [_said(member) for member in value] if isinstance(value, list) else value
