"""A page of text: lines, tables and columns for a given width, in colour where asked.

What is put on it is trusted to be harmless: foreign text goes through `analyzer.visible` first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest

Words = str | tuple[str, str]
"""Text, or text and one of STYLES."""

# Blue against orange and yellow rather than green against red; and a word always says what the colour says.
STYLES = {
    "error": "1;31",
    "warning": "33",
    "info": "36",
    "head": "1",
    "name": "1",
    "guilty": "1;33",
    "expected": "36",
    "actual": "33",
    "dim": "2",
}
_TOKEN = re.compile(r"(\s+)|(?<=,)(?=\S)")  # JSON without blanks breaks behind its commas
_GUTTER = "  "


class Paper:
    """Collects lines; `text()` gives the page."""

    def __init__(self, *, width: int = 80, colour: bool = False) -> None:
        self.width = max(width, 40)
        self._colour = colour
        self._lines: list[str] = []

    def text(self) -> str:
        """The page so far, ending in a newline."""
        return "".join(f"{line}\n" for line in self._lines)

    def blank(self) -> None:
        """An empty line, but never two in a row."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def exact(self, *words: Words, indent: int = 0) -> None:
        """One line as it is, however long: what people copy."""
        self._lines.append((" " * indent + "".join(map(self._styled, _joined(words)))).rstrip())

    def line(self, *words: Words, indent: int = 0) -> None:
        """One line, cut at the width."""
        room = self.width - indent
        if sum(cells(_plain(word)) for word in words) <= room:
            self.exact(*words, indent=indent)
            return
        kept: list[Words] = []
        for word in words:
            text = fit(_plain(word), room)
            kept.append((text, word[1]) if isinstance(word, tuple) else text)
            room -= cells(text)
            if room <= 0:
                break
        self.exact(*kept, indent=indent)

    def heading(self, text: str) -> None:
        """The name of a section, after an empty line."""
        self.blank()
        self.exact((text, "head"))

    def wrapped(self, *words: Words, indent: int = 0, hang: int = 0) -> None:
        """A paragraph: later lines stand `hang` further in."""
        for number, row in enumerate(self._wrap(words, self.width - indent, hang)):
            self.exact(*row, indent=indent + (hang if number else 0))

    def field(self, label: str, *words: Words, indent: int = 0, labels: int = 10) -> None:
        """A label and what it is, in two columns."""
        self.wrapped((label.ljust(labels), "dim"), *words, indent=indent, hang=labels)

    def beside(self, left: Sequence[Words], right: Sequence[Words], *, indent: int = 0) -> None:
        """Two paragraphs side by side."""
        room = self.width - indent - 3
        half = _share(room, sum(cells(_plain(word)) for word in left), sum(cells(_plain(word)) for word in right))
        rows_left, rows_right = list(self._wrap(left, half, 0)), list(self._wrap(right, room - half, 0))
        for number in range(max(len(rows_left), len(rows_right))):
            one = rows_left[number] if number < len(rows_left) else []
            other = rows_right[number] if number < len(rows_right) else []
            gap = " " * (half - sum(cells(_plain(word)) for word in one))
            self.exact(*one, gap + " | ", *other, indent=indent)

    def columns(self, left: Sequence[Words], right: Sequence[Words], *, indent: int = 0) -> None:
        """Two lists of lines side by side; a line goes on further in where the other side needs the room."""
        room = self.width - indent - 3
        wanted = [max((cells(_plain(line)) for line in side), default=0) for side in (left, right)]
        half = _share(room, *wanted)
        for one, other in zip_longest(
            self._folded(left, half), self._folded(right, room - half), fillvalue=list[Words]()
        ):
            gap = " " * (half - sum(cells(_plain(word)) for word in one))
            self.exact(*one, gap + " | ", *other, indent=indent)

    def _folded(self, lines: Sequence[Words], width: int) -> Iterable[list[Words]]:
        for line in lines:
            text = _plain(line)
            begins = len(text) - len(text.lstrip(" >"))
            hang = min(begins + 2, width // 2)
            for number, row in enumerate(self._wrap([line], width, hang) if text else [[]]):
                yield [" " * hang, *row] if number else row

    def table(
        self,
        rows: Sequence[Sequence[Words]],
        *,
        indent: int = 0,
        wrap_last: bool = False,
        cut: bool = True,
        right: Iterable[int] = (),
    ) -> None:
        """Rows in aligned columns, `right` ones to the right; the last is wrapped, cut at the width, or left."""
        if not rows:
            return
        last = len(rows[0]) - 1
        widths = [max(cells(_plain(row[column])) for row in rows) for column in range(last)]
        used = sum(widths) + len(_GUTTER) * last
        toright = frozenset(right)
        for row in rows:
            head: list[Words] = []
            for column in range(last):
                gap = " " * (widths[column] - cells(_plain(row[column])))
                head += [gap, row[column], _GUTTER] if column in toright else [row[column], gap + _GUTTER]
            if wrap_last and self.width - indent - used >= 24:
                pieces = list(self._wrap([row[last]], self.width - indent - used, 0)) or [[]]
                self.exact(*head, *pieces[0], indent=indent)
                for piece in pieces[1:]:
                    self.exact(*piece, indent=indent + used)
            elif wrap_last:
                self.exact(*head, indent=indent)
                self.wrapped(row[last], indent=indent + 4)
            elif cut:
                self.line(*head, row[last], indent=indent)
            else:
                self.exact(*head, row[last], indent=indent)

    def _styled(self, word: Words) -> str:
        if isinstance(word, str):
            return word
        text, style = word
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._colour and text.strip() and style in STYLES else text

    def _wrap(self, words: Sequence[Words], width: int, hang: int) -> Iterable[list[Words]]:
        """Break between words; a word longer than a line is broken where the line ends."""
        row: list[Words] = []
        used, room = 0, max(width, 8)
        for word in words:
            style = word[1] if isinstance(word, tuple) else None
            for token in _TOKEN.split(_plain(word)):
                rest = token or ""
                while rest:
                    size = cells(rest)
                    if used + size <= room:
                        row.append((rest, style) if style else rest)
                        used += size
                        break
                    if rest.isspace():
                        rest = ""
                    elif size > max(width - hang, 8) and room - used > 8:
                        piece = _head(rest, room - used)
                        row.append((piece, style) if style else piece)
                        rest = rest[len(piece) :]
                    if rest or row:
                        yield row
                        row, used, room = [], 0, max(width - hang, 8)
        if row:
            yield row


def _share(room: int, left: int, right: int) -> int:
    """The width of the left one of two columns: half of the room, or what the other side leaves."""
    return min(left, max(room // 2, room - right))


def _joined(words: Sequence[Words]) -> Iterable[Words]:
    """Neighbours of one style as one."""
    for style, same in groupby(words, key=lambda word: None if isinstance(word, str) else word[1]):
        text = "".join(map(_plain, same))
        yield text if style is None else (text, style)


def _plain(word: Words) -> str:
    return word if isinstance(word, str) else word[0]


def cells(text: str) -> int:
    """How many columns a terminal gives to the text."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, width: int) -> str:
    """The text, or what of it fits, ending in `…`."""
    if cells(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 1 else "…"[:width]


def _head(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    end = used = 0
    while end < len(text) and used + cells(text[end]) <= width:
        used += cells(text[end])
        end += 1
    return text[: max(end, 1)]
