"""Where JSON values lie in a text that holds several, one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

import msgspec

JOINED = re.compile(r"\}(?=[ \t]*\{)")
NEXT = re.compile(r"\}\r?\n(?=\{)")  # between two objects as pretty-printers write them
BEHIND = re.compile(r"[\]}]\s*(?=[\[{])")  # between two values of which one is an array
_MOST_BORDERS = 1000  # a text without end may be tried from each of them


def is_json(text: bytes) -> bool:
    """Whether the text is JSON as Python's own parser reads it, lone surrogates and NaN included."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_record(raw: bytes) -> bool:
    """Whether the text is JSON as the decoder of records reads it."""
    try:
        msgspec.json.decode(raw, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def spans(text: bytes, border: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where JSON values lie that follow one another; what is none reaches to a `border` behind which one begins."""
    decoder = json.JSONDecoder()
    string = text.decode("utf-8", "surrogateescape")
    place = offset = 0
    while True:
        start = _blank(string, place)
        offset += start - place
        if start == len(string):
            return
        end = _end(decoder, string, start)
        for found in islice(border.finditer(string, start), _MOST_BORDERS) if end is None else ():
            if _end(decoder, string, found.end()) is not None:
                end = found.start() + 1
                break
        end = len(string) if end is None else end
        size = len(string[start:end].encode("utf-8", "surrogateescape"))
        yield offset, offset + size
        place, offset = end, offset + size


def _blank(string: str, place: int) -> int:
    while place < len(string) and string[place] in " \t\r\n":
        place += 1
    return place


def _end(decoder: json.JSONDecoder, string: str, start: int) -> int | None:
    try:
        return decoder.raw_decode(string, start)[1]
    except (ValueError, RecursionError):
        return None
