"""What is kept of the partitions that were audited until the last one is: little, for there may be many.

A frame that was cut out of a larger one holds on to all of its texts, so what is kept is written anew. Rows of which
few are asked for in the end wait compressed.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Literal

import polars as pl

Frames = dict[str, pl.DataFrame]

SAME = ("schemas", "schema_facts", "tools", "contracts", "shown_tables")
"""Frames of which partitions hold the same rows again and again."""
_PACKED = ("retries", "offer_events")
_PLACED = ("offers", "first_showings", "strays", "retries")  # whose events are looked up in `offer_events`


class Kept:
    """The answers of partitions, in their order."""

    def __init__(self) -> None:
        self.parts: list[Frames] = []
        """All frames but those that wait."""
        self._same: Frames = {}
        self._waiting: list[dict[str, bytes]] = []

    def add(self, part: Frames) -> None:
        """Keep what is needed of one more."""
        for name in SAME:
            before = self._same.get(name, part[name].clear())
            self._same[name] = anew(pl.concat([before, part[name]]).unique(maintain_order=True))
        self._waiting.append({name: _written(part[name]) for name in _PACKED})
        self.parts.append({name: anew(rows) for name, rows in part.items() if name not in (*SAME, *_PACKED)})

    def whole(self) -> list[Frames]:
        """The answers, with every row that may be asked for: of calls that may repeat a failed one, those that do."""
        failed = pl.concat([_ended(each["retries"]) for each in self._waiting]).unique()
        found = []
        for number, (part, waiting) in enumerate(zip(self.parts, self._waiting, strict=True)):
            retries = _read(waiting["retries"])
            retries = retries.filter(pl.col("digest").is_in(failed.implode()))
            places = _events(rows for name, rows in {**part, "retries": retries}.items() if name in _PLACED)
            events = _read(waiting["offer_events"]).filter(pl.col("event").is_in(places.implode()))
            same = {name: rows if number == 0 else rows.clear() for name, rows in self._same.items()}
            found.append({**part, **same, "retries": retries, "offer_events": events})
        return found


def anew(frame: pl.DataFrame) -> pl.DataFrame:
    """The same frame, holding on to nothing else."""
    return _read(_written(frame, "uncompressed"))


def _ended(retries: bytes) -> pl.Series:
    return _read(retries).filter(pl.col("ended").is_not_null())["digest"]


def _events(frames: Iterable[pl.DataFrame]) -> pl.Series:
    return pl.concat([frame["event"] for frame in frames])


def _written(frame: pl.DataFrame, compression: Literal["uncompressed", "lz4"] = "lz4") -> bytes:
    written = BytesIO()
    frame.write_ipc_stream(written, compression=compression)
    return written.getvalue()


def _read(written: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(written)
