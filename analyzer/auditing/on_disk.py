"""The frames of an audit that is saved, on disk: written by each partition, put together once all are there.

So `--save` holds no more than a partition in memory. Whoever audits a partition writes pieces into a folder of its own,
with the numbers that its rows have there. In the end the rows of each frame are numbered as in one partition, parted by
the order that they will have into portions that fit into memory, and sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple, Self

import polars as pl

from analyzer.auditing.numbers import NUMBERED, NUMBERS, ORDER, STAGE
from analyzer.frame_masking import masked_frame
from analyzer.full_disk import write_parquet

TOGETHER = 64 << 20
"""Bytes of a frame that are sorted together."""
_PIECE = 16 << 20
_MARKS = 64  # places of a piece by which its rows are known to lie
_PORTION = "portion of all"  # no column of a frame


_OWNERS = {**NUMBERS, "sightings": ("call", "result")}


class Piece(NamedTuple):
    """Some rows of a frame, in a file."""

    file: Path
    size: int


class Part:
    """Takes the frames of whole sessions, in one go or little by little."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(mkdtemp(dir=folder))
        self._count = 0

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Take rows; calls, results and verdicts have any numbers, in their order and each once."""
        size = int(frame.estimated_size())
        for rows in frame.iter_slices(max(frame.height * _PIECE // max(size, 1), 1)) if frame.height else [frame]:
            rows.write_ipc(self._folder / f"{name}.{self._count:06}.{rows.estimated_size()}", compression="lz4")
            self._count += 1


class OnDisk:
    """The frames of all partitions, in a private folder that goes with it."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="analyzer-")
        self.folder = Path(self._folder.name)
        """Where a Part is made for each partition, by any process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def write(self, target: Path) -> None:
        """Write each frame as a Parquet file, credentials hidden. Raises OSError."""
        parts = [_Numbered(part) for part in sorted(self.folder.iterdir())]
        for name in ("calls", "results", "verdicts"):
            since = _since(pl.concat(part.counts(name) for part in parts))
            for part in parts:
                part.number(name, since)
        for name in ORDER:
            _write(name, parts, target / f"{name}.parquet")


def _since(counts: pl.DataFrame) -> pl.DataFrame:
    """Of rows that are counted the number of the first, where all are numbered in this order."""
    by = counts.columns[:-1]
    return counts.sort(by).with_columns(since=pl.col("count").cum_sum() - pl.col("count")).drop("count")


class _Numbered:
    """The pieces of a part, and the numbers that its rows get."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces: dict[str, list[Piece]] = {}
        for file in sorted(folder.iterdir(), key=lambda file: file.name.split(".")[1]):
            name, _, size = file.name.split(".")
            self._pieces.setdefault(name, []).append(Piece(file, int(size)))

    def pieces(self, name: str) -> list[Piece]:
        """The pieces of a frame."""
        return self._pieces.get(name, [])

    def _keys(self, name: str) -> pl.DataFrame:
        """What tells the order of these rows: their session, the stage of a verdict, their number here."""
        stage = STAGE if name == "verdicts" else pl.lit(0, pl.Int32)
        rows = (pl.read_ipc(piece.file) for piece in self.pieces(name))
        return pl.concat(each.select(stage.alias("stage").cast(pl.Int32), "session", NUMBERED[name]) for each in rows)

    def counts(self, name: str) -> pl.DataFrame:
        """How many rows there are of each session and stage."""
        return self._keys(name).group_by("stage", "session").agg(count=pl.len().cast(pl.Int64))

    def number(self, name: str, since: pl.DataFrame) -> None:
        """Settle the numbers that rows get."""
        by = ["stage", "session"]
        keys = self._keys(name).sort(*by, NUMBERED[name])
        keys = keys.join(since, on=by, how="left", nulls_equal=True, maintain_order="left")
        number = pl.col("since") + pl.int_range(pl.len()).over(by)
        keys.select(NUMBERED[name], number=number).write_ipc(self._folder / NUMBERED[name], compression="lz4")

    def rows(self, name: str) -> Iterator[pl.DataFrame]:
        """The rows of a frame, numbered, piece by piece."""
        numbers = {what: self._read(what) for what in _OWNERS.get(name, ())}
        for piece in self.pieces(name):
            rows = pl.read_ipc(piece.file)
            if name == "sightings":
                yield _sightings(rows, numbers)
                continue
            for what, anew in numbers.items():
                found = rows.select(what).join(anew, on=what, how="left", maintain_order="left")
                rows = rows.with_columns(found["number"].alias(what))
            yield rows

    def _read(self, what: str) -> pl.DataFrame:
        return pl.read_ipc(self._folder / what)


def _sightings(rows: pl.DataFrame, numbers: dict[str, pl.DataFrame]) -> pl.DataFrame:
    known = pl.concat(
        anew.select(pl.lit(what).alias("what"), pl.col(what).alias("id"), "number") for what, anew in numbers.items()
    )
    found = rows.select("what", "id").join(known, on=["what", "id"], how="left", maintain_order="left")
    return rows.with_columns(found["number"].alias("id"))


def _key(name: str) -> pl.Expr:
    """A number that grows as the rows are ordered: by it they are parted."""
    if name == "turns":  # they are few
        return pl.lit(0, pl.Int64)
    if name == "sightings":
        return (pl.col("what") == "result").cast(pl.Int64) * (1 << 60) + pl.col("id")
    return pl.col(ORDER[name][0])


def _write(name: str, parts: list[_Numbered], target: Path) -> None:
    if sum(piece.size for part in parts for piece in part.pieces(name)) <= TOGETHER:
        whole = pl.concat(rows for part in parts for rows in part.rows(name))
        write_parquet(_finished(name, whole), target)
        return
    bounds = _bounds(name, parts)
    with TemporaryDirectory(prefix="analyzer-") as folder:
        portions = [Path(folder) / f"{number:06}" for number in range(bounds.len() + 1)]
        for part in parts:
            for rows in part.rows(name):
                where = bounds.search_sorted(_keyed(name, rows), side="right").alias(_PORTION)
                for (number,), mine in rows.with_columns(where).partition_by(_PORTION, as_dict=True).items():
                    _append(portions[number], mine.drop(_PORTION))
        sorted_ = [portion.with_suffix(".arrow") for portion in portions]
        for portion, file in zip(portions, sorted_, strict=True):
            _finished(name, pl.concat(_appended(portion))).write_ipc(file, compression="lz4")
            portion.unlink()
        write_parquet(pl.scan_ipc(sorted_), target)


def _bounds(name: str, parts: list[_Numbered]) -> pl.Series:
    """The first keys of all portions but the first: each but the last has about the same bytes."""
    marks = []
    for part in parts:
        for piece, rows in zip(part.pieces(name), part.rows(name), strict=True):
            keys = _keyed(name, rows).sort()
            some = keys.gather_every(max(keys.len() // _MARKS, 1))
            marks.append(some.to_frame("key").with_columns(size=pl.lit(piece.size) / some.len()))
    portions = pl.concat(marks).sort("key").with_columns(portion=pl.col("size").cum_sum() // TOGETHER)
    return portions.group_by("portion").agg(pl.col("key").min())["key"].unique().sort()[1:]


def _keyed(name: str, rows: pl.DataFrame) -> pl.Series:
    return rows.select(key=_key(name)).to_series()


def _append(file: Path, rows: pl.DataFrame) -> None:
    written = BytesIO()
    rows.write_ipc_stream(written, compression="lz4")
    with file.open("ab") as out:
        out.write(len(written.getbuffer()).to_bytes(8, "big"))
        out.write(written.getbuffer())


def _appended(file: Path) -> Iterator[pl.DataFrame]:
    with file.open("rb") as lots:
        while length := lots.read(8):
            yield pl.read_ipc_stream(lots.read(int.from_bytes(length, "big")))


def _finished(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    return masked_frame(rows.sort(ORDER[name], maintain_order=True))
