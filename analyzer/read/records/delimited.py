"""Tables of delimited text with JSON in some of their cells: each row becomes an object, under the names of the header.

A cell that is JSON, an object or a list, is a member's value as it stands; any other is a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from analyzer.read import limits
from analyzer.read.records.block import Block, is_utf8
from analyzer.read.records.lines import batches
from analyzer.read.records.spans import is_record
from analyzer.read.sources.transport import Digest, Readable

_SEPARATORS = (b",", b"\t", b";", b"|")
_FIELD = {
    separator: re.compile(rb'(?:"((?:[^"]|"")*+)"|([^\r\n' + re.escape(separator) + rb"]*+))(?:(" + re.escape(separator)
                          + rb")|\r?\n?\Z|(?=\r?\n))")
    for separator in _SEPARATORS
}  # fmt: skip
_HOLDS = re.compile(rb'[\[{]\s*"')
_QUOTED = re.compile(rb'"[\[{]\s*""')
_HEADER = re.compile(rb'"?[A-Za-z_@][^{}\[\]"\r\n]*"?')


def separator_of(head: bytes) -> bytes | None:
    """What parts the cells of a table whose rows hold JSON; None where it is no such table."""
    header, _, rest = head.removeprefix(limits.BOM).partition(b"\n")
    if not _HOLDS.search(rest):
        return None
    for separator in _SEPARATORS:
        names = _cells(header, separator)
        plain = names is not None and all(name and _HEADER.fullmatch(name) for name in names)
        if names is not None and plain and (len(names) > 1 or _QUOTED.match(rest)):
            return separator
    return None


def delimited(stream: Readable, digest: Digest, separator: bytes) -> Iterator[Block]:
    """The rows of a table as objects. A row that has not the cells of the header stays the text that it is."""
    names: list[str] | None = None
    begun: list[bytes] = []
    size = since = since_line = first = quotes = 0
    offset, line = 0, 1
    for lines, lengths, *_ in batches(stream, digest):
        block = Block(first, pointer=[])
        for text, length in zip(lines, lengths, strict=True):
            if not begun:
                since, since_line, size, quotes = offset, line, 0, 0
            offset, line, size = offset + length, line + 1, size + length
            begun.append(text)
            quotes += text.count(b'"')
            if length > limits.MAX_RECORD or size > limits.MAX_RECORD:
                block.oversized.append((since, size, since_line))
                begun = []
                continue
            if quotes % 2:
                continue  # a cell goes on
            row = b"".join(begun).rstrip(b"\r\n")
            begun = []
            if names is None:
                header = _cells(row.removeprefix(limits.BOM), separator) or []
                names = [name.decode("utf-8", "replace").strip() for name in header]
            elif row:
                _take(block, row, names, separator, (since, len(row), since_line))
        block.utf8 = is_utf8(b"".join(block.raw))
        if block.raw:
            yield block
        first += len(block.raw)
    if begun:
        left = b"".join(begun)
        yield Block(first, [left], [since], [len(left)], [since_line], [""], is_utf8(left), torn=True)


def _take(block: Block, row: bytes, names: list[str], separator: bytes, where: tuple[int, int, int]) -> None:
    cells = _cells(row, separator)
    assert block.pointer is not None
    block.pointer.append("")
    if cells is None or len(cells) != len(names):
        block.add(row, *where)
        return
    block.opaque.add(len(block.raw))
    members = [json.dumps(name).encode() + b":" + _value(cell) for name, cell in zip(names, cells, strict=True) if cell]
    block.add(b"{" + b",".join(members) + b"}", *where)


def _value(cell: bytes) -> bytes:
    if cell[:1] in (b"{", b"[") and is_record(cell):
        return cell
    return json.dumps(cell.decode("utf-8", "replace"), ensure_ascii=False).encode()


def _cells(row: bytes, separator: bytes) -> list[bytes] | None:
    """The cells of a row; None where it is not made of such."""
    cells: list[bytes] = []
    place = 0
    while True:
        found = _FIELD[separator].match(row, place)
        if found is None:
            return None
        quoted, plain, more = found.groups()
        cells.append(plain if quoted is None else quoted.replace(b'""', b'"'))
        place = found.end()
        if not more:
            return cells if place >= len(row) or not row[place:].strip() else None
