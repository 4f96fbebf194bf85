"""Where a key stands in a TOML text: its parser does not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

_KEY = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")


def line_of(text: str, key: tuple[str | int, ...]) -> int | None:
    """The line, from 1, where a key is set; of a key inside an inline value, the line of what holds it."""
    best: tuple[int, int] | None = None
    for number, path in _keys(text):
        depth = len(path) if path == key[: len(path)] else len(key) if path[: len(key)] == key else 0
        if depth and (best is None or depth > best[0]):
            best = depth, number
    return best[1] if best else None


def _keys(text: str) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            names = _names(header[2])
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
                table = (*names, counts[names])
            else:
                table = names
            yield number, table
        elif entry := _ENTRY.match(line):
            yield number, (*table, *_names(entry[1]))


def _names(dotted: str) -> tuple[str | int, ...]:
    # A quoted key is read by the TOML parser itself.
    return tuple(
        next(iter(tomllib.loads(f"{name} = 0"))) if name[0] in "\"'" else name for name in re.findall(_KEY, dotted)
    )
