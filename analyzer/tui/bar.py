"""One line of our own making: crumbs, hints, questions."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Bar(Static):
    """One line of our own making."""

    DEFAULT_CSS = """
    Bar { height: 1; width: 100%; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - the library's name
        super().__init__("", id=id, classes=classes, markup=False)

    def put(self, text: str) -> None:
        """Show safe text."""
        self.update(Content(text))
