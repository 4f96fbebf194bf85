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
from analyzer.frames import RECORDED, SOURCES

Frames = dict[str, pl.DataFrame]


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

    limit: int = 1_500_000
    spill: int = 16
    """Partitions made when the limit is passed."""
    at_least: int = 1
    """Partitions made in any case; the findings do not depend on it."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    problems: list[InputError] = field(default_factory=list)
    _held: list[Frames] = field(default_factory=list)
    _events: int = 0
    _folder: Path | None = None
    _part: int = 0
    _turn_session: dict[str, str] = field(default_factory=dict)

    def add(self, frames: Frames) -> None:
        """Take some frames; they may be spilled."""
        self._held.append(frames)
        self._events += frames["events"].height
        if self._events > self.limit:
            self._spill()

    def source_frame(self) -> pl.DataFrame:
        """SOURCES."""
        return pl.DataFrame(self.sources, schema=SOURCES)

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="analyzer-"))
        merged = _concat(self._held)
        turns = merged["turn_states"].filter(pl.col("session").is_not_null() & pl.col("turn").is_not_null())
        self._turn_session.update(zip(turns["turn"], turns["session"], strict=True))
        for number, frames in _split(merged, self.spill):
            folder = self._folder / str(number)
            folder.mkdir(exist_ok=True)
            for name, frame in frames.items():
                if frame.height:
                    frame.write_ipc(folder / f"{name}.{self._part}.arrow", compression="lz4")
        self._part += 1
        self._held, self._events = [], 0

    def partitions(self) -> Iterator[Frames]:
        """The recorded frames of whole sessions, every session in one partition; may be gone through once."""
        if self._folder is not None:
            self._spill()
            try:
                tables = pl.concat([frame for frame in self._spilled("tables")] or [RECORDED["tables"].to_frame()])
                tables = tables.unique("table", keep="first", maintain_order=True).sort("table")
                for number in range(self.spill):
                    folder = self._folder / str(number)
                    yield {
                        name: tables
                        if name == "tables"
                        else pl.concat(
                            [schema.to_frame(), *(pl.read_ipc(file, memory_map=False) for file in _parts(folder, name))]
                        )
                        for name, schema in RECORDED.items()
                    }
            finally:
                shutil.rmtree(self._folder, ignore_errors=True)
            return
        merged = _concat(self._held)
        self._held = []
        if self.at_least == 1:
            yield merged
        else:
            yield from (frames for _, frames in _split(merged, self.at_least))

    def _spilled(self, name: str) -> Iterator[pl.DataFrame]:
        assert self._folder is not None
        for number in range(self.spill):
            for file in _parts(self._folder / str(number), name):
                yield pl.read_ipc(file, memory_map=False)


def _parts(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}.*.arrow"), key=lambda file: int(file.suffixes[0][1:]))


def _concat(held: list[Frames]) -> Frames:
    return {name: pl.concat([schema.to_frame(), *(frames[name] for frames in held)]) for name, schema in RECORDED.items()}


def _split(frames: Frames, partitions: int) -> Iterator[tuple[int, Frames]]:
    """The frames by session; tables, which belong to no session, go with every part that may need them."""
    names = pl.concat([frame["session"] for name, frame in frames.items() if name != "tables"]).unique()
    where = pl.DataFrame(
        {"session": names, "partition": [partition_of(name, partitions) for name in names]},
        schema={"session": pl.String, "partition": pl.Int64},
    )
    parted = {
        name: frame.join(where, on="session", how="left", nulls_equal=True, maintain_order="left")
        for name, frame in frames.items()
        if name != "tables"
    }
    for number in range(partitions):
        part = {name: frame.filter(pl.col("partition") == number).drop("partition") for name, frame in parted.items()}
        yield number, {name: part.get(name, frames["tables"]) for name in RECORDED}
