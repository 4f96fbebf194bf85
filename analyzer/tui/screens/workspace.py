"""The workspace: lanes on top, findings or events, the event beside the schema in force, the query bar below."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.timer import Timer

from analyzer.tui import columns
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.rows import FrameRows, TextRows
from analyzer.tui.screens.place import Bar, Place
from analyzer.tui.screens.prompts import Prompt
from analyzer.tui.screens.querybar import QueryBar
from analyzer.tui.screens.taking import Taking
from analyzer.tui.screens.walking import Walking
from analyzer.visible import visible

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.app import Spot
    from analyzer.tui.evidence import Shown
    from analyzer.tui.lanes import LaneRows
    from analyzer.tui.query import Hit, Query

_REST = 0.04  # seconds that the cursor rests before the evidence follows
_STRIP = 3  # lanes on top


class Workspace(Walking, Taking, Place):
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
    Workspace.-low #says { height: 2; }
    Workspace.-narrow #lower.-event #schema, Workspace.-tiny #lower.-event #schema { display: none; }
    Workspace.-narrow #lower.-schema #event, Workspace.-tiny #lower.-schema #event { display: none; }
    Workspace.-zoom #says { display: none; }
    Workspace.-zoom #strip, Workspace.-zoom #rows, Workspace.-zoom #lower, Workspace.-zoom #hits { display: none; }
    Workspace.-zoom-rows #rows, Workspace.-zoom-hits #hits { display: block; height: 1fr; }
    Workspace.-zoom-event #lower, Workspace.-zoom-schema #lower { display: block; height: 1fr; }
    Workspace.-zoom-event #schema, Workspace.-zoom-schema #event { display: none; }
    """

    def __init__(self, session: str | None, *, text: str = "", spot: Spot | None = None) -> None:
        super().__init__()
        self.session = session
        self.mode = "events" if spot is not None and spot.finding is None and spot.event is not None else "findings"
        self.on_screen = self.mode  # what the rows are: they follow the mode when they are filtered
        self.texts = {"findings": text, "events": ""}  # filters
        self.only: pl.DataFrame | None = None  # session and seq of the hits that rows are kept to
        self.shown: Shown | None = None
        self.notes: dict[str, str] = {"findings": "", "events": ""}
        self._wanted: Spot | None = spot
        self._timer: Timer | None = None
        self._looking = True  # the evidence of the row under the cursor is still under way
        self._then: Callable[[], None] | None = None  # what was asked of it meanwhile
        self._query: tuple[Query, str] | None = None

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
            way += [row.get("turn") or "", shown.call_id or "", self.event_pane.path]
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

        def work(stale: Callable[[], bool]) -> tuple[FrameRows | None, str]:
            import polars as pl

            from analyzer.tui import filters

            del stale
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
                return None, str(error)
            return FrameRows(frame, make(glyphs, marks, session=session is None), order), ""

        def then(result: tuple[FrameRows | None, str]) -> None:
            model, trouble = result
            if model is None:
                self.notify(f"no such filter: {trouble}", severity="warning")
                return
            row = None
            if want is not None:
                at = (model.frame[key] == want).arg_max() if model.frame.height else None
                if at is not None and model.frame[key][at] == want:
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

    # --- evidence ---

    def on_lines_moved(self, message: Lines.Moved) -> None:
        """The evidence follows the rows; the crumbs and the other pane follow the event."""
        pane = message.pane
        if pane.id == "rows":
            self._looking, self._then = True, None
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(_REST, self._look)
        elif pane.has_focus and pane.id in ("event", "schema"):
            self.title_line()
            self._follow_pair(pane)

    def _look(self, wanted: Spot | None = None, *, whole: bool = False) -> None:
        """Load what proves the row under the cursor (or the spot)."""
        if not self.standing:
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
        words = [visible(finding.get("message") or "", limit=600)]
        words += [f"do: {visible(finding['hint'], limit=300)}"] if finding.get("hint") else []
        self.query_one("#says", Bar).put("  ".join(words))
        self.query_one("#says").display = self.mode == "findings"
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
        act, self._looking, self._then = self._then, False, None
        if act is not None:
            act()

    def with_evidence(self, act: Callable[[], None]) -> None:
        """Do what needs the evidence: now, or when it is there."""
        if self._looking:
            self._then = act
        else:
            act()

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
                from analyzer.tui.app import Spot

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
        if message.what == "query":
            whole = message.pane.id == "event"
            self.open_query(message.pane.path if whole else "", 1)
        else:
            self.mode = "findings"
            self.texts["findings"] = f"pointer:{message.address}" if message.address else ""
            self.fill_rows()
            self.enter_pane("rows")

    # --- query ---

    def action_query(self) -> None:
        """Open the query bar."""
        self.open_query(None, None)

    def open_query(self, text: str | None, scope: int | None) -> None:
        """Open the query bar with an expression."""
        self.unzoom()
        self.add_class("-querying")
        self.bar.open(text, scope)

    def close_query(self) -> None:
        """Hide the bar and its hits, and stop what it does."""
        self.cancel("query")
        self.bar.close()
        self.remove_class("-querying")
        self.query_one("#hits", Lines).show(TextRows([]))
        self.enter_pane("rows")

    def action_scope(self) -> None:
        """The next scope of the query."""
        if self.bar.is_open:
            self.bar.cycle()

    def on_query_bar_left(self) -> None:
        """On to the hits."""
        self.enter_pane("hits")

    def on_query_bar_run(self, message: QueryBar.Run) -> None:
        """Run an expression over its scope in the background; hits appear as they come."""
        hits = self.query_one("#hits", Lines)
        if message.query is None:
            self.cancel("query")
            hits.show(TextRows([]))
            return
        query, case, shown, scope = message.query, self.case, self.shown, message.scope
        prefix = self.event_pane.path if scope == "this node" else "$"
        address = self.event_pane.address if scope == "this node" else ""
        session = self.session or (shown.session if shown is not None else None)
        table, mode = self.table, self.on_screen
        raw = shown.model.raw if shown is not None and shown.model is not None else b""

        def post(found: list[Hit], state: str) -> None:
            self.owner._post(lambda: self._hits(found, state, query))  # noqa: SLF001 - from a thread

        def work(stale: Callable[[], bool]) -> tuple[list[Hit], str] | None:
            import polars as pl

            from analyzer import pointer
            from analyzer.tui import query as engine

            if scope in ("this node", "this event"):
                try:
                    value = pointer.resolve(engine.decode(raw), address)
                except LookupError:
                    return [], "not JSON"
                return engine.over_value(query, value, prefix), ""
            events: pl.Series | None = None
            if scope == "this session":
                events = case.events.filter(pl.col("session").cast(pl.String) == session)["event"]
            elif table is not None:
                frame = table.frame if table.order is None else table.frame[table.order]
                events = frame["event"] if mode == "events" else case.events_of(frame)
                if events.len() == case.events.height:
                    events = None
            engine.over_events(query, case, events, lambda found, state: None if stale() else post(found, state), stale)
            return None

        def then(result: tuple[list[Hit], str] | None) -> None:
            if result is not None:
                self._hits(*result, query)

        self.bar.state("searching")
        self.in_background("query", work, then)

    def _hits(self, found: list[Hit], state: str, query: Query) -> None:
        import polars as pl

        if not self.bar.is_open:
            return
        schema = {"event": pl.Int64, "session": pl.String, "seq": pl.Int64, "path": pl.String, "value": pl.String}
        pane = self.query_one("#hits", Lines)
        pane.show(FrameRows(pl.DataFrame(found, schema=schema, orient="row"), columns.hits()), pane.cursor)
        pane.entitle(f"hits · {query.language}")
        words = f"{len(found):,} {'match' if len(found) == 1 else 'matches'}"
        self.bar.state(f"{words} · {state} " if state else f"{words} ")

    def _hit(self) -> dict[str, Any] | None:
        pane = self.query_one("#hits", Lines)
        model = pane.model
        return model.record(pane.cursor) if isinstance(model, FrameRows) and model.height else None

    def _to_hit(self) -> None:
        from analyzer.tui.app import Spot
        from analyzer.tui.query import pointer_of

        hit = self._hit()
        if hit is None:
            return
        self.owner.remember(self.spot())
        address = pointer_of(hit["path"])
        if hit["event"] is None:
            self.event_pane.go(address)
            self.enter_pane("event")
        else:
            self.go(Spot(self.session, None, hit["event"], "event", address))

    def _keep_hits(self) -> None:
        model = self.query_one("#hits", Lines).model
        if not isinstance(model, FrameRows) or not model.height or model.frame["seq"].null_count():
            self.notify("these hits are all in one event; choose a wider scope with ctrl+s")
            return
        self.only = model.frame.select("session", "seq").unique(maintain_order=True)
        self.fill_rows()
        self.enter_pane("rows")
