"""What a table shows of a frame: a window of rows at a time, in an order, without ever copying the frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rich.cells import cell_len, set_cell_size

from analyzer.visible import visible

if TYPE_CHECKING:
    import polars as pl

Span = tuple[str, str]  # safe text, name of its style
WINDOW = 512
_LEAST, _NAME = 30, 11  # cells that the last column has, and those that a name keeps
_SHORT = 4  # cells that the narrowest column of names has
_NAMED = 400  # characters of a name that are looked at
_WIDE = 40  # cells that a name can use: a word and a UUID or a digest


class Model(Protocol):
    """The lines of a pane. Whatever text it gives has gone through `visible`."""

    @property
    def height(self) -> int:
        """Number of lines."""
        ...

    def header(self, width: int) -> list[Span] | None:
        """A line that stays on top, or None."""
        ...

    def spans(self, row: int, width: int) -> list[Span]:
        """One line; it may be longer than `width` cells."""
        ...

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The first line from `start` on, in steps of +1 or -1, that holds the text (lower case); None: nowhere."""
        ...


class Column(NamedTuple):
    """One column of a table: its width in cells (0: what is left), and how a value becomes a span."""

    name: str
    title: str
    width: int
    look: Callable[[Any], Span] | None = None
    middle: bool = False  # elide long values in the middle: both ends of a path matter
    right: bool = False  # a number: its end matters
    most: int = 0  # cells that the last column can use: what is left beyond them goes to names (0: it uses all)


class FrameRows:
    """A frame as lines; `order` (UInt32 row numbers) filters and sorts."""

    def __init__(self, frame: pl.DataFrame, columns: Sequence[Column], order: pl.Series | None = None) -> None:
        self.frame = frame
        self.columns = columns
        self.order = order
        self.spread = 0  # cells that each column of names has more, or less, than usual
        self._names = [column.name for column in columns]
        self._window: tuple[int, list[tuple[Any, ...]]] = (0, [])

    @property
    def height(self) -> int:
        """Rows after the filter."""
        return self.frame.height if self.order is None else len(self.order)

    def index(self, row: int) -> int:
        """The row of the frame that stands in this line."""
        return row if self.order is None else int(self.order[row])

    def row_of(self, index: int) -> int | None:
        """The line that shows this row of the frame, or None where the filter took it."""
        if self.order is None:
            return index if index < self.frame.height else None
        at = (self.order == index).arg_max() if len(self.order) else None
        return at if at is not None and self.order[at] == index else None

    def cells(self, start: int, stop: int) -> list[tuple[Any, ...]]:
        """The values of some lines, in the order of the columns."""
        if self.order is None:
            return self.frame[start:stop].select(self._names).rows()
        return self.frame.select(self._names)[self.order[start:stop]].rows()

    def record(self, row: int) -> dict[str, Any]:
        """The whole row of the frame behind a line."""
        return self.frame.row(self.index(row), named=True)

    def header(self, width: int) -> list[Span] | None:
        """The titles of the columns."""
        widths = self._widths(width)
        sized = zip(self.columns, widths, strict=True)
        return [(fit(column.title, size, right=column.right) + " ", "title") for column, size in sized]

    def spans(self, row: int, width: int) -> list[Span]:
        """The cells of a line, each cut to its column."""
        start, rows = self._window
        if not start <= row < start + len(rows):
            start = max(0, row - WINDOW // 2)
            rows = self.cells(start, start + WINDOW)
            self._window = (start, rows)
        out = []
        for value, column, size in zip(rows[row - start], self.columns, self._widths(width), strict=True):
            text, style = column.look(value) if column.look else (plain(value, size, middle=column.middle), "")
            out.append((fit(text, size, right=column.right) + " ", style))
        return out

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next line that holds the text in a text column with a title: what one looks for can be seen."""
        import polars as pl

        from analyzer.tui.filters import holds

        shown = self.frame.select(column.name for column in self.columns if column.title)
        frame = shown if self.order is None else shown[self.order]
        lines = frame.select(pl.arg_where(holds(frame.schema, needle)).cast(pl.Int64)).to_series()  # `start` may be -1
        hits = lines.filter(lines >= start) if step > 0 else lines.filter(lines <= start)
        return None if hits.is_empty() else int(hits[0 if step > 0 else -1])

    def _widths(self, width: int) -> list[int]:
        widths = [column.width for column in self.columns]
        over = sum(widths) + len(widths) + _LEAST - width
        for n, column in enumerate(self.columns):  # in a narrow pane names give way to the last column
            if over > 0 and column.width > _NAME and not column.right:
                widths[n] -= min(over, column.width - _NAME)
                over -= column.width - widths[n]
        left = width - sum(widths) - len(widths)
        spare = left - self.columns[-1].most if self.columns[-1].most else 0
        for n, column in enumerate(self.columns):  # and in a wide one they get what nobody else can use
            if spare > 0 and column.middle:
                widths[n] += min(spare, _WIDE - column.width)
                left -= widths[n] - column.width
                spare -= widths[n] - column.width
        widths = [size or max(_NAME, left) for size in widths]
        last = len(widths) - 1
        for n, column in enumerate(self.columns[:last]):
            if self.spread and column.width > _NAME and not column.right:
                more = max(_SHORT - widths[n], min(self.spread, widths[last] - _NAME))
                widths[n] += more
                widths[last] -= more
        return widths


class TextRows:
    """Lines of ready spans, for whatever is short."""

    def __init__(self, lines: Sequence[list[Span]], title: str | None = None) -> None:
        self.lines = lines
        self._title = title

    @property
    def height(self) -> int:
        """Number of lines."""
        return len(self.lines)

    def header(self, width: int) -> list[Span] | None:
        """The title, if there is one."""
        return None if self._title is None else [(fit(self._title, width), "title")]

    def spans(self, row: int, width: int) -> list[Span]:
        """One line."""
        del width
        return self.lines[row]

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next line that holds the text."""
        return find_line(self, needle, start, step)


def find_line(model: Model, needle: str, start: int, step: int) -> int | None:
    """The next line whose spans hold the text, one line after the other."""
    rows = range(start, model.height) if step > 0 else range(min(start, model.height - 1), -1, -1)
    for row in rows:
        if needle in "".join(text for text, _ in model.spans(row, 10_000)).lower():
            return row
    return None


def plain(value: Any, size: int, *, middle: bool = False) -> str:
    """Any value as safe text of about `size` cells."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%m-%d %H:%M:%S}"
    # First safe, then cut: half a secret is not masked.
    text = visible(str(value), limit=_NAMED if middle else max(size, 1))
    if middle and len(text) > size > 8:
        return f"{text[: size // 3]}…{text[len(text) - (size - size // 3 - 1) :]}"
    return f"{fit(text, size - 1).rstrip()}…" if len(text) > size > 1 else text


def fit(text: str, size: int, *, right: bool = False) -> str:
    """Safe text, cut or padded to exactly `size` cells."""
    length = len(text) if text.isascii() else cell_len(text)
    if length > size:
        return text[:size] if text.isascii() else set_cell_size(text, size)
    return " " * (size - length) + text if right else text + " " * (size - length)
