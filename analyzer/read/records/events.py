"""Records that are server-sent events: from the first line of one to the blank one."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.read import limits
from analyzer.read.records.block import Block, is_utf8
from analyzer.read.records.lines import batches
from analyzer.read.records.spans import is_record
from analyzer.read.sources.transport import Digest, Readable

_TOGETHER = 1_024
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def sse(stream: Readable, digest: Digest) -> Iterator[Block]:
    """The data of each event of a stream."""
    block = Block(0)
    data = _Data()
    line, end, last = 0, 0, 0
    since, since_line = 0, 0
    begun = torn = False
    for lines, lengths, *_ in batches(stream, digest):
        for text, length in zip(lines, lengths, strict=True):
            line += 1
            torn = not text.endswith(b"\n")
            here, end = end, end + length
            if length > limits.MAX_RECORD:
                block.add(b"\n", here, length, line)
                block.oversized.append((here, length, line))
                data, begun = _Data(), False
                continue
            text = text.rstrip(b"\r\n")  # noqa: PLW2901
            if here == 0:
                text = text.removeprefix(limits.BOM)  # noqa: PLW2901
            if not text:
                data.end(block, since, here - since, since_line)
                data, begun = _Data(), False
                continue
            said = _said(text)
            if said is not None and data.alone and is_record(data.lines[0]):
                # What is whole goes on in no further line: the blank line between was lost (`grep data:`).
                data.end(block, since, last - since, since_line)
                data, begun = _Data(), False
            if not begun:
                begun, since, since_line = True, here, line
            if said is not None:
                data.add(said)
            last = end
        if block.raw:
            block.utf8 = is_utf8(b"\n".join(block.raw))
            yield block
            block = Block(block.first + len(block.raw))  # an event may turn out to hold several
    if data.size:
        data.end(block, since, end - since, since_line)
        block.torn = torn
    if block.raw:
        block.utf8 = is_utf8(b"\n".join(block.raw))
        yield block


class _Data:
    """The data of one event, of which there may be more than a record may have."""

    __slots__ = ("lines", "pieces", "size")

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.pieces: list[bytes] = []  # of many lines each: objects for all of them take ten times their bytes
        self.size = 0

    @property
    def alone(self) -> bool:
        """Whether there is one line and no more."""
        return len(self.lines) == 1 and not self.pieces

    def add(self, line: bytes) -> None:
        """Take the next line."""
        self.lines.append(line)
        self.size += len(line) + 1
        if self.size > limits.MAX_RECORD:
            self.lines, self.pieces = [], []
        elif len(self.lines) > _TOGETHER:
            self.pieces.append(b"\n".join(self.lines))
            self.lines = []

    def end(self, block: Block, offset: int, length: int, line: int) -> None:
        """The event is over: add it to the block, if it has data."""
        if self.size > limits.MAX_RECORD:
            block.oversized.append((offset, length, line))
            block.add(b"\n", offset, length, line)
        elif self.size:
            block.add(b"\n".join([*self.pieces, *self.lines]), offset, length, line)


def _said(text: bytes) -> bytes | None:
    """What a line of an event stream adds to the data of its event, if anything."""
    if text.startswith(b"data:"):
        return text[5:].removeprefix(b" ")
    if text.startswith((*FIELDS, b"event", b"id", b"retry", b"data")):
        return None
    return text  # no field of the protocol: let it be judged as a record
