"""Ranges of one long file of lines, so that several processes read it at once."""

from __future__ import annotations

import os
import stat
from typing import IO, NamedTuple

from analyzer.read import limits
from analyzer.read.sources import remote, zips
from analyzer.read.sources.files import Source, is_once


class Range(NamedTuple):
    """Some whole lines of a file: from the byte `start` up to, and without, the byte `end`."""

    start: int
    end: int


def size_of(source: Source) -> int | None:
    """Bytes of a source that is a file or object of its own, which any process can open; None for any other."""
    path = source.real or source.path
    if is_once(path) or zips.parts(path) is not None:
        return None
    try:
        if remote.is_remote(path):
            return remote.state(path)[1]
        state = os.stat(path)  # noqa: PTH116 - thousands of them
    except OSError:
        return None
    return state.st_size if stat.S_ISREG(state.st_mode) else None


def is_local(source: Source) -> bool:
    """Whether a source is a file of its own on this machine, of which a part can be read."""
    return not remote.is_remote(source.real or source.path) and size_of(source) is not None


def ranges(file: IO[bytes], size: int, wanted: int) -> list[Range]:
    """The file's first `size` bytes cut at line ends, into ranges of about `wanted` bytes; a long line is never cut."""
    starts = [0]
    for place in range(wanted, size, wanted):
        start = _after_line_end(file, place, starts[-1])
        if start > starts[-1]:
            starts.append(start)
    return [Range(start, end) for start, end in zip(starts, [*starts[1:], size], strict=True)]


def _after_line_end(file: IO[bytes], place: int, least: int) -> int:
    """Where the line begins that the byte before `place` belongs to, or ends; `least` where that is further back."""
    while place > least:
        since = max(least, place - limits.BLOCK)
        file.seek(since)
        found = file.read(place - since).rfind(b"\n")
        if found >= 0:
            return since + found + 1
        place = since
    return least


class Stretch:
    """The bytes of a range, as a stream in pieces that end where those of the whole file would.

    The records of the range then come in the same blocks as in one reading of the file.
    """

    def __init__(self, file: IO[bytes], where: Range) -> None:
        self._file = file
        self._place, self._end = where
        file.seek(where.start)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end. Raises OSError."""
        border = limits.HEAD - self._place if self._place < limits.HEAD else size - (self._place - limits.HEAD) % size
        piece = self._file.read(min(border, size, self._end - self._place))
        self._place += len(piece)
        return piece


class Lines:
    """Counts the line ends that pass."""

    def __init__(self) -> None:
        self.count = 0

    def update(self, data: bytes, /) -> None:
        """Count those of some bytes."""
        self.count += data.count(b"\n")
