"""Foreign text for the page: as on paper, and interned, for most of it is said many times."""

from __future__ import annotations

from typing import Any

from analyzer.visible import visible

LONG, SHORT = 600, 120


def shown(text: str | None, limit: int = SHORT) -> str | None:
    """The text as a human may see it; None stays None."""
    return None if text is None else visible(text, limit=limit)


class Pool:
    """Distinct values, each by its place in `values`."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, key: Any, value: Any = None) -> int:
        """Where the value of a hashable key stands; the key itself is the value where none is given."""
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.values)
            self.values.append(key if value is None else value)
        return found
