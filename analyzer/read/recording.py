"""What was read: recorded frames, in memory or spilled to disk by session, handed out one partition at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import polars as pl

from analyzer.errors import InputError
from analyzer.frames import PART_BITS, RECORD_BITS, RECORDED, SOURCES

Frames = dict[str, pl.DataFrame]

LIMIT = 300_000
"""Events held in memory, some 0.4 GB."""


_SOURCE = pl.col("event") // (1 << RECORD_BITS + PART_BITS)


def partition_of(session: str | None, partitions: int) -> int:
    """The partition of a session: a hash of our own, because Polars' changes between versions."""
    return crc32((session or "").encode("utf-8", "surrogatepass")) % partitions


@dataclass
class Recording:
    """Recorded frames of all sources. `add` frames while reading, then go through `partitions` once.

    Past `limit` events in memory everything is spilled to a private temporary folder, split by session, so that what is
    held is bounded by the largest partition and not by the log.
    """

    BLOCK: ClassVar[int] = 1 << 16
    """Events after which the reader hands its rows over."""

    limit: int = field(default_factory=lambda: LIMIT)
    spill: int = 16
    """Parts made when the limit is passed; a partition is as many of them as the limit allows."""
    at_least: int = 1
    """Partitions made in any case; the findings do not depend on it."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    problems: list[InputError] = field(default_factory=list)
    adrift: set[str] = field(default_factory=set)
    """Turns of events that name no session, known when `partitions` begins: another input may say whose they are."""
    _held: list[Frames] = field(default_factory=list)
    _events: int = 0
    _folder: Path | None = None
    _part: int = 0
    _sizes: list[int] = field(default_factory=list)
    _homeless: list[Frames] = field(default_factory=list)
    _turns: list[pl.DataFrame] = field(default_factory=list)
    _firsts: list[pl.DataFrame] = field(default_factory=list)

    def add(self, frames: Frames) -> None:
        """Take some frames; they may be spilled."""
        self._held.append(frames)
        self._events += frames["events"].height
        if self._events > self.limit:
            self._spill()

    def source_frame(self) -> pl.DataFrame:
        """SOURCES."""
        return pl.DataFrame(self.sources, schema=SOURCES)

    @property
    def expected_partitions(self) -> int:
        """How many `partitions` will give."""
        return self.at_least if self._folder is None else len(self._groups())

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="analyzer-"))
        placed, homeless = self._apart(_concat(self._held))
        self._held, self._events = [], 0
        self._homeless.append(homeless)
        self._turns.append(_turns(placed))
        self._firsts.append(_firsts(placed))
        self._write(placed)

    def _write(self, frames: Frames) -> None:
        assert self._folder is not None
        self._sizes = self._sizes or [0] * self.spill
        for number, part in _split(frames, self.spill):
            self._sizes[number] += part["events"].height
            folder = self._folder / str(number)
            folder.mkdir(exist_ok=True)
            for name, frame in part.items():
                if frame.height:
                    frame.write_ipc(folder / f"{name}.{self._part}.arrow", compression="lz4")
        self._part += 1

    def partitions(self) -> Iterator[Frames]:
        """The recorded frames of whole sessions, every session in one partition; may be gone through once.

        Sources of which no adapter knew a record are left out: they are named as not recognised, and their lines are no
        faults of a log.
        """
        strange = [row["source"] for row in self.sources if not row["format"]]
        for frames in self._partitions():
            yield _without(frames, strange) if strange else frames

    def _partitions(self) -> Iterator[Frames]:
        if self._folder is None:
            placed, homeless = self._apart(_concat(self._held))
            self._held = []
            merged = _together(placed, _housed(homeless, _turns(placed), _firsts(placed)))
            if self.at_least == 1:
                yield merged
            else:
                yield from (frames for _, frames in _split(merged, self.at_least))
            return
        try:
            self._spill()
            homeless = _concat(self._homeless)
            self._write(_housed(homeless, pl.concat(self._turns), pl.concat(self._firsts)))
            tables = pl.concat(self._spilled("tables")).unique("table", keep="first", maintain_order=True)
            for group in self._groups():
                yield {name: tables if name == "tables" else self._joined(group, name) for name in RECORDED}
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _apart(self, frames: Frames) -> tuple[Frames, Frames]:
        placed, homeless = _apart(frames)
        self.adrift.update(homeless["events"]["turn"].drop_nulls())
        return placed, homeless

    def _groups(self) -> list[list[int]]:
        """The parts that are audited together: rules cost the same for few events as for many."""
        groups: list[list[int]] = [[]]
        held = 0
        for number, size in enumerate(self._sizes):
            if groups[-1] and held + size > self.limit and len(groups) < self.spill:
                groups.append([])
                held = 0
            groups[-1].append(number)
            held += size
        return groups if len(groups) >= min(self.at_least, self.spill) else [[number] for number in range(self.spill)]

    def _joined(self, group: list[int], name: str) -> pl.DataFrame:
        parts = [frame for number in group for frame in self._of(number, name)]
        return pl.concat([RECORDED[name].to_frame(), *parts]).sort("event", maintain_order=True)

    def _of(self, number: int, name: str) -> Iterator[pl.DataFrame]:
        assert self._folder is not None
        return (pl.read_ipc(file) for file in _parts(self._folder / str(number), name))

    def _spilled(self, name: str) -> Iterator[pl.DataFrame]:
        yield RECORDED[name].to_frame()
        for number in range(self.spill):
            yield from self._of(number, name)


def _without(frames: Frames, sources: list[int]) -> Frames:
    return {
        name: frame if name == "tables" else frame.filter(~_SOURCE.is_in(sources)) for name, frame in frames.items()
    }


def _parts(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}.*.arrow"), key=lambda file: int(file.suffixes[0][1:]))


def _concat(held: list[Frames]) -> Frames:
    return {
        name: pl.concat([schema.to_frame(), *(frames[name] for frames in held)]) for name, schema in RECORDED.items()
    }


def _split(frames: Frames, partitions: int) -> Iterator[tuple[int, Frames]]:
    """The frames by session; tables, which belong to no session, go with every part that may need them."""
    names = pl.concat([frame["session"] for name, frame in frames.items() if name != "tables"]).unique()
    where = pl.DataFrame(
        {"session": names, "partition": [partition_of(name, partitions) for name in names]},
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


# --- events whose session no record near them names -------------------------------------------------------------------


def _apart(frames: Frames) -> tuple[Frames, Frames]:
    """The frames of events with a session, and those of events without."""
    frames = {**frames, "faults": _beside(frames["faults"], frames["events"])}
    homeless = frames["events"].filter(pl.col("session").is_null() & ~pl.col("kind").is_in(["broken", "unknown"]))[
        "event"
    ]
    if homeless.is_empty():
        return frames, {name: frame.clear() for name, frame in frames.items()}
    lost = {
        name: frame.clear() if name == "tables" else frame.filter(pl.col("event").is_in(homeless.implode()))
        for name, frame in frames.items()
    }
    placed = {
        name: frame if name == "tables" else frame.filter(~pl.col("event").is_in(homeless.implode()))
        for name, frame in frames.items()
    }
    return placed, lost


def _beside(faults: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Faults with the session of their event: what is found before a record is understood knows none."""
    if not faults["session"].null_count():
        return faults
    own = events.select("event", own="session")
    return faults.join(own, on="event", how="left", maintain_order="left").select(
        pl.coalesce("session", "own").alias("session") if name == "session" else name for name in faults.columns
    )


def _turns(frames: Frames) -> pl.DataFrame:
    """Which session a turn is of, where only one has it."""
    return (
        frames["events"]
        .lazy()
        .filter(pl.col("turn").is_not_null() & pl.col("session").is_not_null())
        .select("turn", "session")
        .unique()
        .sort("turn", "session")
        .collect()
    )


def _firsts(frames: Frames) -> pl.DataFrame:
    """The session of the first event of each source."""
    return (
        frames["events"]
        .lazy()
        .filter(pl.col("session").is_not_null())
        .group_by("source")
        .agg(pl.col("session").sort_by("event").first(), pl.col("event").min())
        .sort("source")
        .collect()
    )


def _housed(homeless: Frames, turns: pl.DataFrame, firsts: pl.DataFrame) -> Frames:
    """Events without a session, given that of their turn, else the first of their file, else one of their own.

    A bare input belongs to the session of the events around it; a page of items to the session that has its turns.
    """
    events = homeless["events"]
    if events.is_empty():
        return homeless
    turns = turns.unique().filter(pl.col("turn").is_unique())
    by_turn = events.join(turns.rename({"session": "of_turn"}), on="turn", how="left", maintain_order="left")
    near = pl.concat(
        [
            firsts.select("source", "session", "event"),
            by_turn.filter(pl.col("of_turn").is_not_null()).select("source", session="of_turn", event="event"),
        ]
    )
    near = near.sort("source", "event").unique("source", keep="first", maintain_order=True)
    found = by_turn.join(
        near.select("source", of_file="session"), on="source", how="left", maintain_order="left"
    ).select(
        "event",
        session=pl.coalesce(
            "of_turn", "of_file", pl.concat_str(pl.lit("(unrecorded "), (_SOURCE + 1).cast(pl.String), pl.lit(")"))
        ),
    )
    return {
        name: frame
        if name == "tables"
        else frame.drop("session").join(found, on="event", how="left", maintain_order="left").select(frame.columns)
        for name, frame in homeless.items()
    }


def _together(frames: Frames, others: Frames) -> Frames:
    if others["events"].is_empty():
        return frames
    return {
        name: frame if name == "tables" else pl.concat([frame, others[name]]).sort("event", maintain_order=True)
        for name, frame in frames.items()
    }
