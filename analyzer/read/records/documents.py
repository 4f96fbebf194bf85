"""Documents: one JSON value or a YAML cassette, whose elements share its bytes and are told apart by a pointer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

from analyzer.read import limits
from analyzer.read.records.block import Block, is_utf8
from analyzer.read.records.spans import BEHIND, NEXT, is_record, spans
from analyzer.read.sources import archives, cassettes
from analyzer.read.sources.transport import Digest, Readable

_AT_ONCE = 1 << 15  # elements in one block: the rows of millions take many times the bytes of the document


def document(stream: Readable, digest: Digest, kind: str) -> Iterator[Block]:
    """The elements of a document, whole in memory; of several pretty-printed objects each is a record."""
    pieces: list[bytes] = []
    size = 0
    while chunk := stream.read(limits.BLOCK):
        digest.update(chunk)
        size += len(chunk)
        if size <= limits.MAX_RECORD * 4:
            pieces.append(chunk)
    if size > limits.MAX_RECORD * 4:
        yield Block(0, oversized=[(0, size, 1)])
        return
    whole = b"".join(pieces)
    text = whole.removeprefix(limits.BOM)
    start = len(whole) - len(text)
    utf8 = is_utf8(text)
    at = ""
    elements: Sequence[bytes | msgspec.Raw]
    if kind == "yaml":
        at, elements, torn = cassettes.cassette(text)
        utf8 = True
    else:
        found, torn, end = _elements(text)
        archive = None if found is not None else archives.entries(text)
        if archive is not None:
            at, found = archive
        if found is None and text.lstrip()[:1] == b"{" and not is_record(text):
            yield _sequence(text, start, utf8=utf8)
            return
        if found is None:
            yield Block(0, [text], [start], [len(text)], [1], [""], utf8, torn=True)
            return
        if text[end:].strip() and archive is None:
            yield _several(text, start, utf8=utf8)
            return
        elements = found
    for first in range(0, len(elements) or 1, _AT_ONCE):
        some = list(map(bytes, elements[first : first + _AT_ONCE]))
        count = len(some)
        pointers = [f"{at}/{place}" for place in range(first, first + count)]
        block = Block(first, some, [start] * count, [len(text)] * count, [1] * count, pointers, utf8)
        block.torn = torn and first + count == len(elements)
        yield block


def _several(text: bytes, start: int, *, utf8: bool) -> Block:
    """Arrays one after the other, and what else stands behind an array."""
    block = Block(0, pointer=[], utf8=utf8)
    line, before = 1, 0
    for since, until in spans(text, BEHIND):
        line, before = line + text.count(b"\n", before, since), since
        piece = text[since:until]
        elements, torn, _ = _elements(piece)
        block.torn = until == len(text) if elements is None else torn
        for place, element in enumerate([piece] if elements is None else elements):
            block.add(bytes(element), start + since, until - since, line)
            block.pointer.append("" if elements is None else f"/{place}")  # type: ignore[union-attr]
    return block


def _sequence(text: bytes, start: int, *, utf8: bool) -> Block:
    """Objects of many lines one after the other, as pretty-printers write them."""
    block = Block(0, utf8=utf8)
    line, before = 1, 0
    for since, until in spans(text, NEXT):
        gap = text.count(b"\n", before, since)
        if block.raw and not gap:
            block.joined.append(len(block.raw))
        block.add(text[since:until], start + since, until - since, line + gap)
        line, before = line + gap + text.count(b"\n", since, until), until
    block.torn = True
    return block


def _elements(text: bytes) -> tuple[Sequence[bytes | msgspec.Raw] | None, bool, int]:
    """The elements of a JSON array, whether it is cut, and where it ends; None for any other document."""
    if text.lstrip()[:1] != b"[":
        return None, False, 0
    try:
        return msgspec.json.decode(text, type=list[msgspec.Raw]), False, len(text)
    except (msgspec.DecodeError, RecursionError):
        return _salvage(text)


def _salvage(text: bytes) -> tuple[list[bytes] | None, bool, int]:
    """The readable elements of an array that is cut or broken; what cannot be read is one last element."""
    decoder = json.JSONDecoder()
    string = text.decode("utf-8", "surrogateescape")
    place = string.index("[") + 1
    elements: list[bytes] = []
    while True:
        while place < len(string) and string[place] in " \t\r\n,":
            place += 1
        if place >= len(string):
            return elements, True, len(text)
        if string[place] == "]":
            return elements, False, len(string[: place + 1].encode("utf-8", "surrogateescape"))
        try:
            _, end = decoder.raw_decode(string, place)
        except (ValueError, RecursionError):
            elements.append(string[place:].encode("utf-8", "surrogateescape"))
            return elements, True, len(text)
        elements.append(string[place:end].encode("utf-8", "surrogateescape"))
        place = end
