"""Findings that are many: their columns are held compressed, at a tenth of the memory, and unpacked one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

import polars as pl

_FEW = 10_000  # rows that are held as they are


class Packed:
    """Frames of one schema, one behind the other, or some of their rows in another order."""

    def __init__(self, schema: pl.Schema, frames: Iterable[pl.DataFrame] = ()) -> None:
        self._schema = schema
        self._columns: dict[str, list[bytes | pl.Series]] = {name: [] for name in schema}
        self._all = 0
        self._rows: pl.Series | None = None
        for frame in frames:
            self.add(frame)

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self._all if self._rows is None else self._rows.len()

    def add(self, frame: pl.DataFrame) -> None:
        """Put a frame behind the others."""
        if self._rows is not None:
            self._rows = pl.concat([self._rows, _numbers(self._all, frame.height)])
        if frame.height:
            self._all += frame.height
            for name in self._schema:
                self._columns[name].append(frame[name])
        if self._all > _FEW:
            self.pack()

    def extend(self, other: Packed) -> None:
        """Put all rows of another one behind the others; that one is empty afterwards."""
        if self._rows is not None or other._rows is not None:
            rows = _numbers(self._all, other._all) if other._rows is None else other._rows + self._all
            self._rows = pl.concat([_numbers(0, self._all) if self._rows is None else self._rows, rows])
        self._all += other._all
        for name in self._schema:
            self._columns[name] += other._columns[name]
            other._columns[name].clear()
        other._all, other._rows = 0, None

    def pack(self) -> None:
        """Compress what is not, and hold on to nothing else."""
        for name, pieces in self._columns.items():
            self._columns[name] = [each if isinstance(each, bytes) else _packed(each) for each in pieces]

    def keep(self, rows: pl.Series) -> None:
        """Keep these rows, in this order."""
        rows = rows.cast(pl.Int64)
        self._rows = rows if self._rows is None else self._rows.gather(rows)

    def leave_out(self) -> None:
        """Hold no longer what is not kept."""
        if self._rows is not None:
            for name in self._schema:
                self._columns[name] = [_packed(self._unpacked(name))]
            self._all, self._rows = self._rows.len(), None

    def with_column(self, column: pl.Series, schema: pl.Schema) -> None:
        """Take one more column, of all rows in the order in which they were added, and keep those of a schema."""
        columns: dict[str, list[bytes | pl.Series]] = {**self._columns, column.name: [column]}
        self._schema, self._columns = schema, {name: columns[name] for name in schema}

    def copy(self) -> Packed:
        """The same rows, held apart."""
        copied = Packed(self._schema)
        copied._columns = {name: [*pieces] for name, pieces in self._columns.items()}
        copied._all, copied._rows = self._all, self._rows
        return copied

    def select(self, *names: str) -> pl.DataFrame:
        """Some columns."""
        return pl.DataFrame([self._unpacked(name) for name in names])

    def unpack(self) -> pl.DataFrame:
        """All columns; they are held here no longer."""
        columns = []
        for name in self._schema:
            columns.append(self._unpacked(name))
            self._columns[name].clear()
        self._all, self._rows = 0, None
        return pl.DataFrame(columns)

    def _unpacked(self, name: str) -> pl.Series:
        pieces = [_read(each) if isinstance(each, bytes) else each for each in self._columns[name]]
        # Of one chunk, for of many Polars takes six times the memory to order lists.
        whole = pl.concat(pieces, rechunk=True) if pieces else pl.Series(name, dtype=self._schema[name])
        pieces.clear()  # before there is one more of it
        return whole if self._rows is None else whole.gather(self._rows)


def _numbers(since: int, count: int) -> pl.Series:
    return pl.int_range(since, since + count, eager=True)


def _packed(column: pl.Series) -> bytes:
    written = BytesIO()
    column.to_frame().write_ipc_stream(written, compression="lz4")
    return written.getvalue()


def _read(piece: bytes) -> pl.Series:
    return pl.read_ipc_stream(BytesIO(piece)).to_series()
