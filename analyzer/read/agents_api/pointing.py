"""Pointers of rows that were appended while something inside a record was read."""

from __future__ import annotations

from analyzer.frames import RECORDED
from analyzer.read.rows import Rows

_POINTED = {name: list(schema).index("pointer") for name, schema in RECORDED.items() if "pointer" in schema}
_EVENT_POINTER, _EVENT_ID = 5, 12  # in the rows of `Rows.events`


def marks(rows: Rows) -> dict[str, int]:
    """How many rows there are by now."""
    return {name: len(getattr(rows, name)) for name in _POINTED}


def point(rows: Rows, before: dict[str, int], pointer: str) -> None:
    """Rows since `before` belong to an event that stands for the whole record: their pointers lead from there."""
    for name, at in _POINTED.items():
        held = getattr(rows, name)
        if name != "events":
            held[before[name] :] = [(*row[:at], pointer + row[at], *row[at + 1 :]) for row in held[before[name] :]]


def point_at_text(rows: Rows, before: dict[str, int], pointer: str) -> None:
    """What stands inside a text cannot be pointed at, and its events cannot be compared: the text is the place."""
    for name, at in _POINTED.items():
        held = getattr(rows, name)
        if name == "events":
            held[before[name] :] = [
                (*row[:_EVENT_POINTER], pointer, *row[_EVENT_POINTER + 1 : _EVENT_ID], None)
                for row in held[before[name] :]
            ]
        else:
            held[before[name] :] = [(*row[:at], "", *row[at + 1 :]) for row in held[before[name] :]]
