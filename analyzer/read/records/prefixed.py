"""Lines with a JSON object behind a short text: what desktop hosts and container logs write around a message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from analyzer.read.records.block import Block
from analyzer.read.records.spans import is_json, is_record

# No quote and no brace stands before the object, so that no JSON text is taken for one with a prefix.
_PREFIX = re.compile(rb'[A-Za-z0-9\[(<\x1b][^"{}\r\n]{1,239}?(?=\[?\{\s?")')
_STAMPED = re.compile(
    rb"(?:\x1b\[[\d;]*m)?[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\[(]?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
)
# A line that says so was to be a message; in any other one a brace may be anything.
_PROMISED = re.compile(rb'[Mm]essage from (?:client|server)|"jsonrpc"')
_SNIFFED = 64
_BEHIND = 200  # characters that may follow an object on its line


def is_prefixed(head: bytes) -> bool:
    """Whether the lines of a text are such: half of them, or one at least where nearly all begin with a time."""
    lines = [line for line in head.split(b"\n", _SNIFFED)[:_SNIFFED] if line.strip()]
    if not lines or not any(map(_PREFIX.match, lines)):
        return False
    held = sum(not is_json(line) and span_of(line) is not None for line in lines)
    stamped = sum(_STAMPED.match(line) is not None for line in lines)
    return held * 2 >= len(lines) or (held > 0 and stamped * 5 >= len(lines) * 4)


def unprefixed(blocks: Iterator[Block]) -> Iterator[Block]:
    """The objects alone, with the text before each in `Block.before`; lines that hold none are no records.

    A line that was to hold a message and holds none that can be read stays a record, for the reader to name.
    """
    for block in blocks:
        spans: list[tuple[int, int, int]] = []
        for index, raw in enumerate(block.raw):
            span = span_of(raw)
            if span is None and (_PROMISED.search(raw) or (index == 0 and block.oversized)):
                found = _PREFIX.match(raw)
                span = (found.end() if found else 0, len(raw))
            if span is not None:
                spans.append((index, *span))
        block.torn = block.torn and bool(spans) and spans[-1][0] == len(block.raw) - 1
        block.before = [block.raw[index][:start] for index, start, _ in spans]
        block.length = [
            block.length[index] if block.oversized and index == 0 else len(block.raw[index][start:end].rstrip(b"\r\n"))
            for index, start, end in spans
        ]
        block.offset = [block.offset[index] + start for index, start, _ in spans]
        block.line = [block.line[index] for index, _, _ in spans]
        block.raw = [block.raw[index][start:end] for index, start, end in spans]
        if block.raw:
            yield block


def span_of(line: bytes) -> tuple[int, int] | None:
    """Where in a line an object stands behind a text; None where there is none."""
    found = _PREFIX.match(line)
    if found is None:
        return (0, len(line)) if line[:1] == b"{" and is_record(line) else None
    start = found.end()
    if is_record(line[start:]):
        return start, len(line)
    text = line[start:].decode("utf-8", "surrogateescape")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if len(text) - end > _BEHIND:
        return None
    return start, start + len(text[:end].encode("utf-8", "surrogateescape"))
