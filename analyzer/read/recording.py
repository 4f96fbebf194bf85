"""What was read: recorded frames, in memory or spilled to disk by session, handed out one partition at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import polars as pl

from analyzer.errors import InputError
from analyzer.frames import RECORDED, SOURCES, Frames, no_rows
from analyzer.read.spilled import large
from analyzer.read.spilled.housing import Homes, apart, firsts_of, turns_of
from analyzer.read.spilled.spill import NOTHING_BEFORE, Shift, Spill, Spilled, in_order, split, weight_of, without

LIMIT = 300_000
"""Events held in memory, some 0.4 GB; 2 KB of texts count as one."""


class Loadable(Protocol):
    """One partition, in memory or on disk."""

    def load(self) -> Frames:
        """The recorded frames of whole sessions."""


@dataclass(frozen=True)
class _Held:
    frames: Frames

    def load(self) -> Frames:
        return self.frames


@dataclass
class Recording:
    """Recorded frames of all sources. `add` frames while reading, then go through `partitions` once.

    Past `limit` events in memory everything is spilled to a private temporary folder, split by session. Several
    processes may read into one folder, each with a recording of its own, which are then taken together.
    """

    BLOCK: ClassVar[int] = 1 << 16
    """Events after which the reader hands its rows over."""
    BLOCK_BYTES: ClassVar[int] = 1 << 26
    """Bytes of a source after which it does so, too."""

    limit: int = field(default_factory=lambda: LIMIT)
    parts: int = 16
    """Parts made when the limit is passed; a partition is as many of them as the limit allows."""
    at_least: int = 1
    """Partitions made in any case; the findings do not depend on it."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    problems: list[InputError] = field(default_factory=list)
    adrift: set[str] = field(default_factory=set)
    """Turns of events that name no session, known when `partitions` begins: another input may say whose they are."""
    folder: Path | None = None
    """Where to spill, if not into the system's temporary folder; it is removed in the end."""
    spilled: Spill | None = None
    """Where this process writes, once it does; given where the folder is another's."""
    _held: list[Frames] = field(default_factory=list)
    _events: int = 0
    _whole: Spilled | None = None
    _lots: list[Loadable] | None = None

    def add(self, frames: Frames) -> None:
        """Take some frames; they may be spilled."""
        self._held.append(frames)
        self._events += weight_of(frames)
        if self._events > self.limit:
            self.flush()

    def spill(self) -> Spill:
        """Where this process writes what it does not hold, in a folder that is removed in the end."""
        if self.spilled is None:
            self.spilled = Spill(self.folder or Path(tempfile.mkdtemp(prefix="analyzer-")), self.parts)
        return self.spilled

    def flush(self) -> None:
        """Write what is held."""
        # To split frames of several chunks is to copy their texts: long ones are written as they came.
        light = self._events <= sum(frames["events"].height for frames in self._held)
        held, self._held, self._events = [_concat(self._held)] if light else self._held[::-1], [], 0
        while held:
            self.spill().add(held.pop())

    def take(self, spilled: Spill, shift: Shift) -> None:
        """Count what another process wrote into the folder of `spill`; `shift` is what came before it in its source."""
        self._whole = self._whole or Spilled(spilled.folder, self.parts)
        self._whole.take(spilled, shift)
        self.adrift |= spilled.adrift

    def source_frame(self) -> pl.DataFrame:
        """SOURCES."""
        return pl.DataFrame(self.sources, schema=SOURCES)

    @property
    def expected_partitions(self) -> int:
        """How many `partitions` will give."""
        return len(self.lots())

    def partitions(self) -> Iterator[Frames]:
        """The recorded frames of whole sessions, every session in one partition; may be gone through once.

        Sources of which no adapter knew a record are left out: they are named as not recognised, and their lines are no
        faults of a log.
        """
        try:
            for lot in self.lots():
                yield lot.load()
        finally:
            self.close()

    def lots(self) -> list[Loadable]:
        """The same as `partitions`, each to be loaded where it is wanted, until `close`."""
        if self._lots is None:
            strange = tuple(row["source"] for row in self.sources if not row["format"])
            whole = self.spilled is None and not self._any_large()
            self._lots = self._in_memory(strange) if whole else self._on_disk(strange)
            self._held = []
        return self._lots

    def _any_large(self) -> bool:
        held = ((name, rows) for frames in self._held for name, rows in frames.items())
        return self._events > large.WINDOW and bool(large.large_sessions(held)[0])

    def _in_memory(self, strange: tuple[int, ...]) -> list[Loadable]:
        placed, homeless = apart(_concat(self._held))
        self.adrift.update(homeless["events"]["turn"].drop_nulls())
        if homeless["events"].height:
            homes = Homes([homeless["events"]], turns_of(placed), firsts_of(placed))
            placed = _together(placed, homes.housed(homeless))
        placed = without(placed, strange)
        if self.at_least == 1:
            return [_Held(placed)]
        return [_Held(frames) for _, frames in split(placed, self.at_least)]

    def _on_disk(self, strange: tuple[int, ...]) -> list[Loadable]:
        self.flush()
        self.take(self.spill(), NOTHING_BEFORE)
        assert self._whole is not None
        self._whole.settle()
        return [*self._whole.lots(strange, limit=self.limit, at_least=self.at_least)]

    def close(self) -> None:
        """Remove what is on disk."""
        self._lots = []
        if self.spilled is not None:
            shutil.rmtree(self.spilled.folder, ignore_errors=True)


def _concat(held: list[Frames]) -> Frames:
    return {name: in_order(pl.concat([frames[name] for frames in held] or [no_rows(name)])) for name in RECORDED}


def _together(frames: Frames, others: Frames) -> Frames:
    return {
        name: frame if name == "tables" else pl.concat([frame, others[name]]).sort("event", maintain_order=True)
        for name, frame in frames.items()
    }
