"""Rows on their way to columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

Row = tuple[Any, ...]


class Sheet:
    """Rows of one kind, the event first, cell after cell: a tuple kept for each takes three times as long."""

    __slots__ = ("_blank", "_cells", "_width", "append")

    def __init__(self, columns: Sequence[str]) -> None:
        self._blank = dict.fromkeys(columns)
        self._width = len(self._blank)
        self._cells: list[Any] = []
        self.append: Callable[[Row], None] = self._cells.extend
        """Append a row, which must be of the width: for what is read too often to name its columns."""

    def add(self, **cells: Any) -> None:
        """Append a row by the names of its columns; what is not named is null. Raises TypeError for another name."""
        row = self._blank | cells
        if len(row) != self._width:
            raise TypeError(f"no such column: {', '.join(cells.keys() - self._blank.keys())}")
        self._cells.extend(row.values())

    def __len__(self) -> int:
        return len(self._cells) // self._width

    def __bool__(self) -> bool:
        return bool(self._cells)

    def __iadd__(self, rows: Iterable[Row]) -> Self:
        for row in rows:
            self.append(row)
        return self

    def column(self, place: int, since: int = 0) -> list[Any]:
        """The cells of one column, from row `since` on."""
        return self._cells[since * self._width + place :: self._width]

    def columns(self) -> list[list[Any]]:
        """All columns."""
        assert not len(self._cells) % self._width, "a row of another width"
        return [self._cells[place :: self._width] for place in range(self._width)]

    def change(self, place: int, since: int, change: Callable[[Any], Any]) -> None:
        """Change the cells of one column, from row `since` on."""
        self._cells[since * self._width + place :: self._width] = map(change, self.column(place, since))

    @property
    def last(self) -> int | None:
        """The event of the last row."""
        return self._cells[-self._width] if self._cells else None

    def undo(self, event: int) -> None:
        """Take back the last rows as far as they are of this event and those after it."""
        while self._cells and self._cells[-self._width] >= event:
            del self._cells[-self._width :]

    def clear(self) -> None:
        """Forget all rows."""
        self._cells.clear()
