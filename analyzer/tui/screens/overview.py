"""All sessions: which ones there are, which rules found how much, and what could not be judged or read."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal

from analyzer.tui import columns
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.prompts import Prompt
from analyzer.tui.rows import FrameRows, TextRows
from analyzer.tui.screens.taking import Exporting
from analyzer.tui.totals import facts, rule_totals
from analyzer.visible import visible

_WORST_FIRST = "sort:-errors sort:-warnings"
_WIDE = 100  # columns from which the totals have room for all


class Overview(Exporting):
    """The first screen."""

    BINDINGS = bindings("overview")
    where = "overview"
    AUTO_FOCUS = "#sessions"
    DEFAULT_CSS = """
    Overview #sessions { height: 3fr; }
    Overview #totals { height: 2fr; }
    Overview #totals Lines { width: 1fr; }
    Overview.-tiny #facts { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._read = False  # whether all of the log was on the screen already
        self._activity: dict[str, list[int]] = {}

    def body(self) -> ComposeResult:
        """Sessions above; rules and facts below."""
        glyphs = self.owner.glyphs
        yield Lines(id="sessions", glyphs=glyphs)
        with Horizontal(id="totals"):
            yield Lines(id="rules", glyphs=glyphs)
            yield Lines(id="facts", glyphs=glyphs)

    def on_mount(self) -> None:
        """Name the panes; the case comes later."""
        titles = {
            "sessions": "sessions",
            "rules": "rules, where to look first on top",
            "facts": "coverage and inputs",
        }
        for name, title in titles.items():
            self.query_one(f"#{name}", Lines).entitle(title)
        self.title_line()

    def crumbs(self) -> list[str]:
        """It is the top."""
        return ["all sessions"]

    def status(self) -> str:
        """The totals."""
        if self.owner.case is None:
            return ""
        summary = self.case.summary
        found = sum(summary.get("findings", {}).get(word) or 0 for word in ("error", "warning", "info"))
        share = summary.get("coverage")
        parts = [
            "" if share is None else f"{int(share * 1000) / 10:g} % judged",
            "" if self.size.width < _WIDE else f"{summary.get('sessions') or 0:,} sessions",  # the pane counts them
            "" if self.size.width < _WIDE else f"{summary.get('events') or 0:,} events",
            f"{found:,} findings",
            f"{borne:,} suppressed" if (borne := summary.get("findings", {}).get("suppressed") or 0) else "",
        ]
        text = " · ".join(filter(None, parts))
        if self.text:
            text = f"filter: {visible(self.text, limit=30)}  {text}"
        return f"{text}  {self.owner.loading}".rstrip()

    @property
    def _sessions(self) -> Lines:
        return self.query_one("#sessions", Lines)

    # --- filling ---

    def refill(self) -> None:
        """Sessions first, then what needs more reading."""
        self._fill_sessions(self._fill_rest)
        self.query_one("#facts", Lines).show(TextRows(facts(self.case)))

    def _fill_rest(self) -> None:
        case, glyphs = self.case, self.owner.glyphs

        def totals(stale: Callable[[], bool]) -> FrameRows:
            del stale
            return FrameRows(rule_totals(case), columns.rules(glyphs))

        def activity(stale: Callable[[], bool]) -> dict[str, list[int]]:
            del stale
            return case.activity()

        def then(found: dict[str, list[int]]) -> None:
            self._activity = found
            self._fill_sessions()

        self.in_background("rules", totals, self.query_one("#rules", Lines).show)
        self.in_background("activity", activity, then)

    def _fill_sessions(self, after: Callable[[], None] | None = None) -> None:
        case, text, glyphs, activity = self.case, self.text, self.owner.glyphs, self._activity
        # While it is being read, who has not moved stays on the worst session, whichever that is by now.
        held = self._session() if self._read or self._sessions.cursor else None
        self._read = not self.owner.loading

        def work(stale: Callable[[], bool]) -> FrameRows | str:
            import polars as pl

            from analyzer.tui import filters
            from analyzer.tui.lanes import sparkline

            del stale
            frame = case.sessions
            names = [name or "" for name in frame["session"]]
            bars = [sparkline(activity[name], glyphs) if name in activity else "" for name in names]
            frame = frame.with_columns(activity=pl.Series(bars, dtype=pl.String))
            try:
                return FrameRows(frame, columns.sessions(glyphs), filters.order(frame, f"{text} {_WORST_FIRST}"))
            except filters.FilterError as error:
                return str(error)

        def then(model: FrameRows | str) -> None:
            if isinstance(model, str):
                self.notify(f"no such filter: {model}", severity="warning")
                return
            names = model.frame["session"].to_list()
            row = model.row_of(names.index(held)) if held in names else 0
            self._sessions.show(model, row or 0)
            self.title_line()
            self.owner.enter_only_session(names)
            if after is not None:
                self.call_after_refresh(after)

        self.in_background("sessions", work, then)

    def _session(self) -> str | None:
        model = self._sessions.model
        if isinstance(model, FrameRows) and model.height:
            name: str | None = model.record(self._sessions.cursor)["session"]
            return name
        return None

    # --- actions ---

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """Into a session, to all findings of a rule, or to the whole of a fact."""
        from analyzer.tui.screens.reading import Reading
        from analyzer.tui.screens.workspace import Workspace

        model = message.pane.model
        if not isinstance(model, FrameRows):  # a fact, which may be longer than its pane is wide
            fact = "".join(text for text, _ in model.spans(message.pane.cursor, 400))
            self.owner.push_screen(Reading(fact, [*self.crumbs(), "coverage and inputs"]))
            return
        row = model.record(message.pane.cursor)
        if message.pane.id == "sessions":
            self.owner.push_screen(Workspace(row["session"]))
        else:
            self.owner.push_screen(Workspace(None, text=f"rule={row['rule']}"))

    def action_back(self) -> None:
        """Off with the filter; without one this is the first screen."""
        if self.text:
            self._filter("")
        else:
            super().action_back()

    def _filter(self, text: str) -> None:
        self.text = text
        if self.owner.case is not None:
            self._fill_sessions()

    def action_filter(self) -> None:
        """Ask for a filter of the sessions."""

        def answered(text: str | None) -> None:
            if text is not None:
                self._filter(text)

        self.owner.push_screen(Prompt("filter sessions: word err>0 calls>=10 sort:-events", self.text), answered)

    def action_findings(self) -> None:
        """The findings of all sessions."""
        from analyzer.tui.screens.workspace import Workspace

        if self.owner.case is not None:
            self.owner.push_screen(Workspace(None))

    def action_query(self) -> None:
        """Ask the events of all sessions."""
        from analyzer.tui.screens.workspace import Workspace

        if self.owner.case is None:
            self.notify("nothing is read yet")
        else:
            self.owner.push_screen(Workspace(None, asking=True))

    def action_lanes(self) -> None:
        """The lanes of the session under the cursor."""
        from analyzer.tui.screens.timeline import Timeline

        if self.owner.case is not None:
            self.owner.push_screen(Timeline(self._session(), None))

    def action_contracts(self) -> None:
        """The contracts of the session under the cursor."""
        from analyzer.tui.screens.contracts import Contracts

        if self.owner.case is not None:
            self.owner.push_screen(Contracts(self._session(), None))

    def action_rule(self) -> None:
        """The manual of the rule under the cursor."""
        from analyzer.tui.screens.reading import Manual

        pane = self.query_one("#rules", Lines)
        if isinstance(pane.model, FrameRows) and pane.model.height:
            self.owner.push_screen(Manual(pane.model.record(pane.cursor)["rule"] or ""))
