"""Lines that are nearly JSON: a comma behind each, the brackets of a list, comments or control characters around them.

So people write lists by hand, and so records are parted in RFC 7464 and padded where a machine lost power.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.read.records.block import Block
from analyzer.read.records.spans import is_record

_BLANK = b" \t\r\n\x1e\0"
_AROUND = (b"", b",", b"[", b"[,")
_COMMENT = re.compile(rb"\s*(?://|#)")
_ASIDE = re.compile(rb"\s*/\*.*?\*/\s*")
_SNIFFED = 16


def is_loose(head: bytes) -> bool:
    """Whether the first lines of a text are such, and not simply JSON."""
    lines = head.split(b"\n", _SNIFFED)[:_SNIFFED]
    for line in lines:
        span = _inner(line)
        if span is not None and (span != (0, len(line)) or b"\x1e" in line):
            return not is_record(line)
        if span is not None or not (_empty(line) or _COMMENT.match(line)):
            return False
    return False


def loosened(blocks: Iterator[Block]) -> Iterator[Block]:
    """The records alone. A line that holds none stays one, but for brackets, commas and comments."""
    first = 0
    for block in blocks:
        made = Block(first, utf8=block.utf8, torn=block.torn, oversized=block.oversized)
        for index, raw in enumerate(block.raw):
            start, end = _inner(raw) or (0, len(raw))
            oversized = index == 0 and bool(block.oversized)
            if not oversized and (start, end) == (0, len(raw)) and (_empty(raw) or _COMMENT.match(raw)):
                continue
            length = block.length[index] if oversized else len(raw[start:end].rstrip(b"\r\n"))
            made.add(raw[start:end], block.offset[index] + start, length, block.line[index])
        if made.raw:
            yield made
        first += len(made.raw)


def _empty(line: bytes) -> bool:
    return not line.strip(_BLANK + b"[],")


def _inner(line: bytes) -> tuple[int, int] | None:
    """Where in a line an object stands that is JSON; None where there is none."""
    if line[:1] == b"{" and is_record(line):
        return 0, len(line)
    aside = _ASIDE.match(line)
    since = aside.end() if aside else 0
    start = len(line) - len(line[since:].lstrip(_BLANK + b"[,"))
    if line[start : start + 1] != b"{":
        return None
    for left in (b"", b",", b"],"):
        end = len(line.rstrip(_BLANK + left))
        if is_record(line[start:end]):
            return start, end
    return None
