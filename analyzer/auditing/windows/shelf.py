"""Frames of one window after the other, on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl


class Shelf:
    """Takes frames by name, in the order of the windows, and gives them back one by one or together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Take the next frame of a name."""
        number = self._held[name] = self._held.get(name, 0) + 1
        frame.write_ipc(self._folder / f"{name}.{number}", compression="lz4")

    def has(self, name: str) -> bool:
        """Whether there are frames of a name."""
        return name in self._held

    def each(self, name: str, *columns: str) -> Iterator[pl.DataFrame]:
        """The frames of a name, or some columns of them."""
        for number in range(1, self._held.get(name, 0) + 1):
            yield pl.read_ipc(self._folder / f"{name}.{number}", columns=list(columns) or None)

    def whole(self, name: str, *columns: str) -> pl.DataFrame:
        """All frames of a name together."""
        return pl.concat(self.each(name, *columns))
