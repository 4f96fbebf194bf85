"""The second defence: whatever reaches the terminal by another way than `visible` loses its control characters here."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

# What `visible` escapes: controls, soft hyphen, joiners, bidirectional marks, separators, surrogates, tags, fillers.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_PLAIN = str.maketrans({"…": "~", "·": "-", "→": ">"})


class Belt(LineFilter):
    """Replaces unsafe characters in what is drawn, cell for cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Give the segments back, as they are in all but the worst case."""
        del background
        if all(segment.text.isprintable() and not _UNSAFE.search(segment.text) for segment in segments):
            return segments
        return [Segment(_UNSAFE.sub(_stand_in, text), style, control) for text, style, control in segments]


class Plain(LineFilter):
    """Draws our own signs between words in ASCII; foreign text stays what it is."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Give the segments back with the signs replaced, cell for cell."""
        del background
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(text.translate(_PLAIN), style, control) for text, style, control in segments]


def _stand_in(match: re.Match[str]) -> str:
    return "?" * max(0, cell_len(match[0]))
