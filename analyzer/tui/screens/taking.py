"""What one takes along from the workspace: marks, citations, exports, a look in the pager."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from analyzer.masking import mask_json
from analyzer.tui import export
from analyzer.tui.lines import Lines
from analyzer.tui.marks import Mark
from analyzer.tui.prompts import Prompt
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.parts import Part
from analyzer.tui.screens.place import Place
from analyzer.visible import visible, visible_lines

if TYPE_CHECKING:
    pass


class Exporting(Place):
    """A place whose panes can be written to a file."""

    def on_lines_wanted(self, message: Lines.Wanted) -> None:
        """Cite or export what a pane shows."""
        if message.what == "cite":
            self.cite(message.pane)
        else:
            self.export(message.pane)

    def cite(self, pane: Lines) -> None:
        """Copy the citation of what is shown."""
        del pane
        self.notify("nothing to cite here")

    def taken(self, pane: Lines) -> export.Shown:
        """What an export of this pane may hold."""
        model = pane.model
        frame = None
        if isinstance(model, FrameRows):
            frame = model.frame if model.order is None else model.frame[model.order]
        return export.Shown(model, frame)

    def export(self, pane: Lines) -> None:
        """Ask for a file and write what the pane shows."""

        def answered(name: str | None) -> None:
            if not name:
                return
            svg = self.owner.export_screenshot() if name.endswith(".svg") else None
            shown = self.taken(pane)._replace(svg=svg)
            self.notify(export.write(Path(name).expanduser(), shown, self.owner.marks.rows()))

        kinds = ".json .jsonl .csv .parquet .sarif .md .txt .svg .bin"
        self.owner.push_screen(Prompt(f"export what this pane shows to a new file: {kinds}", ""), answered)


class Taking(Exporting, Part):
    """The part of the workspace that takes things along."""

    def taken(self, pane: Lines) -> export.Shown:
        """Of findings the report's own rows; of an event its citation, its record and its finding."""
        out = super().taken(pane)
        shown = self.shown
        if pane.id == "rows" and self.on_screen == "findings" and out.frame is not None:
            findings = self.case.found[out.frame["index"]]
            return out._replace(findings=findings, audit=self.case.audit_of(findings))
        if pane.id in ("event", "schema") and shown is not None and shown.place is not None:
            source = self.case.sources.get(shown.place.source, {})
            evidence = {
                "file": shown.place.file,
                "sha256": source.get("sha256"),
                "line": shown.place.line,
                "offset": shown.place.offset,
                "length": shown.place.length,
                "session": shown.session,
                "pointer": self.event_pane.address,
                "path": self.event_pane.path,
                "schema_id": shown.judged.schema_id if shown.judged is not None else None,
                "finding": shown.finding,
            }
            return out._replace(evidence=evidence, raw=shown.raw)
        return out

    def export(self, pane: Lines) -> None:
        """Of the row under the cursor, not of the one before, whose evidence may still be there."""
        self.with_evidence(lambda: super(Taking, self).export(pane))

    def cite(self, pane: Lines) -> None:
        """Copy file, line, digest and pointer."""
        self.with_evidence(lambda: self._cite(pane))

    def _cite(self, pane: Lines) -> None:
        shown = self.shown
        if shown is None or shown.place is None:
            self.notify("no record here")
            return
        source = self.case.sources.get(shown.place.source, {})
        pane.copy(
            "citation", f"{shown.place.file}:{shown.place.line} sha256:{source.get('sha256')} {self.event_pane.address}"
        )

    def action_mark(self) -> None:
        """Mark the row under the cursor; a note without text is a mark all the same."""
        self.with_evidence(self._mark)

    def _mark(self) -> None:
        row, shown = self.row(), self.shown
        if row is None:
            return
        place = shown.place if shown is not None else None
        fingerprint = row.get("fingerprint")
        key = fingerprint or f"event {row.get('event')}"
        before = self.owner.marks.marks.get(key)

        def answered(note: str | None) -> None:
            if note is None:
                return
            mark = Mark(
                key,
                note,
                row.get("session"),
                row.get("seq"),
                row.get("rule"),
                place.file if place else None,
                place.line if place else None,
                place.offset if place else None,
                row.get("at"),
                row.get("event"),
                fingerprint,
            )
            trouble = self.owner.marks.put(mark)
            self.rows.refresh()
            self.notify(trouble or "marked")

        self.owner.push_screen(Prompt("mark this row; a note, or nothing:", before.note if before else ""), answered)

    def action_pager(self) -> None:
        """The record in the user's pager, in its visible form."""
        self.with_evidence(self._pager)

    def _pager(self) -> None:
        if self.shown is None or self.shown.model is None:
            self.notify("no record here")
            return
        text = visible_lines(mask_json(self.shown.raw.decode("utf-8", "backslashreplace")), limit=10_000_000)
        command = shlex.split(os.environ.get("PAGER") or "less") or ["less"]
        # Without -R and shell commands, a pager shows text and does nothing else.
        quiet = {**os.environ, "LESS": "", "LESSSECURE": "1"}
        try:
            with self.app.suspend():
                # the user's own program; it gets visible text on its standard input
                subprocess.run(command, input=text.encode(), env=quiet, check=False)  # noqa: S603
        except SuspendNotSupported:
            self.notify("this terminal cannot be handed to a pager")
        except OSError as error:
            self.notify(f"no pager: {visible(str(error.strerror))}")
