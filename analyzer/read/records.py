"""Bytes to records: the smallest units that have bytes of their own.

A record is a line (NDJSON), an SSE event (from its first line to the blank one), else the whole document, whose elements
then share its bytes and are told apart by a pointer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import IO, Protocol

import msgspec
import polars as pl

BLOCK = 1 << 20
MAX_RECORD = 256 << 20  # bytes of one record: a longer one is named and left out
HEAD = 1 << 18

_BOM = b"\xef\xbb\xbf"
_SSE_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


class Digest(Protocol):
    """What takes the decompressed bytes as they pass."""

    def update(self, data: bytes, /) -> None: ...


@dataclass(slots=True)
class Block:
    """Some consecutive records of one source.

    `raw` is the JSON text of each; `offset`, `length`, `line` say where the record's bytes lie; `pointer` leads from the
    record to the element (empty for lines). `utf8` is false where some record may hold invalid UTF-8. `torn` is true where
    the last record of the block ends the file without a line end.
    """

    first: int
    raw: list[bytes] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    pointer: list[str] | None = None
    utf8: bool = True
    torn: bool = False
    oversized: list[tuple[int, int, int]] = field(default_factory=list)  # offset, length, line

    def only(self, index: int) -> Block:
        """The block of one of its records."""
        return Block(
            self.first + index,
            [self.raw[index]],
            [self.offset[index]],
            [self.length[index]],
            [self.line[index]],
            None if self.pointer is None else [self.pointer[index]],
            self.utf8,
            self.torn and index == len(self.raw) - 1,
        )


def framing(head: bytes) -> str:
    """How the stream that begins with `head` is cut: `lines`, `sse` or `document`."""
    text = head.removeprefix(_BOM).lstrip()
    if text.startswith(_SSE_FIELDS):
        return "sse"
    if text[:1] not in (b"{", b"["):
        return "lines"
    first, separator, rest = text.partition(b"\n")
    if _is_json(first):
        # A document of one line is a line too; only an array is taken apart.
        return "document" if first[:1] == b"[" and not rest.strip() else "lines"
    if separator and (text[:1] == b"[" or first.strip() in (b"{", b"[") or not _is_json(rest.partition(b"\n")[0])):
        return "document"
    return "document" if text[:1] == b"[" else "lines"


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def blocks(stream: IO[bytes], kind: str, digest: Digest) -> Iterator[Block]:
    """The records of a stream in blocks; every byte passes `digest`."""
    if kind == "document":
        yield from _document(stream, digest)
    elif kind == "sse":
        yield from _sse(stream, digest)
    else:
        yield from _lines(stream, digest)


def _chunks(stream: IO[bytes], digest: Digest) -> Iterator[tuple[bytes, bool]]:
    """Whole lines, about a block at a time, the last with its torn end; (bytes, whether the file ends here)."""
    carry: list[bytes] = []
    while chunk := stream.read(BLOCK):
        digest.update(chunk)
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            carry.append(chunk)
            continue
        yield b"".join((*carry, chunk[:cut])) if carry else chunk[:cut], False
        carry = [chunk[cut:]] if cut < len(chunk) else []
    if carry:
        yield b"".join(carry), True


def _lines(stream: IO[bytes], digest: Digest) -> Iterator[Block]:
    offset, line, record = 0, 1, 0
    for chunk, torn in _chunks(stream, digest):
        start = offset
        offset += len(chunk)
        if start == 0 and chunk.startswith(_BOM):
            chunk = chunk[len(_BOM) :]  # noqa: PLW2901 - the bytes go, the offsets stay
            start = len(_BOM)
        raw = chunk.split(b"\n")
        if not raw[-1]:
            raw.pop()
        lengths = list(map(len, raw))
        offsets = list(accumulate(lengths, lambda place, length: place + length + 1, initial=start))
        offsets.pop()
        block = Block(record, raw, offsets, lengths, list(range(line, line + len(raw))), utf8=_utf8(chunk), torn=torn)
        record += len(raw)
        line += len(raw)
        if max(lengths, default=0) > MAX_RECORD:
            _leave_out_oversized(block)
        yield block


def _leave_out_oversized(block: Block) -> None:
    for index, length in enumerate(block.length):
        if length > MAX_RECORD:
            block.oversized.append((block.offset[index], length, block.line[index]))
            block.raw[index] = b""


def _utf8(chunk: bytes) -> bool:
    # 3 GB/s here, seven times as fast as bytes.decode
    return bool(pl.Series([chunk], dtype=pl.Binary).cast(pl.String, strict=False).null_count() == 0)


def _sse(stream: IO[bytes], digest: Digest) -> Iterator[Block]:
    block = Block(0)
    data: list[bytes] = []
    offset, line, record = 0, 0, 0
    since, since_line = 0, 0
    begun = False
    for chunk, torn in _chunks(stream, digest):
        block.utf8 = block.utf8 and _utf8(chunk)
        lines = chunk.split(b"\n")
        if not torn:
            lines.pop()
        for position, text in enumerate(lines):
            line += 1
            here, offset = offset, offset + len(text) + (0 if torn and position == len(lines) - 1 else 1)
            text = text.removesuffix(b"\r")  # noqa: PLW2901
            if here == 0:
                text = text.removeprefix(_BOM)  # noqa: PLW2901
            if not text:
                if data:
                    _add(block, b"\n".join(data), since, here - since, since_line)
                    record += 1
                data, begun = [], False
                continue
            if not begun:
                begun, since, since_line = True, here, line
            if text.startswith(b"data:"):
                data.append(text[5:].removeprefix(b" "))
            elif not text.startswith(_SSE_FIELDS) and not text.startswith((b"event", b"id", b"retry", b"data")):
                data.append(text)  # no field of the protocol: let it be judged as a record
        if len(block.raw) >= 1024:
            yield block
            block = Block(record)
    if data:
        _add(block, b"\n".join(data), since, offset - since, since_line)
        block.torn = True
    if block.raw:
        yield block


def _add(block: Block, raw: bytes, offset: int, length: int, line: int) -> None:
    block.raw.append(raw)
    block.offset.append(offset)
    block.length.append(length)
    block.line.append(line)


def _document(stream: IO[bytes], digest: Digest) -> Iterator[Block]:
    pieces: list[bytes] = []
    size = 0
    while chunk := stream.read(BLOCK):
        digest.update(chunk)
        size += len(chunk)
        if size <= MAX_RECORD * 4:
            pieces.append(chunk)
    if size > MAX_RECORD * 4:
        yield Block(0, oversized=[(0, size, 1)])
        return
    whole = b"".join(pieces)
    text = whole.removeprefix(_BOM)
    start = len(whole) - len(text)
    utf8 = _utf8(text)
    elements, torn = _elements(text)
    if elements is None:
        yield Block(0, [text], [start], [len(text)], [1], [""], utf8, torn=True)
        return
    count = len(elements)
    yield Block(
        0,
        elements,
        [start] * count,
        [len(text)] * count,
        [1] * count,
        [f"/{index}" for index in range(count)],
        utf8,
        torn,
    )


def _elements(text: bytes) -> tuple[list[bytes] | None, bool]:
    """The elements of a JSON array, and whether it is cut; None for any other document."""
    if text.lstrip()[:1] != b"[":
        return None, False
    try:
        return [bytes(raw) for raw in msgspec.json.decode(text, type=list[msgspec.Raw])], False
    except (msgspec.DecodeError, RecursionError):
        return _salvage(text)


def _salvage(text: bytes) -> tuple[list[bytes] | None, bool]:
    """The readable elements of an array that is cut or broken; what cannot be read is one last element."""
    decoder = json.JSONDecoder()
    string = text.decode("utf-8", "surrogateescape")
    place = string.index("[") + 1
    elements: list[bytes] = []
    while True:
        while place < len(string) and string[place] in " \t\r\n,":
            place += 1
        if place >= len(string):
            return elements, True
        if string[place] == "]":
            return elements, False
        try:
            _, end = decoder.raw_decode(string, place)
        except (ValueError, RecursionError):
            elements.append(string[place:].encode("utf-8", "surrogateescape"))
            return elements, True
        elements.append(string[place:end].encode("utf-8", "surrogateescape"))
        place = end
