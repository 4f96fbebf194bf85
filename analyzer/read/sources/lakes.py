"""Rows of a lake: Parquet files that hold one event as JSON text in each row, and beside it whose it is.

A row is a record: its number in the file, from 0, stands for the offset, and from 1 for the line.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

import polars as pl

BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a broken file raises; the second is no Exception."""

# Columns by the names that recorders give them; the first that is there is taken.
EVENT = ("event", "raw", "record", "body", "payload", "data", "message", "text")
_BESIDE = {
    "session_id": ("session_id", "session"),
    "sequence_number": ("sequence_number", "seq", "number", "ordinal"),
    "recorded_at": ("recorded_at", "time", "timestamp", "ts"),
}
_ROWS = 8192
_HEAD = 200  # characters: where the type of an event stands


class NoEvents(pl.exceptions.PolarsError):
    """The file has no column of event texts, or fewer rows than it says."""


def records(file: IO[bytes]) -> Iterator[list[bytes]]:
    """The JSON texts of the rows, in order, some at a time.

    An event of the Agents API, which need not name its session, gets what stands beside it, as a recorder of lines
    writes it. Raises BROKEN where the file is not what it says.
    """
    rows = pl.scan_parquet(file)
    schema = rows.collect_schema()
    event = _event(schema)
    beside = [
        _plain(schema, found).alias(name)
        for name, names in _BESIDE.items()
        if (found := next((each for each in names if each in schema), None)) is not None
    ]
    text = pl.col(event).cast(pl.String).fill_null("")
    if beside:
        bare = text.str.strip_chars_start()
        own = bare.str.starts_with("{") & bare.str.head(_HEAD).str.contains('"agent.', literal=True)
        around = pl.struct(beside).struct.json_encode().str.head(-1)
        text = pl.when(own).then(pl.concat_str(around, pl.lit(","), bare.str.slice(1))).otherwise(text)
    missing = rows.select(pl.len()).collect().item()
    for batch in rows.select(text.alias("record")).collect_batches(chunk_size=_ROWS, maintain_order=True, lazy=True):
        missing -= batch.height
        yield [record.encode() for record in batch["record"]]
    if missing:  # what fails in the background may just end
        raise NoEvents(f"{missing} rows cannot be read")


def first(file: IO[bytes], most: int) -> list[bytes]:
    """The texts of the first rows; none where the file holds no events."""
    try:
        return next(records(file), [])[:most]
    except BROKEN:
        return []


class Texts:
    """The event texts of a file, one at a time by their place, as if it were a file of bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._row = 0

    def seek(self, row: int, /) -> None:
        """Go to a row."""
        self._row = row

    def read(self, size: int, /) -> bytes:
        """The first bytes of its text."""
        self._file.seek(0)
        rows = pl.scan_parquet(self._file)
        text = pl.col(_event(rows.collect_schema())).cast(pl.Binary)
        found = rows.select(text).slice(self._row, 1).collect().to_series()
        return (found[0] or b"")[:size] if found.len() else b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def spooled(pieces: Iterable[bytes]) -> IO[bytes]:
    """A stream as a private temporary file: the end of a Parquet file says what is in it."""
    file = tempfile.TemporaryFile(prefix="analyzer-")  # noqa: SIM115
    for piece in pieces:
        file.write(piece)
    file.seek(0)
    return file


def _event(schema: pl.Schema) -> str:
    for name in EVENT:
        if schema.get(name) in (pl.String, pl.Binary):
            return name
    raise NoEvents(f"no column of event texts: {', '.join(EVENT)}")


def _plain(schema: pl.Schema, name: str) -> pl.Expr:
    """A column as JSON holds it."""
    kind = schema[name]
    if isinstance(kind, pl.Datetime):
        column = pl.col(name) if kind.time_zone is None else pl.col(name).dt.convert_time_zone("UTC")
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    return pl.col(name)
