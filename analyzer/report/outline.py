"""A JSON value as lines, each with the pointer of what stands on it, so that guilty places can be marked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from analyzer import pointer as pointers
from analyzer.masking import hidden_members, masked
from analyzer.visible import visible

_DEEPEST = 40  # levels drawn; deeper values stand on one line


class Line(NamedTuple):
    """One line, safe to show, and the pointer of the element that begins on it."""

    pointer: str
    text: str


def outline(value: Any, *, most: int = 200) -> list[Line]:
    """The value spread over lines, at most `most` of them; the last one then says that there is more."""
    lines: list[Line] = []
    for line in _spread(value, "", 0, "", ""):
        if len(lines) == most:
            lines.append(Line("", "… more lines"))
            break
        lines.append(Line(line.pointer, visible(line.text, limit=300)))
    return lines


def _spread(value: Any, pointer: str, level: int, name: str, comma: str) -> Iterator[Line]:
    indent = "  " * level
    if isinstance(value, dict) and value and level < _DEEPEST:
        yield Line(pointer, f"{indent}{name}{{")
        last = len(value) - 1
        hidden = hidden_members(value)
        for number, (key, inner) in enumerate(value.items()):
            member = masked(inner, hidden=True) if key in hidden else inner
            at, label = pointers.join(pointer, key), f"{json.dumps(key, ensure_ascii=False)}: "
            yield from _spread(member, at, level + 1, label, "," if number < last else "")
        yield Line("", f"{indent}}}{comma}")
    elif isinstance(value, list) and value and level < _DEEPEST and not _short(value):
        yield Line(pointer, f"{indent}{name}[")
        for number, element in enumerate(value):
            comma_here = "," if number < len(value) - 1 else ""
            yield from _spread(element, pointers.join(pointer, number), level + 1, "", comma_here)
        yield Line("", f"{indent}]{comma}")
    else:
        yield Line(pointer, f"{indent}{name}{json.dumps(value, ensure_ascii=False)}{comma}")


def _short(value: list[Any]) -> bool:
    """Lists of a few scalars, such as `required` and `enum`, read best on one line."""
    return not any(isinstance(each, dict | list) for each in value) and len(str(value)) <= 60
