"""Logs that were rotated: what an input held in the last run stands under another name now, and is not lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import PurePath
from typing import Any

import polars as pl

from analyzer.batch.inputs import Input
from analyzer.errors import InputError
from analyzer.read.sources.files import Source, Stream

_PIECE = 1 << 20
_TRIED = 32  # files whose beginning is compared with what one input held


def rotated(before: pl.DataFrame, now: pl.DataFrame, inputs: Mapping[int, Input]) -> set[int]:
    """The numbers of inputs that hold less than before, and whose earlier bytes are all in another input.

    Of INPUTS `before` and `now`. As rotation has it: moved, copied, compressed, also after the log had grown.
    """
    digests = set(now["sha256"])
    found = set()
    for row in _shorter(before, now):
        if row["sha256"] in digests or any(_begins(source, row) for source in _successors(row, now, inputs)):
            found.add(row["source"])
    return found


def _shorter(before: pl.DataFrame, now: pl.DataFrame) -> Iterator[dict[str, Any]]:
    held = before.select("source", "path", "sha256", "bytes").filter(pl.col("bytes") > 0)
    yield from (
        held.join(now.select("source", now_bytes="bytes"), on="source")
        .filter(pl.col("now_bytes") < pl.col("bytes"))
        .sort("source")
        .iter_rows(named=True)
    )


def _successors(row: dict[str, Any], now: pl.DataFrame, inputs: Mapping[int, Input]) -> Iterator[Source]:
    """Inputs of the same folder whose name begins as that of the row does, with room for what it held."""
    path = PurePath(row["path"])
    stem = path.name.partition(".")[0]
    tried = 0
    for number, name in now.filter(pl.col("bytes") >= row["bytes"]).select("source", "path").iter_rows():
        other = PurePath(name)
        if number != row["source"] and number in inputs and other.parent == path.parent and other.name.startswith(stem):
            yield inputs[number].source
            tried += 1
            if tried == _TRIED:
                return


def _begins(source: Source, row: dict[str, Any]) -> bool:
    """Whether a source begins with the bytes that the row had."""
    try:
        stream = Stream(source)
    except InputError:
        return False
    whole, left = sha256(), row["bytes"]
    with closing(stream):
        while left and (piece := stream.read(min(_PIECE, left))):
            whole.update(piece)
            left -= len(piece)
    return not left and whole.hexdigest() == row["sha256"]
