"""Bytes to records: the smallest units that have bytes of their own.

A record is a line (NDJSON) or the JSON object behind a short text on it, an SSE event (from its first line to the blank
one), a row of a table, else the whole document (JSON, a YAML cassette, a database), whose elements then share its bytes
and are told apart by a pointer; so are records inside others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.read import limits
from analyzer.read.records.block import SURROGATE, Block, with_surrogates
from analyzer.read.records.carried import Path, opened
from analyzer.read.records.containers import printed
from analyzer.read.records.delimited import delimited
from analyzer.read.records.documents import document
from analyzer.read.records.events import sse
from analyzer.read.records.framing import framing
from analyzer.read.records.lines import lines
from analyzer.read.records.loose import loosened
from analyzer.read.records.prefixed import unprefixed
from analyzer.read.sources import transport
from analyzer.read.sources.transport import Digest, Readable

__all__ = ["SURROGATE", "Block", "blocks", "framing", "lines", "with_surrogates"]


def blocks(stream: Readable, kind: str, digest: Digest, ways: Sequence[Path] = ()) -> Iterator[Block]:
    """The records of a stream in blocks, or those inside them where `ways` lead; every byte passes `digest`."""
    if ways:
        yield from opened(blocks(stream, kind, digest), ways)
    elif kind in {"document", "yaml"}:
        yield from document(stream, digest, kind)
    elif kind == "sqlite":
        yield from _database(stream, digest)
    elif kind == "parquet":
        yield from _lake(stream, digest)
    elif kind == "sse":
        yield from sse(stream, digest)
    elif kind.endswith(" cr"):
        feeds = transport.LineFeeds(stream, digest)
        yield from blocks(feeds, kind.removesuffix(" cr"), feeds)
    elif kind.startswith("delimited "):
        yield from delimited(stream, digest, kind.removeprefix("delimited ").encode())
    elif kind.startswith("http "):
        yield from _behind_headers(stream, kind.removeprefix("http "), digest)
    else:
        yield from _lined(lines(stream, digest), kind)


def _lined(found: Iterator[Block], kind: str) -> Iterator[Block]:
    """The records on lines."""
    if kind == "prefixed":
        return unprefixed(found)
    if kind == "loose":
        return loosened(found)
    return printed(found, kind) if kind in {"docker", "cri"} else found


def _behind_headers(stream: Readable, kind: str, digest: Digest) -> Iterator[Block]:
    head = b""
    while len(head) < limits.HEAD and (piece := stream.read(limits.HEAD - len(head))):
        head += piece
    size = transport.headers(head)
    lines = head.count(b"\n", 0, size)
    digest.update(head[:size])
    for block in blocks(transport.Behind(head[size:], stream), kind, digest):
        block.offset = [offset + size for offset in block.offset]
        block.line = [line + lines for line in block.line]
        block.oversized = [(offset + size, length, line + lines) for offset, length, line in block.oversized]
        yield block


def _database(stream: Readable, digest: Digest) -> Iterator[Block]:
    from analyzer.read.sources import databases

    size = 0

    def pieces() -> Iterator[bytes]:
        nonlocal size
        while chunk := stream.read(limits.BLOCK):
            digest.update(chunk)
            size += len(chunk)
            yield chunk

    first = 0
    try:
        for rows in databases.rows(pieces()):
            count = len(rows)
            pointers, texts = [pointer for pointer, _ in rows], [text for _, text in rows]
            yield Block(first, texts, [0] * count, [size] * count, [1] * count, pointers)
            first += count
    except databases.BROKEN as error:
        yield Block(first, [str(error).encode()], [0], [size], [1], [""])


def _lake(stream: Readable, digest: Digest) -> Iterator[Block]:
    from analyzer.read.sources import lakes

    first = 0
    with lakes.spooled(_passing(stream, digest)) as file:
        try:
            for texts in lakes.records(file):
                rows = range(first, first + len(texts))
                lengths = [len(text) for text in texts]
                yield Block(first, texts, list(rows), lengths, [row + 1 for row in rows])
                first += len(texts)
        except lakes.BROKEN as error:
            yield Block(first, [str(error).encode()], [first], [1], [first + 1])


def _passing(stream: Readable, digest: Digest) -> Iterator[bytes]:
    while chunk := stream.read(limits.BLOCK):
        digest.update(chunk)
        yield chunk
