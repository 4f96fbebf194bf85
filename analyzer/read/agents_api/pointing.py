"""Pointers of rows that were appended while something inside a record was read."""

from __future__ import annotations

from analyzer.frames import RECORDED
from analyzer.read.rows import Rows
from analyzer.read.sheets import Sheet

_POINTED = {name: list(schema).index("pointer") for name, schema in RECORDED.items() if "pointer" in schema}
_EVENT_POINTER, _EVENT_ID = 5, 12  # in the rows of `Rows.events`


def marks(rows: Rows) -> dict[str, int]:
    """How many rows there are by now."""
    return {name: len(getattr(rows, name)) for name in _POINTED}


def point(rows: Rows, before: dict[str, int], pointer: str) -> None:
    """Rows since `before` belong to an event that stands for the whole record: their pointers lead from there."""
    for name, at in _POINTED.items():
        if name != "events":
            sheet: Sheet = getattr(rows, name)
            sheet.change(at, before[name], lambda told: pointer + told)


def point_at_text(rows: Rows, before: dict[str, int], pointer: str) -> None:
    """What stands inside a text cannot be pointed at, and its events cannot be compared: the text is the place."""
    for name, at in _POINTED.items():
        sheet: Sheet = getattr(rows, name)
        if name == "events":
            sheet.change(_EVENT_POINTER, before[name], lambda _: pointer)
            sheet.change(_EVENT_ID, before[name], lambda _: None)
        else:
            sheet.change(at, before[name], lambda _: "")
