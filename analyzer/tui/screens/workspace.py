"""The workspace: lanes on top, findings or events, the event beside the schema in force, the query bar below."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Horizontal

from analyzer.tui import columns
from analyzer.tui.bar import Bar
from analyzer.tui.host import Spot
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.prompts import Prompt
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.place import Place
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


class Workspace(Proving, Querying, Walking, Taking, Place):
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
        self.notes: dict[str, str] = {"findings": "", "events": ""}
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
            yield JsonPane(id="event", glyphs=glyphs)
            yield JsonPane(id="schema", glyphs=glyphs)
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

    # --- the panes ---

    @property
    def rows(self) -> Lines:
        """The table of findings or events."""
        return self.query_one("#rows", Lines)

    @property
    def event_pane(self) -> JsonPane:
        """The record."""
        return self.query_one("#event", JsonPane)

    @property
    def schema_pane(self) -> JsonPane:
        """The schema in force."""
        return self.query_one("#schema", JsonPane)

    @property
    def bar(self) -> QueryBar:
        """The query bar."""
        return self.query_one(QueryBar)

    @property
    def table(self) -> FrameRows | None:
        """The model of the table, once there is one."""
        model = self.rows.model
        return model if isinstance(model, FrameRows) else None

    @property
    def waits(self) -> bool:
        """For the cursor or the typing to rest."""
        return self.standing and ((self._looking and self.table is not None) or (self.bar.is_open and self.bar.waits))

    def row(self) -> dict[str, Any] | None:
        """The row under the cursor."""
        table = self.table
        return table.record(self.rows.cursor) if table is not None and table.height else None

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
            self.notes[mode] = ""
            self.title_line()
            if wanted is not None and row is None:
                self._look(wanted)  # the filter holds its row back: show the evidence all the same

        self.in_background("rows", work, then)

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

    def action_zoom(self) -> None:
        """The focused pane alone, or all again."""
        if self.has_class("-zoom"):
            self.unzoom()
        elif self.focused is not None and self.focused.id in ("rows", "event", "schema", "hits"):
            self.add_class("-zoom", f"-zoom-{self.focused.id}")

    def unzoom(self) -> None:
        """All panes again."""
        self.remove_class("-zoom", "-zoom-rows", "-zoom-event", "-zoom-schema", "-zoom-hits")

    def action_schema(self) -> None:
        """To the schema in force."""
        self.enter_pane("schema")

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

    # --- filter ---

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
        """Take the path under the cursor to the query bar, or to the filter."""
        pane = message.pane

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
