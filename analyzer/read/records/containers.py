"""What containers printed, as their runtimes keep it: JSON lines with a `log`, lines with a stream and a flag.

A line that was too long for the runtime stands there in pieces, which are put together again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from analyzer.read import limits
from analyzer.read.records.block import Block, is_utf8
from analyzer.read.records.prefixed import span_of

_CRI = re.compile(rb"(\d{4}-\d\d-\d\dT\S{5,40}) (stdout|stderr) ([PF])(?::\S*)? ?")
_SNIFFED = 32


class _Line(msgspec.Struct, gc=False):
    log: str
    stream: str
    time: str | None = None


class _Piece(NamedTuple):
    text: bytes
    stream: str
    whole: bool
    """It is the end of a line."""
    when: str | None


_line = msgspec.json.Decoder(_Line).decode


def kind_of(head: bytes) -> str | None:
    """`docker` or `cri` where the lines of a text are those of a container's log."""
    lines = [line for line in head.split(b"\n", _SNIFFED)[:_SNIFFED] if line.strip()]
    if len(head.split(b"\n", _SNIFFED)) <= _SNIFFED and len(lines) > 1:
        lines = lines[:-1]  # it may be cut
    if not lines:
        return None
    if all(map(_CRI.match, lines)):
        return "cri"
    return "docker" if all(_docker(line) is not None for line in lines) else None


def _docker(raw: bytes) -> _Piece | None:
    if not raw.startswith(b"{") or b'"log"' not in raw:
        return None
    try:
        line = _line(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return _Piece(line.log.encode(), line.stream, line.log.endswith("\n"), line.time)


def _cri(raw: bytes) -> _Piece | None:
    found = _CRI.match(raw)
    if found is None:
        return None
    text = raw[found.end() :].rstrip(b"\r\n")
    return _Piece(text, found[2].decode(), found[3] == b"F", found[1].decode("ascii", "replace"))


class _Pending(NamedTuple):
    pieces: list[bytes]
    offset: int
    line: int
    when: str | None


def printed(blocks: Iterator[Block], kind: str) -> Iterator[Block]:
    """The JSON objects that were printed; what holds none is no record. A line that is none of a container's stays."""
    piece_of: Callable[[bytes], _Piece | None] = _docker if kind == "docker" else _cri
    pending: dict[str, _Pending] = {}
    size = first = 0
    for block in blocks:
        made = Block(first, pointer=[], when=[], torn=block.torn, oversized=block.oversized)
        for index, raw in enumerate(block.raw):
            where = block.offset[index], block.length[index], block.line[index]
            piece = piece_of(raw)
            if piece is None:
                _add(made, raw, *where, "", None, opaque=False)
                continue
            begun = pending.pop(piece.stream, None)
            pieces, offset, line, when = begun or _Pending([], where[0], where[2], piece.when)
            pieces.append(piece.text)
            size = size + len(piece.text) if begun else len(piece.text)
            if not piece.whole and size <= limits.MAX_RECORD:
                pending[piece.stream] = _Pending(pieces, offset, line, when)
                continue
            text = b"".join(pieces)
            span = span_of(text.lstrip())
            if span is not None:
                text = text.lstrip()[slice(*span)]
                pointer = "/log" if kind == "docker" and begun is None else ""
                _add(made, text, offset, where[0] + where[1] - offset, line, pointer, when)
            elif begun is not None and text.lstrip().startswith(b"{"):
                _add(made, text, offset, where[0] + where[1] - offset, line, "", when)
        made.utf8 = is_utf8(b"".join(made.raw))
        if made.raw:
            yield made
        first += len(made.raw)
    last = Block(first, pointer=[], when=[], torn=True)
    for pieces, offset, line, when in pending.values():
        text = b"".join(pieces)
        span = span_of(text.lstrip())
        if span is not None or text.lstrip().startswith(b"{"):
            _add(last, text.lstrip()[slice(*(span or (0, None)))], offset, len(text), line, "", when)
    last.utf8 = is_utf8(b"".join(last.raw))
    if last.raw:
        yield last


def _add(  # noqa: PLR0917 - a record
    block: Block,
    raw: bytes,
    offset: int,
    length: int,
    line: int,
    pointer: str,
    when: str | None,
    *,
    opaque: bool = True,
) -> None:
    if opaque:
        block.opaque.add(len(block.raw))
    block.add(raw, offset, length, line)
    if block.pointer is not None:
        block.pointer.append(pointer)
    block.when.append(when)
