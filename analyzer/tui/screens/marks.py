"""The list of marks: go there, change the note, take one away."""

from __future__ import annotations

from textual.app import ComposeResult

from analyzer.tui import columns
from analyzer.tui.host import Spot
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.marks import Mark
from analyzer.tui.prompts import Prompt
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.taking import Exporting


class MarkList(Exporting):
    """All marks of this audit."""

    BINDINGS = bindings("marks")
    where = "marks"

    def body(self) -> ComposeResult:
        """One pane."""
        yield Lines(id="marks", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Show them."""
        self.title_line()
        self._fill()

    def crumbs(self) -> list[str]:
        """Marks."""
        return ["marks"]

    def _fill(self) -> None:
        import polars as pl

        pane = self.query_one("#marks", Lines)
        words = ("key", "note", "session", "rule", "file", "pointer", "fingerprint")
        schema = {**dict.fromkeys(words, pl.String), **dict.fromkeys(("seq", "line", "offset", "event"), pl.Int64)}
        frame = pl.DataFrame(self.owner.marks.rows(), schema=schema)
        pane.entitle("marks" if frame.height else "no marks yet: m in the workspace makes one")
        pane.show(FrameRows(frame, columns.marks(self.owner.glyphs)), pane.cursor)

    def _mark(self) -> Mark | None:
        pane = self.query_one("#marks", Lines)
        model = pane.model
        if not isinstance(model, FrameRows) or not model.height:
            return None
        return self.owner.marks.marks.get(model.record(pane.cursor)["key"])

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """Go to what is marked."""
        del message
        mark = self._mark()
        if mark is None:
            return
        finding = None
        if mark.fingerprint is not None:
            found = (self.case.findings["fingerprint"] == mark.fingerprint).arg_true()
            if found.is_empty():
                self.notify("this finding is not in this audit any more")
                return
            finding = int(found[0])
        self.owner.go(Spot(mark.session, finding, mark.event if finding is None else None, "event", ""))

    def action_unmark(self) -> None:
        """Take the mark away."""
        mark = self._mark()
        if mark is not None:
            self.notify(self.owner.marks.remove(mark.key) or "the mark is gone")
            self._fill()

    def action_note(self) -> None:
        """Change the note."""
        mark = self._mark()
        if mark is None:
            return

        def answered(note: str | None) -> None:
            if note is not None:
                from dataclasses import replace

                trouble = self.owner.marks.put(replace(mark, note=note))
                if trouble:
                    self.notify(trouble)
                self._fill()

        self.owner.push_screen(Prompt("note:", mark.note), answered)
