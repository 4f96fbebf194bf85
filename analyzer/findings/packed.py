"""Findings that are many: their columns are held compressed, at a tenth of the memory, and unpacked one at a time."""

from __future__ import annotations

from io import BytesIO

import polars as pl


class Packed:
    """Frames of one schema, in their order. One alone stays as it is: of few findings nothing is worth packing."""

    def __init__(self, schema: pl.Schema) -> None:
        self._schema = schema
        self._frame: pl.DataFrame | None = None
        self._columns: dict[str, list[bytes]] = {}
        self.height = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Take the next frame."""
        if frame.is_empty():
            return
        self.height += frame.height
        if self.height == frame.height:
            self._frame = frame
            return
        for each in (frame,) if self._frame is None else (self._frame, frame):
            for column in each:
                self._columns.setdefault(column.name, []).append(_packed(column))
        self._frame = None

    def select(self, *names: str) -> pl.DataFrame:
        """Some columns of all frames."""
        if not self.height:
            return self._schema.to_frame().select(names)
        if self._frame is not None:
            return self._frame.select(names)
        return pl.DataFrame([_unpacked(self._columns[name]) for name in names])

    def take(self, name: str) -> pl.Series:
        """A column of all frames, of one chunk, which is held here no longer."""
        if self._columns:
            return _unpacked(self._columns.pop(name))
        column = self.select(name)[name].rechunk()
        if self._frame is not None:
            self._frame = self._frame.drop(name)
        return column


def _packed(column: pl.Series) -> bytes:
    written = BytesIO()
    column.to_frame().write_ipc_stream(written, compression="lz4")
    return written.getvalue()


def _unpacked(pieces: list[bytes]) -> pl.Series:
    return pl.concat([pl.read_ipc_stream(BytesIO(each)).to_series() for each in pieces], rechunk=True)
