"""Places as viewers of code know them: a path within the checkout, with slashes, and a line."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any, NamedTuple

STDIN = "stdin"
_PIPED = ("-", "")


class Place(NamedTuple):
    """A file as `relative` gives it, and a line from 1. `exact`: the line is that of the record, and no stand-in."""

    file: str
    line: int
    exact: bool


def place(location: dict[str, Any] | None, *, otherwise: str = STDIN) -> Place:
    """Where a viewer may point: of a member of an archive the archive, of nothing the file given instead."""
    if location is None or location["file"] is None:
        return Place(otherwise, 1, exact=False)
    file, _, member = location["file"].partition("!")
    exact = not member and location["line"] is not None
    return Place(relative(file), location["line"] if exact else 1, exact)


def relative(file: str) -> str:
    """The path from the working folder where it lies in it, else as it was given. It is foreign text still."""
    if file in _PIPED:
        return STDIN
    path = PurePath(file)
    if path.is_absolute():
        try:
            path = path.relative_to(Path.cwd())
        except ValueError:
            return path.as_posix()
    return path.as_posix()


def anchor(inputs: list[dict[str, Any]]) -> str:
    """The file that stands for the whole audit where a viewer wants a place of what has none."""
    return relative(inputs[0]["path"].partition("!")[0]) if inputs else STDIN
