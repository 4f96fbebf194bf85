"""What the reader makes of the first records of a log: for looking at a mapping, or at why a log is not recognised."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, Any

import polars as pl

from analyzer.frames import RECORDED
from analyzer.read import ADAPTERS, first_values, limits, read
from analyzer.read.adapter import Adapter, sureness
from analyzer.read.records import framing
from analyzer.read.sources.files import Source, Stream
from analyzer.read.sources.finding import source

_ROWS = 200  # of a lake


@dataclass(frozen=True)
class Tried:
    """How sure each format is of the records at the head, the surest first, and the frames that came of them."""

    records: int
    scores: tuple[tuple[str, float], ...]
    format: str
    frames: dict[str, pl.DataFrame]
    missed: tuple[tuple[str, int, int], ...] = ()
    """Of a mapping the fields that found nothing: field, in how many, of how many of the first records."""


@dataclass(frozen=True)
class _Head(Source):
    """The first bytes of an input, up to the end of a line."""

    data: bytes = b""

    def open(self) -> IO[bytes]:
        return io.BytesIO(self.data)


def tried(path: str, *, adapters: tuple[type[Adapter], ...] = ADAPTERS, input_format: str | None = None) -> Tried:
    """Read the head of a log. Raises InputError where the log cannot be opened."""
    given = source(0, path, named=True)
    stream = Stream(given)
    head = stream.peek(limits.HEAD)
    stream.close()
    kind = framing(head)
    if kind == "parquet":
        head, kind = _rows(given), "lines"
    whole = len(head) < limits.HEAD
    if not whole and kind in ("lines", "prefixed", "sse"):
        head = head[: head.rfind(b"\n") + 1]
    values: list[Any] = first_values(head, kind)
    scores = [(each.name, sureness(each, values, given.path) if values else 0.0) for each in adapters]
    recording = read([_Head(0, given.path, data=head)], input_format=input_format, adapters=adapters)
    (frames,) = recording.partitions()
    row = recording.sources[0]
    known = tuple(sorted((each for each in scores if each[1] > 0), key=lambda each: (-each[1], each[0])))
    of_mapping = next((getattr(each, "missed", None) for each in adapters if each.name == row["format"]), None)
    missed = tuple(of_mapping(values)) if of_mapping is not None else ()
    return Tried(row["records"], known, row["format"], {name: frames[name] for name in RECORDED}, missed)


def _rows(lake: Source) -> bytes:
    """The first rows of a lake as lines: the end of a Parquet file says what is in it, not the head."""
    from analyzer.read.sources import lakes

    with lake.open() as file:
        return b"".join(b" ".join(text.splitlines()) + b"\n" for text in lakes.first(file, _ROWS))
