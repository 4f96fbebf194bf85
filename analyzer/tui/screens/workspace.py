"""The workspace: lanes on top, findings or events, the event beside the schema in force, the query bar below."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal

from analyzer.tui.bar import Bar
from analyzer.tui.host import Spot
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.panes import EvidencePane, JsonPane
from analyzer.tui.screens.filtering import Filtering
from analyzer.tui.screens.proving import Proving
from analyzer.tui.screens.querybar import SCOPES, QueryBar
from analyzer.tui.screens.querying import Querying
from analyzer.tui.screens.taking import Taking
from analyzer.tui.screens.walking import Walking
from analyzer.visible import visible

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.evidence import Shown
    from analyzer.tui.lanes import LaneRows

_STRIP = 3  # lanes on top


class Workspace(Filtering, Proving, Querying, Walking, Taking):
    """One session, or all (`session` None), with everything that one key leads to."""

    BINDINGS = bindings("workspace")
    where = "workspace"
    AUTO_FOCUS = "#rows"
    DEFAULT_CSS = """
    Workspace #strip { height: 6; }
    Workspace #rows { height: 2fr; min-height: 5; }
    Workspace #says { height: 3; padding: 0 1; text-wrap: wrap; background: $panel; }
    Workspace #lower { height: 3fr; }
    Workspace #lower Lines { width: 1fr; }
    Workspace #hits { display: none; height: 2fr; }
    Workspace.-querying #hits { display: block; }
    Workspace.-low #strip, Workspace.-tiny #strip { display: none; }
    Workspace.-narrow #lower.-event #schema, Workspace.-tiny #lower.-event #schema { display: none; }
    Workspace.-narrow #lower.-schema #event, Workspace.-tiny #lower.-schema #event { display: none; }
    Workspace.-zoom #says, Workspace.-events #says { display: none; }
    Workspace.-zoom #strip, Workspace.-zoom #rows, Workspace.-zoom #lower, Workspace.-zoom #hits { display: none; }
    Workspace.-zoom-rows #rows, Workspace.-zoom-hits #hits { display: block; height: 1fr; }
    Workspace.-zoom-event #lower, Workspace.-zoom-schema #lower { display: block; height: 1fr; }
    Workspace.-zoom-event #schema, Workspace.-zoom-schema #event { display: none; }
    """

    def __init__(self, session: str | None, *, text: str = "", spot: Spot | None = None, asking: bool = False) -> None:
        super().__init__()
        self.session = session
        at_event = spot is not None and spot.finding is None and spot.event is not None
        self.mode = "events" if at_event or asking else "findings"
        self.on_screen = self.mode  # what the rows are: they follow the mode when they are filtered
        self.came_with = {"findings": text, "events": ""}  # filters that make the place what it is
        self.texts = dict(self.came_with)
        self.only: pl.DataFrame | None = None  # session and seq of the hits that rows are kept to
        self.shown: Shown | None = None
        self._wanted: Spot | None = spot
        self._asking = asking  # it opens with the query bar, over all rows

    def body(self) -> ComposeResult:
        """The panes, and the query bar."""
        glyphs = self.owner.glyphs
        strip = Lines(id="strip", glyphs=glyphs)
        strip.can_focus = False
        yield strip
        yield Lines(id="rows", glyphs=glyphs)
        yield Bar(id="says")
        with Horizontal(id="lower", classes="-event"):
            yield EvidencePane(id="event", glyphs=glyphs)
            yield EvidencePane(id="schema", glyphs=glyphs)
        yield Lines(id="hits", glyphs=glyphs)
        yield QueryBar()

    def on_mount(self) -> None:
        """Name the panes, and fill them."""
        self.query_one("#strip", Lines).entitle("lanes")
        self.query_one("#event", Lines).entitle("event")
        self.query_one("#schema", Lines).entitle("schema")
        self.query_one("#hits", Lines).entitle("hits")
        self.title_line()
        if self.owner.case is not None:
            self.refill()
        if self._asking:
            self.call_after_refresh(self.open_query, None, SCOPES.index("all rows"))

    def crumbs(self) -> list[str]:
        """Session, turn, call, path."""
        shown = self.shown
        way = [self.session if self.session is not None else "all sessions", "events" if self.mode == "events" else ""]
        if shown is not None and shown.model is not None:
            row = self.row() or {}
            way += [
                (shown.session or "") if self.session is None else "",
                row.get("turn") or "",
                shown.call_id or "",
                self.event_pane.path,
            ]
        return way

    def status(self) -> str:
        """What the filter keeps."""
        text = self.texts[self.mode]
        parts = [visible(f"filter: {text}", limit=40)] if text else []
        if self.only is not None:
            parts.append("filter: hits")
        return "  ".join(parts)

    # --- filling ---

    def refill(self) -> None:
        """Show rows and lanes of the case, the cursor on the row where it was."""
        self.fill_rows()
        self._fill_strip()

    def _fill_strip(self) -> None:
        if not self.query_one("#strip").display:
            return
        case, session, glyphs = self.case, self.session, self.owner.glyphs

        def work(stale: Callable[[], bool]) -> LaneRows:
            from analyzer.tui.lanes import LaneRows, Lanes

            del stale
            return LaneRows(Lanes(case, session), glyphs, most=_STRIP)

        def then(model: LaneRows) -> None:
            self.query_one("#strip", Lines).show(model)
            self._column()

        self.in_background("strip", work, then)

    def on_resize(self) -> None:
        """A taller terminal shows the lanes too."""
        super().on_resize()
        strip = self.query_one("#strip", Lines)
        if self.owner.case is not None and not strip.model.height:
            self.call_after_refresh(self._fill_strip)

    # --- in and out ---

    def enter_pane(self, name: str) -> None:
        """Give a pane the keys, and the room where there is room for one only."""
        if name in ("event", "schema"):
            lower = self.query_one("#lower")
            lower.set_class(name == "event", "-event")
            lower.set_class(name == "schema", "-schema")
        if self.has_class("-zoom") and not self.has_class(f"-zoom-{name}"):
            self.unzoom()
        self.query_one(f"#{name}").focus()

    def on_descendant_focus(self) -> None:
        """Where there is room for one pane, the focused one has it."""
        super().on_descendant_focus()
        name = self.focused.id if self.focused is not None else None
        if name in ("event", "schema"):
            lower = self.query_one("#lower")
            lower.set_class(name == "event", "-event")
            lower.set_class(name == "schema", "-schema")
        self.title_line()

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """Finding, event, schema, repair: one step further in."""
        pane = message.pane
        if pane.id == "rows":
            self.owner.remember(self.spot())
            self.enter_pane("event")
        elif pane.id == "hits":
            self._to_hit()
        elif pane.id == "event":
            if self.shown is not None and self.shown.held_back:
                self._look(whole=True)
            elif not self._to_value(self.event_pane):
                self.enter_pane("schema")
        elif pane.id == "schema" and not self._to_value(self.schema_pane):
            self.action_repair()

    def _to_value(self, pane: JsonPane) -> bool:
        """A value longer than the pane opens in full."""
        line = pane.line
        if line is None or line.folds or line.end - line.start <= pane.size.width - 12:
            return False
        from analyzer.tui.screens.reading import Reading

        _, text = pane.copies()["y"]
        self.owner.push_screen(Reading(text, [*self.crumbs(), "value"]))
        return True

    def action_back(self) -> None:
        """One step out: query bar, zoom, pane, filter, screen."""
        focused = self.focused.id if self.focused is not None else None
        if self.bar.is_open and focused in ("query", "hits"):
            self.close_query()
        elif self.has_class("-zoom"):
            self.unzoom()
        elif focused in ("event", "schema"):
            self.enter_pane("rows" if focused == "event" else "event")
        elif self.bar.is_open:
            self.close_query()
        elif self.only is not None:
            self.only = None
            self.fill_rows()
        elif self.texts[self.mode] != self.came_with[self.mode]:
            self.texts[self.mode] = self.came_with[self.mode]
            self.fill_rows()
        else:
            super().action_back()

    def panes(self) -> list[Lines]:
        """Those that can have the keys, also where there is room for some of them only."""
        names = ("rows", "event", "schema", *(("hits",) if self.bar.is_open else ()))
        return [self.query_one(f"#{name}", Lines) for name in names]

    def to_pane(self, pane: Lines) -> None:
        """Give it the keys, and room."""
        self.enter_pane(pane.id or "rows")

    def action_zoom(self) -> None:
        """The focused pane alone, or all again."""
        if self.has_class("-zoom"):
            self.unzoom()
        elif self.focused is not None and self.focused.id in ("rows", "event", "schema", "hits"):
            self.add_class("-zoom", f"-zoom-{self.focused.id}")

    def unzoom(self) -> None:
        """All panes again."""
        self.remove_class("-zoom", "-zoom-rows", "-zoom-event", "-zoom-schema", "-zoom-hits")

    def action_events(self) -> None:
        """All events, or findings again; the cursor stays on the event where it can."""
        row, shown = self.row(), self.shown
        place = shown.place if shown is not None else None
        self.mode = "events" if self.mode == "findings" else "findings"
        if self.mode == "events" and place is not None and row is not None:
            event = self.case.event_at(place)
            if event is not None:
                self._wanted = Spot(self.session, None, event, "rows", "")
        self.fill_rows()
        self.enter_pane("rows")
