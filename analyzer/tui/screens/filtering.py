"""The table of the workspace: findings or events, and the filter that keeps some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from analyzer.tui import columns
from analyzer.tui.panes import JsonPane
from analyzer.tui.prompts import Prompt
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.parts import Part

if TYPE_CHECKING:
    pass


class Filtering(Part):
    """The part of the workspace that fills the table."""

    def fill_rows(self) -> None:
        """Filter and show the rows of this mode; the cursor stays on its row if the filter kept it."""
        case, mode, text, session, only = self.case, self.mode, self.texts[self.mode], self.session, self.only
        glyphs, marks = self.owner.glyphs, self.owner.marks.marks
        table = self.table
        key = "index" if mode == "findings" else "event"
        held = self.row() if table is not None and key in table.frame.columns else None
        wanted = self._wanted
        want = (held or {}).get(key)
        if wanted is not None:
            want = wanted.finding if mode == "findings" else wanted.event

        def work(stale: Callable[[], bool]) -> tuple[FrameRows | None, str, int | None]:
            import polars as pl

            from analyzer.tui import filters

            del stale
            here = want
            if here is None and mode == "findings" and session is not None:
                here = case.first_look(session)
            frame = case.findings if mode == "findings" else case.events
            if session is not None:
                frame = frame.filter(pl.col("session").cast(pl.String) == session)
            if only is not None:
                at = pl.struct(pl.col("session").cast(pl.String), pl.col("seq").cast(pl.Int64))
                frame = frame.filter(at.is_in(only.select(pl.struct("session", "seq")).to_series().implode()))
            make = columns.findings if mode == "findings" else columns.events
            try:
                order = filters.order(frame, text)
            except filters.FilterError as error:
                return None, str(error), None
            return FrameRows(frame, make(glyphs, marks, session=session is None), order), "", here

        def then(result: tuple[FrameRows | None, str, int | None]) -> None:
            model, trouble, here = result
            if model is None:
                self.notify(f"no such filter: {trouble}", severity="warning")
                return
            row = None
            if here is not None:
                at = (model.frame[key] == here).arg_max() if model.frame.height else None
                if at is not None and model.frame[key][at] == here:
                    row = model.row_of(at)
            self.on_screen = mode
            self.rows.entitle(mode)
            self.rows.show(model, row if row is not None else 0)
            self.title_line()
            if wanted is not None and row is None:
                self._look(wanted)  # the filter holds its row back: show the evidence all the same

        self.in_background("rows", work, then)

    def action_filter(self) -> None:
        """Ask for a filter; on the hits, keep the rows to them."""
        if self.focused is not None and self.focused.id == "hits":
            self._keep_hits()
            return

        def answered(text: str | None) -> None:
            if text is not None:
                if not text:
                    self.only = None
                self.texts[self.mode] = text
                self.fill_rows()

        names = (
            "sev rule tool session seq turn call at message" if self.mode == "findings" else "kind type turn seq time"
        )
        title = f"filter: word !word column:word column>=n column~regex sort:-column   columns: {names}"
        self.owner.push_screen(Prompt(title, self.texts[self.mode]), answered)

    def on_json_pane_asked(self, message: JsonPane.Asked) -> None:
        """Take the path under the cursor to the query bar, or to the filter; or go to the schema."""
        pane = message.pane
        if message.what == "schema":
            self.enter_pane("schema")
            return

        def take() -> None:
            if pane.line is None:
                return
            if message.what == "query":
                self.open_query(pane.path if pane.id == "event" else "", 1)
            else:
                self.mode = "findings"
                self.texts["findings"] = f"pointer:{pane.address}" if pane.address else ""
                self.fill_rows()
                self.enter_pane("rows")

        self.with_evidence(take)
