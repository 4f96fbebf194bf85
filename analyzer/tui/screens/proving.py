"""What proves the row under the cursor: its event beside the schema in force, loaded while the cursor rests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from analyzer.tui.bar import Bar
from analyzer.tui.host import Spot
from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.rows import TextRows
from analyzer.tui.screens.parts import Part
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.evidence import Shown

_REST = 0.04  # seconds that the cursor rests before the evidence follows


class Proving(Part):
    """The part of the workspace that shows the evidence."""

    _timer: Timer | None = None
    _then: tuple[int | None, Callable[[], None]] | None = None  # what was asked meanwhile, and of which row

    def on_lines_moved(self, message: Lines.Moved) -> None:
        """The evidence follows the rows; the crumbs and the other pane follow the event."""
        pane = message.pane
        if pane.id == "rows":
            self._looking = True
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(_REST, self._look)
        elif pane.has_focus and pane.id in ("event", "schema"):
            self.title_line()
            self._follow_pair(pane)

    def _look(self, wanted: Spot | None = None, *, whole: bool = False) -> None:
        """Load what proves the row under the cursor (or the spot)."""
        if not self.standing or self.table is None:  # the rows are still under way
            return
        case, glyphs, row = self.case, self.owner.glyphs, self.row()
        spot, self._wanted = wanted or self._wanted, None
        finding = spot.finding if spot is not None else (row or {}).get("index")
        event = spot.event if spot is not None else (row or {}).get("event")
        if finding is None and event is None:
            self._show(None)
            return
        focus = spot.address if spot is not None else ""

        def work(stale: Callable[[], bool]) -> Shown:
            from analyzer.tui import evidence

            del stale
            if finding is not None:
                return evidence.of_finding(case, finding, glyphs, whole=whole)
            assert event is not None
            return evidence.of_event(case, event, glyphs, focus=focus, whole=whole)

        def then(shown: Shown) -> None:
            self._show(shown)
            if spot is not None:
                if spot.address:
                    self.event_pane.go(spot.address)
                if spot.pane in ("event", "schema"):
                    self.enter_pane(spot.pane)

        self.in_background("evidence", work, then)

    def _show(self, shown: Shown | None) -> None:
        self.shown = shown
        event, schema = self.event_pane, self.schema_pane
        if shown is None or shown.model is None:
            trouble = shown.trouble if shown is not None else "nothing is selected"
            event.show(TextRows([[(visible(trouble, limit=300), "dim")]]))
        else:
            event.show(shown.model, shown.cursor)
            self.bar.names.learn(shown.model.raw)
        event.entitle(self._event_title(shown))
        finding = (shown.finding if shown is not None else None) or {}
        words = (
            [f"suppressed: {visible(why, limit=200)}"]
            if (why := (finding.get("suppressed") or {}).get("reason"))
            else []
        )
        words += [visible(finding.get("message") or "", limit=600)]
        words += [f"do: {visible(finding['hint'], limit=300)}"] if finding.get("hint") else []
        self.query_one("#says", Bar).put("  ".join(words))
        self.set_class(self.mode != "findings", "-events")
        judged = shown.judged if shown is not None else None
        if judged is None:
            schema.show(TextRows([[("no schema judged this", "dim")]]))
            schema.entitle("schema")
        else:
            from analyzer.tui.jsonlines import JsonLines

            model = JsonLines(judged.raw, glyphs=self.owner.glyphs, flagged=judged.flagged)
            schema.show(model, model.nearest(judged.focus))
            schema.entitle(f"schema {judged.origin} · {visible(judged.schema_id[:12])}")
        self._column()
        self.title_line()
        self.bar.rerun()
        then, self._looking, self._then = self._then, False, None
        if then is not None and then[0] in (None, self._row_number()):
            then[1]()

    def with_evidence(self, act: Callable[[], None]) -> None:
        """Do what needs the evidence: now, or when it is there, unless the cursor went on to another row."""
        if self._looking:
            self._then = (self._row_number(), act)
        else:
            act()

    def _row_number(self) -> int | None:
        row = self.row()
        return None if row is None else int(row["index" if self.on_screen == "findings" else "event"])

    def _event_title(self, shown: Shown | None) -> str:
        if shown is None or shown.place is None:
            return "event"
        place = shown.place
        seq = place.seq if place.seq is not None else (shown.finding or {}).get("seq")
        tool = f" · {visible(shown.tool.rpartition(':')[2], limit=30)}" if shown.tool else ""
        return f"event {visible(shown.session or '?', limit=30)}:{seq if seq is not None else '?'}{tool}"

    def _column(self) -> None:
        """Show in the lanes where the row stands."""
        from analyzer.tui.lanes import LaneRows

        strip, row = self.query_one("#strip", Lines), self.row()
        model = strip.model
        if isinstance(model, LaneRows) and row is not None and row["seq"] is not None and self.session is not None:
            points = model.lanes.points
            at = points["x"].filter(points["seq"] == row["seq"])
            if not at.is_empty():
                model.column = model.column_of(at[0], strip.size.width - 1)
                strip.redraw()

    def _follow_pair(self, pane: Lines) -> None:
        """Move the other pane to the keyword (or the member) that belongs to the one under the cursor."""
        if self.shown is None or not isinstance(pane, JsonPane) or not self.shown.pairs:
            return
        address = pane.address
        if pane.id == "event":
            other = next((there for here, there in self.shown.pairs if here == address), None)
            if other is not None:
                self.schema_pane.go(other)
        else:
            other = next((here for here, there in self.shown.pairs if there == address), None)
            if other is not None:
                self.event_pane.go(other)
