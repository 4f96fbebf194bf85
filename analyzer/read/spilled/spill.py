"""Recorded frames on disk, split by session: what is held in memory is bounded by a partition and not by the log.

Several processes may write into one folder, each as a share of its own. A share that begins in the middle of a source
counts events and lines from there on; where it begins is known when all those before it were read, so it is added when
the rows are read back.

A file holds many small frames one after the other, as Arrow streams: a file for each would take most of the time.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import polars as pl

from analyzer.frames import PART_BITS, RECORDED, Frames
from analyzer.read.spilled import large
from analyzer.read.spilled.housing import SOURCE_OF, Homes, apart, firsts_of, turns_of

_WHOLE, _HOMELESS = -1, -2  # in the place of a part: what goes with every part, and events without a session
_LONG, _COPIES = 1 << 18, 3  # bytes of a text that is judged while two like it are made of it
_TOGETHER = 32 << 20  # bytes of a frame that are written, and so read back, at once
_HOUSED = 999_999  # the share of events that got their session in the end
_TURNS = pl.Schema({"turn": pl.String(), "session": pl.String()})
_FIRSTS = pl.Schema({"source": pl.Int64(), "session": pl.String(), "event": pl.Int64()})


class Shift(NamedTuple):
    """How many records and lines of its source come before a share."""

    records: int
    lines: int


NOTHING_BEFORE = Shift(0, 0)


class Piece(NamedTuple):
    """Where some rows of one frame lie."""

    part: int
    frame: str
    share: int
    file: str
    offset: int
    length: int


def weight_of(frames: Frames) -> int:
    """What some recorded frames weigh in memory: the number of their events, or more where their texts are long."""
    events, size = frames["events"].height, sum(int(frame.estimated_size()) for frame in frames.values())
    if size * _COPIES > events * large.HEAVY:
        size += sum(map(_long, frames.values())) * (_COPIES - 1)
    return max(events, size // large.HEAVY)


def _long(frame: pl.DataFrame) -> int:
    """The bytes of texts that are so long that each of them counts."""
    sizes = (column.str.len_bytes() for column in frame.iter_columns() if column.dtype == pl.String)
    return sum(int(each.filter(each > _LONG).sum()) for each in sizes)


def _hash(session: str | None) -> int:
    """A hash of our own, because Polars' changes between versions."""
    return crc32((session or "").encode("utf-8", "surrogatepass"))


def split(frames: Frames, partitions: int, within: int = 1) -> Iterator[tuple[int, Frames]]:
    """The frames by session; tables, which belong to no session, go with every part that may need them.

    `within` is in how many parts all of them were split before: those of one part are split once more.
    """
    names = pl.concat([frame["session"] for name, frame in frames.items() if name != "tables"]).unique()
    where = pl.DataFrame(
        {"session": names, "partition": [_hash(name) // within % partitions for name in names]},
        schema={"session": pl.String, "partition": pl.Int64},
    )
    parted = {
        name: frame.join(where, on="session", how="left", nulls_equal=True, maintain_order="left").partition_by(
            "partition", maintain_order=True, include_key=False, as_dict=True
        )
        for name, frame in frames.items()
        if name != "tables"
    }
    for number in range(partitions):
        part = {name: parts.get((number,), frames[name].clear()) for name, parts in parted.items()}
        yield number, {name: part.get(name, frames["tables"]) for name in RECORDED}


def sessions_among(frames: Frames, numbers: Container[int], count: int) -> Frames:
    """The frames of those sessions whose number is among these, of `count`; it says nothing of the partition."""
    names = pl.concat([frame["session"] for name, frame in frames.items() if name != "tables"]).unique()
    mine = _of(name for name in names if (_hash(name) >> 12) % count in numbers)
    return {name: frame if name == "tables" else frame.filter(mine) for name, frame in frames.items()}


def without(frames: Frames, sources: tuple[int, ...]) -> Frames:
    """The frames without the events of some sources."""
    if not sources:
        return frames
    return {
        name: frame if name == "tables" else frame.filter(~SOURCE_OF.is_in(sources)) for name, frame in frames.items()
    }


@dataclass
class Spill:
    """Writes the frames of one share into a folder."""

    folder: Path
    parts: int
    share: int = 0
    sizes: list[int] = field(default_factory=list)
    """What each part weighs."""
    adrift: set[str] = field(default_factory=set)
    """Turns of events that name no session."""
    pieces: list[Piece] = field(default_factory=list)
    _files: int = 0

    def __post_init__(self) -> None:
        self.sizes = self.sizes or [0] * self.parts

    def add(self, frames: Frames) -> None:
        """Write some frames, those of events without a session apart."""
        placed, homeless = apart(frames)
        beside = {"turns": turns_of(placed), "firsts": firsts_of(placed), "tables": placed["tables"]}
        lots = [(_WHOLE, beside), *self._split(placed)]
        if homeless["events"].height:
            self.adrift.update(homeless["events"]["turn"].drop_nulls())
            lots.append((_HOMELESS, homeless))
        self._write(lots)

    def add_placed(self, frames: Frames) -> None:
        """Write frames of events that all have their session."""
        self._write(self._split(frames))

    def add_tables(self, tables: pl.DataFrame) -> None:
        """Write tables that are whole."""
        self._write([(_WHOLE, {"tables": tables})])

    def _split(self, frames: Frames) -> Iterator[tuple[int, Frames]]:
        for number, part in split(frames, self.parts):
            rows = {name: frame for name, frame in part.items() if name != "tables"}
            self.sizes[number] += weight_of(rows)
            yield number, rows

    def _write(self, lots: Iterable[tuple[int, Frames]]) -> None:
        name = f"{self.share:06}.{self._files:06}.arrows"
        self._files += 1
        with (self.folder / name).open("wb") as file:
            for part, frames in lots:
                for frame, whole in frames.items():
                    most = max(whole.height * _TOGETHER // max(int(whole.estimated_size()), 1), 1)
                    for rows in whole.iter_slices(most):
                        since = file.tell()
                        rows.write_ipc_stream(file, compression="lz4")
                        self.pieces.append(Piece(part, frame, self.share, name, since, file.tell() - since))

    def discard(self) -> None:
        """Take back what this share wrote."""
        for file in self.folder.glob(f"{self.share:06}.*"):
            file.unlink()


@dataclass
class Spilled:
    """What all shares wrote into a folder."""

    folder: Path
    parts: int
    sizes: list[int] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    shifts: dict[int, Shift] = field(default_factory=dict)

    def take(self, spill: Spill, shift: Shift) -> None:
        """Count a share, before which its source has `shift`."""
        self.sizes = [sum(pair) for pair in zip(self.sizes or [0] * self.parts, spill.sizes, strict=True)]
        self.pieces += spill.pieces
        self.shifts[spill.share] = shift

    def settle(self) -> None:
        """Give events without a session one, and keep each table once; to be called when all shares are there."""
        last = Spill(self.folder, self.parts, _HOUSED)
        tables = pl.concat([RECORDED["tables"].to_frame(), *self._read("tables")])
        last.add_tables(tables.unique("table", keep="first", maintain_order=True))
        if any(piece.part == _HOMELESS for piece in self.pieces):
            turns = pl.concat([_TURNS.to_frame(), *self._read("turns")])
            firsts = pl.concat([_FIRSTS.to_frame(), *self._read("firsts")])
            homes = Homes(self._read("events", _HOMELESS), turns, firsts)
            for pieces in _by_file(piece for piece in self.pieces if piece.part == _HOMELESS):
                found = {piece.frame: rows for piece, rows in _rows(self.folder, pieces, self.shifts)}
                last.add_placed(
                    homes.housed({name: found.get(name, schema.to_frame()) for name, schema in RECORDED.items()})
                )
        self.pieces = [piece for piece in self.pieces if piece.part >= 0]
        self.take(last, NOTHING_BEFORE)

    def _read(self, frame: str, part: int = _WHOLE) -> Iterator[pl.DataFrame]:
        pieces = [piece for piece in self.pieces if piece.part == part and piece.frame == frame]
        return (rows for _, rows in _rows(self.folder, pieces, self.shifts))

    def lots(self, strange: tuple[int, ...], *, limit: int, at_least: int) -> list[Lot | Large]:
        """Parts in lots of about `limit` events each, as many as there are processes or a multiple of it.

        Each session that is too large to be looked at whole is a lot of its own.
        """
        together = max(limit * self.parts // max(sum(self.sizes), 1), 1)  # parts that have so many
        most = -(-self.parts // (together * at_least))
        groups: list[list[int]] = [[] for _ in range(min(most * at_least, self.parts))]
        held = [0] * len(groups)
        for number in sorted(range(self.parts), key=lambda number: -self.sizes[number]):
            least = held.index(min(held))
            groups[least].append(number)
            held[least] += self.sizes[number]
        pieces: dict[int, list[Piece]] = {}
        for piece in self.pieces:
            pieces.setdefault(piece.part, []).append(piece)
        found: list[Lot | Large] = []
        for group in groups:
            heavy = {number: self._large(number, pieces.get(number, [])) for number in group}
            found += [
                Large(self._lot([number], pieces, strange), name) for number in group for name in heavy[number][0]
            ]
            left = tuple(name for names, _ in heavy.values() for name in names)
            # What is all of a large session has not to be gone through once more to see that nothing else is there.
            rest = [number for number in group if heavy[number][1] or not heavy[number][0]]
            lot = self._lot(rest, pieces, strange, left)
            slices = -(-heavy[rest[0]][1] // limit) if len(rest) == 1 else 1
            found += [replace(lot, slices=(at, slices, self.parts)) if slices > 1 else lot for at in range(slices or 1)]
        return found

    def _lot(
        self,
        parts: list[int],
        pieces: Mapping[int, list[Piece]],
        strange: tuple[int, ...],
        left: tuple[str | None, ...] = (),
    ) -> Lot:
        mine = sorted(
            (piece for part in (_WHOLE, *parts) for piece in pieces.get(part, ())),
            key=lambda piece: (piece.file, piece.offset),
        )
        shifts = {piece.share: self.shifts[piece.share] for piece in mine}
        return Lot(self.folder, tuple(mine), shifts, strange, left=left)

    def _large(self, number: int, pieces: list[Piece]) -> tuple[list[str | None], int]:
        """The sessions of a part that are too large to be looked at whole, and what the others weigh."""
        if self.sizes[number] <= large.WINDOW:
            return [], self.sizes[number]
        names, rest = large.large_sessions(
            (piece.frame, rows) for piece, rows in _rows(self.folder, pieces, self.shifts)
        )
        return (names, rest) if names else ([], self.sizes[number])


@dataclass(frozen=True)
class Lot:
    """Where the frames of some sessions lie: some parts, or a slice of one; any process may load them."""

    folder: Path
    pieces: tuple[Piece, ...]
    shifts: Mapping[int, Shift]
    strange: tuple[int, ...] = ()
    """Sources that are left out."""
    slices: tuple[int, int, int] | None = None
    """Of one part that is too large: which slice, of how many, and in how many parts all was split."""
    left: tuple[str | None, ...] = ()
    """Sessions that are lots of their own."""

    def load(self) -> Frames:
        """The recorded frames, each in the order of its events."""
        found: dict[str, list[pl.DataFrame]] = {name: [schema.to_frame()] for name, schema in RECORDED.items()}
        for piece, rows in _rows(self.folder, self.pieces, self.shifts):
            mine = rows if self.slices is None or piece.part < 0 else self._slice(rows)
            if self.left and piece.part >= 0:
                mine = mine.filter(~_of(self.left))
            found[piece.frame].append(mine)
        return without({name: in_order(pl.concat(pieces)) for name, pieces in found.items()}, self.strange)

    def _slice(self, frame: pl.DataFrame) -> pl.DataFrame:
        assert self.slices is not None
        number, slices, within = self.slices
        names = frame["session"].unique()
        return frame.filter(_of(name for name in names if _hash(name) // within % slices == number))


@dataclass(frozen=True)
class Large:
    """Where the frames of one session lie that is too large to be looked at whole."""

    lot: Lot
    """What holds it."""
    session: str | None

    def frames(self, *names: str) -> Iterator[tuple[str, pl.DataFrame]]:
        """The rows of the recorded frames of these names, or of all, piece by piece."""
        lot = self.lot
        pieces = [piece for piece in lot.pieces if not names or piece.frame in names]
        for piece, rows in _rows(lot.folder, pieces, lot.shifts):
            mine = rows if piece.part < 0 else rows.filter(_of([self.session]))
            if piece.frame != "tables" and lot.strange:
                mine = mine.filter(~SOURCE_OF.is_in(lot.strange))
            if mine.height:
                yield piece.frame, mine

    def load(self) -> Frames:
        """The recorded frames, whole, whatever that takes."""
        found: dict[str, list[pl.DataFrame]] = {name: [schema.to_frame()] for name, schema in RECORDED.items()}
        for name, rows in self.frames():
            found[name].append(rows)
        return {name: in_order(pl.concat(pieces)) for name, pieces in found.items()}


def _of(sessions: Iterable[str | None]) -> pl.Expr:
    return pl.col("session").is_in(pl.Series(list(sessions), dtype=pl.String).implode(), nulls_equal=True)


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame sorted by event, if it has events: some rows are appended late."""
    if "event" not in frame.columns or frame["event"].is_sorted():
        return frame
    return frame.sort("event", maintain_order=True)


def _by_file(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    return (list(group) for _, group in groupby(pieces, key=lambda piece: piece.file))


def _rows(folder: Path, pieces: Iterable[Piece], shifts: Mapping[int, Shift]) -> Iterator[tuple[Piece, pl.DataFrame]]:
    """The rows of some pieces, counted from the beginning of their sources."""
    for group in _by_file(pieces):
        with (folder / group[0].file).open("rb") as file:
            for piece in group:
                file.seek(piece.offset)
                rows = pl.read_ipc_stream(file.read(piece.length))
                yield piece, _shifted(rows, shifts[piece.share])


def _shifted(frame: pl.DataFrame, shift: Shift) -> pl.DataFrame:
    if shift == NOTHING_BEFORE or "event" not in frame.columns:
        return frame
    frame = frame.with_columns(pl.col("event") + (shift.records << PART_BITS))
    return frame.with_columns(pl.col("line") + shift.lines) if "line" in frame.columns else frame
