"""Records that are server-sent events: from the first line of one to the blank one."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.read import limits
from analyzer.read.records.block import Block, is_utf8
from analyzer.read.records.lines import batches
from analyzer.read.records.spans import is_record
from analyzer.read.sources.transport import Digest, Readable

FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def sse(stream: Readable, digest: Digest) -> Iterator[Block]:
    """The data of each event of a stream."""
    block = Block(0)
    data: list[bytes] = []
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
                data, begun = [], False
                continue
            text = text.rstrip(b"\r\n")  # noqa: PLW2901
            if here == 0:
                text = text.removeprefix(limits.BOM)  # noqa: PLW2901
            if not text:
                if data:
                    block.add(b"\n".join(data), since, here - since, since_line)
                data, begun = [], False
                continue
            said = _said(text)
            if len(data) == 1 and said and is_record(data[0]):
                # What is whole goes on in no further line: the blank line between was lost (`grep data:`).
                block.add(data[0], since, last - since, since_line)
                data, begun = [], False
            if not begun:
                begun, since, since_line = True, here, line
            data += said
            last = end
        if block.raw:
            block.utf8 = is_utf8(b"\n".join(block.raw))
            yield block
            block = Block(block.first + len(block.raw))  # an event may turn out to hold several
    if data:
        block.add(b"\n".join(data), since, end - since, since_line)
        block.torn = torn
    if block.raw:
        block.utf8 = is_utf8(b"\n".join(block.raw))
        yield block


def _said(text: bytes) -> list[bytes]:
    """What a line of an event stream adds to the data of its event."""
    if text.startswith(b"data:"):
        return [text[5:].removeprefix(b" ")]
    if text.startswith((*FIELDS, b"event", b"id", b"retry", b"data")):
        return []
    return [text]  # no field of the protocol: let it be judged as a record
