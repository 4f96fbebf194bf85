"""Records that are lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from analyzer.read import limits
from analyzer.read.records.block import Block, is_utf8
from analyzer.read.sources.transport import Digest, Readable


class Batch(NamedTuple):
    """Lines that follow one another, each with its end; one that is too long is empty but for its end."""

    lines: list[bytes]
    lengths: list[int]
    utf8: bool
    within: tuple[bytes, ...]
    """All of them lie in these."""


def batches(stream: Readable, digest: Digest) -> Iterator[Batch]:
    """The lines of a stream, about a block at a time; only the first of a batch may be too long."""
    begun: list[bytes] = []  # the line whose end has not come yet
    size = 0
    sound = True
    while chunk := stream.read(limits.BLOCK):
        digest.update(chunk)
        lines = io.BytesIO(chunk).readlines()
        # At once: cheaper than of all lines, and seldom wrong about a character that is cut.
        valid = is_utf8(chunk)
        size += len(lines[0])
        begun = [*begun, lines[0]] if size <= limits.MAX_RECORD else [lines[0][-1:]]
        if not lines[0].endswith(b"\n"):
            sound = sound and valid
            continue
        lines[0] = b"".join(begun)
        lengths = [size, *map(len, lines[1:])]
        begun, size = ([], 0) if lines[-1].endswith(b"\n") else ([lines.pop()], lengths.pop())
        yield Batch(lines, lengths, (sound and valid) or is_utf8(b"".join(lines)), (lines[0], chunk))
        sound = valid
    if size:
        last = b"".join(begun) if size <= limits.MAX_RECORD else b""
        yield Batch([last], [size], sound or is_utf8(last), (last,))


def lines(stream: Readable, digest: Digest, offset: int = 0) -> Iterator[Block]:
    """The lines of a stream that begins at `offset` of its source; they are counted from there."""
    line, record = 1, 0
    for raw, lengths, utf8, within in batches(stream, digest):
        offsets = list(accumulate(lengths, initial=offset))
        offset = offsets.pop()
        block = Block(record, raw, offsets, [length - 1 for length in lengths], list(range(line, line + len(raw))))
        block.utf8, block.within = utf8, within
        if not raw[-1].endswith(b"\n"):
            block.length[-1] += 1
            block.torn = True
        if offsets[0] == 0 and raw[0].startswith(limits.BOM):
            raw[0] = raw[0][len(limits.BOM) :]
            block.offset[0] += len(limits.BOM)
            block.length[0] -= len(limits.BOM)
        if block.length[0] > len(raw[0]):
            block.oversized = [(block.offset[0], block.length[0], line)]
        line += len(raw)
        if b"\n" in raw or b"\r\n" in raw:
            _without_blank(block)
        yield block
        record += len(block.raw)  # a line may turn out to hold several


def _without_blank(block: Block) -> None:
    """Leave blank lines out: they are no records, and a small file can hold a billion of them."""
    kept = [index for index, raw in enumerate(block.raw) if raw not in (b"\n", b"\r\n")]
    if block.oversized and kept[:1] != [0]:  # of which only the line end is left
        kept.insert(0, 0)
    block.raw, block.offset = [block.raw[index] for index in kept], [block.offset[index] for index in kept]
    block.length, block.line = [block.length[index] for index in kept], [block.line[index] for index in kept]
