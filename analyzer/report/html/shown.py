"""Foreign text for the page: as on paper, and interned, for most of it is said many times."""

from __future__ import annotations

from typing import Any

from analyzer.visible import visible

LONG, SHORT, POINTER = 600, 120, 1_000


def shown(text: str | None, limit: int = SHORT) -> str | None:
    """The text as a human may see it; None stays None."""
    return None if text is None else visible(text, limit=limit)


class Pool:
    """Distinct values, each by its place in `values`."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}
        self._shown: dict[tuple[str, int], str] = {}

    def place(self, key: Any, value: Any = None) -> int:
        """Where the value of a hashable key stands; the key itself is the value where none is given."""
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.values)
            self.values.append(key if value is None else value)
        return found

    def shown(self, text: str | None, limit: int = SHORT) -> str | None:
        """As `shown`, which is asked once for each text."""
        if text is None:
            return None
        key = text, limit
        found = self._shown.get(key)
        if found is None:
            found = self._shown[key] = visible(text, limit=limit)
        return found

    def spot(self, location: dict[str, Any] | None) -> str | None:
        """`FILE:LINE POINTER` of a location or a contract, as much of it as is known."""
        if location is None:
            return None
        line = f":{location['line']}" if location["line"] is not None else ""
        file, pointer = self.shown(location["file"] or "-", POINTER), self.shown(location["pointer"] or "", 300)
        return f"{file}{line} {pointer}".rstrip()
