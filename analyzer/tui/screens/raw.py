"""The bytes of a record: what an auditor can cite, with offset, line and digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from analyzer.errors import EvidenceUnavailable
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.rows import Span, TextRows, find_line
from analyzer.tui.screens.reading import wrapped
from analyzer.tui.screens.taking import Exporting
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Place as Record
    from analyzer.tui.export import Shown

_ROW = 16  # bytes of a line


class HexRows:
    """Bytes as hexadecimal, a line of sixteen at a time."""

    def __init__(self, raw: bytes, offset: int) -> None:
        self.raw = raw
        self._offset = offset

    @property
    def height(self) -> int:
        """Lines."""
        return (len(self.raw) + _ROW - 1) // _ROW

    def header(self, width: int) -> list[Span] | None:
        """What the columns are."""
        del width
        return [("offset        bytes, as they stand: nothing is masked here", "title")]

    def spans(self, row: int, width: int) -> list[Span]:
        """Offset in the log, bytes, and what of them is plain text."""
        del width
        part = self.raw[row * _ROW : (row + 1) * _ROW]
        plain = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        return [(f"{self._offset + row * _ROW:>12,}  ", "dim"), (f"{part.hex(' '):<48} ", ""), (plain, "string")]

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next line with the text."""
        return find_line(self, needle, start, step)


class Raw(Exporting):
    """One record as it stands in the log."""

    BINDINGS = bindings("raw")
    where = "raw"
    DEFAULT_CSS = """
    Raw #facts { height: 7; }
    """

    def __init__(self, place: Record, address: str) -> None:
        super().__init__()
        self.place = place
        self._address = address
        self._raw = b""
        self._hex = False

    def body(self) -> ComposeResult:
        """Facts above, bytes below."""
        facts = Lines(id="facts", glyphs=self.owner.glyphs)
        facts.can_focus = False
        yield facts
        yield Lines(id="bytes", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Fetch the bytes, and the digest of the whole log behind them."""
        self.title_line()
        self.query_one("#facts", Lines).entitle("record")
        case, place = self.case, self.place

        def fetch(stale: Callable[[], bool]) -> bytes | str:
            del stale
            try:
                return case.record(place)
            except EvidenceUnavailable as error:
                return error.problem

        def then(found: bytes | str) -> None:
            if isinstance(found, str):
                self._facts(found)
                return
            self._raw = found
            self._show()
            self.in_background("digest", lambda _: case.records.verify(place.source), self._facts)

        self._facts("taking its digest")
        self.in_background("raw", fetch, then)

    def crumbs(self) -> list[str]:
        """Session, event, raw."""
        return [self.place.session or "", f"event {self.place.seq if self.place.seq is not None else '?'}", "raw bytes"]

    def _facts(self, trouble: str | None) -> None:
        place = self.place
        source = self.case.sources.get(place.source, {})
        good = f"{self.owner.glyphs.valid} the log is the one that was audited"
        state: Span = (good, "good") if trouble is None else (visible(trouble, limit=100), "warning")
        lines: list[list[Span]] = [
            [("file    ", "key"), (visible(place.file, limit=200), "")],
            [
                ("line    ", "key"),
                (f"{place.line:,}" if place.line is not None else "", ""),
                (f"   bytes {place.offset:,} to {place.offset + place.length:,}", "dim"),
            ],
            [("pointer ", "key"), (visible(self._address, limit=200) or '""', "")],
            [("sha256  ", "key"), (visible(str(source.get("sha256") or "not taken"), limit=80), "")],
            [("        ", ""), state],
        ]
        self.query_one("#facts", Lines).show(TextRows(lines))

    def _show(self) -> None:
        pane = self.query_one("#bytes", Lines)
        if self._hex:
            pane.show(HexRows(self._raw, self.place.offset))
        else:
            pane.show(
                TextRows(wrapped(self._raw.decode("utf-8", "backslashreplace"), max(20, self.app.size.width - 5)))
            )
        pane.entitle("hexadecimal" if self._hex else "text")

    def taken(self, pane: Lines) -> Shown:
        """The exact bytes too."""
        return super().taken(pane)._replace(raw=self._raw)

    def action_switch(self) -> None:
        """Text or hexadecimal."""
        self._hex = not self._hex
        self._show()
