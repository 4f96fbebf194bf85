"""What a host's log says before a message: when it was, which server it is about, and who sent it."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

_TIME = re.compile(r"[\[(]?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)")
_NAMED = re.compile(r"\[([^\[\]]{1,100})\]")
_FROM = re.compile(r"\b(from|to) (?:the )?(client|server)\b", re.IGNORECASE)
_LEVELS = frozenset(
    ("trace", "debug", "info", "notice", "log", "warn", "warning", "error", "critical", "fatal", "optional", "mcp")
)
_OTHER = {"client": "server", "server": "client"}


class Said(NamedTuple):
    """The time as it is written, the server's name in JSON (empty: none), and `client` or `server`, who sent it."""

    when: str | None = None
    server: bytes = b""
    sender: str | None = None


def said(before: bytes) -> Said:
    """Read such a text: `2026-03-04T10:00:00.000Z [files] [info] Message from client: `."""
    text = before.decode("utf-8", "replace")
    time = _TIME.match(text)
    names = [name for name in _NAMED.findall(text) if name.casefold() not in _LEVELS and not _TIME.match(name)]
    way = _FROM.search(text)
    sender = None if way is None else way[2].lower()
    if way is not None and way[1].lower() == "to":
        sender = _OTHER[way[2].lower()]
    return Said(
        None if time is None else time[1].replace(",", "."),
        msgspec.json.encode(names[0]) if names else b"",
        sender,
    )
