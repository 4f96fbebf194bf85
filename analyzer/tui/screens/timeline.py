"""The lanes, full screen: agents, tools and contracts over time or sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from analyzer.tui import columns
from analyzer.tui.host import Spot
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.taking import Exporting
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.lanes import LaneRows


class LanePane(Lines):
    """Lanes with a cursor that has a column too."""

    BINDINGS = bindings("lanes")
    where = "lanes"

    @property
    def lanes(self) -> LaneRows | None:
        """The model, once it is there."""
        from analyzer.tui.lanes import LaneRows

        return self.model if isinstance(self.model, LaneRows) else None

    @property
    def _room(self) -> int:
        return max(1, self.size.width - 1)

    def point(self) -> int:
        """The point of the axis under the cursor."""
        lanes = self.lanes
        return 0 if lanes is None else lanes.at(lanes.column or 0, self._room)

    def window(self, since: int, until: int, point: int | None = None) -> None:
        """Show a window, the cursor on a point of it."""
        lanes = self.lanes
        if lanes is None:
            return
        first, last = lanes.lanes.first, lanes.lanes.last
        size = max(
            lanes.columns(self._room) if lanes.lanes.clock == "sequence" else 1000, min(until - since, last - first)
        )
        since = max(first, min(since, last - size))
        lanes.since, lanes.until = since, min(last, since + size)
        if point is not None:
            lanes.column = max(0, min(lanes.columns(self._room) - 1, lanes.column_of(point, self._room)))
        self._placed()
        self.refresh()

    def _placed(self) -> None:
        lanes = self.lanes
        if lanes is not None:
            words = lanes.lanes
            self.place(f"{words.stamp(self.point())} in {words.stamp(lanes.since)} to {words.stamp(lanes.until)}")

    def action_across(self, by: int) -> None:
        """A cell to the side; at the edge the window moves."""
        lanes = self.lanes
        if lanes is None:
            return
        column, columns_ = (lanes.column or 0) + by, lanes.columns(self._room)
        if 0 <= column < columns_:
            lanes.column = column
            self._placed()
            self.refresh()
        else:
            self.action_pan(by, part=4)

    def action_pan(self, by: int, part: int = 1) -> None:
        """A screen, or a part of it, to the side."""
        lanes = self.lanes
        if lanes is not None:
            step = (lanes.until - lanes.since) // part * by
            self.window(lanes.since + step, lanes.until + step)

    def action_zoom(self, factor: int) -> None:
        """Half or twice the window, around the cursor."""
        lanes = self.lanes
        if lanes is not None:
            point, size = self.point(), lanes.until - lanes.since
            new = size // factor if factor > 0 else size * -factor
            share = (point - lanes.since) / max(1, size)
            since = int(point - new * share)
            self.window(since, since + new, point)

    def action_fit(self) -> None:
        """Everything."""
        lanes = self.lanes
        if lanes is not None:
            self.window(lanes.lanes.first, lanes.lanes.last, self.point())

    def action_fit_cell(self) -> None:
        """The cell under the cursor fills the pane."""
        lanes = self.lanes
        if lanes is not None and lanes.column is not None:
            since, until = lanes.at(lanes.column, self._room), lanes.at(lanes.column + 1, self._room)
            self.window(since, until, (since + until) // 2)

    def action_next_error(self, step: int) -> None:
        """The next error or warning of this lane."""
        lanes = self.lanes
        if lanes is None or not lanes.height:
            return
        # Past the whole cell: the cursor stands for all of it.
        edge = lanes.at((lanes.column or 0) + 1, self._room) - 1 if step > 0 else self.point()
        self._to(lanes.lanes.next_bad(edge, self.cursor, step))

    def action_next_slow(self, step: int) -> None:
        """The next slow step of this lane."""
        lanes = self.lanes
        if lanes is None or not lanes.height:
            return
        if lanes.lanes.clock != "time":
            self.app.notify("these events have no times")
            return
        edge = lanes.at((lanes.column or 0) + 1, self._room) - 1 if step > 0 else self.point()
        self._to(lanes.lanes.next_slow(edge, self.cursor, step))

    def _to(self, found: int | None) -> None:
        lanes = self.lanes
        if lanes is None or found is None:
            self.app.notify("no more this way in this lane")
        elif lanes.since <= found <= lanes.until:
            self.window(lanes.since, lanes.until, found)
        else:
            half = (lanes.until - lanes.since) // 2
            self.window(found - half, found + half, found)

    def action_table(self) -> None:
        """The lanes as a table."""
        if self.lanes is not None:
            self.app.push_screen(LaneTable(self.lanes))


class Timeline(Exporting):
    """One session (None: all) over time."""

    where = "lanes"

    def __init__(self, session: str | None, seq: int | None) -> None:
        super().__init__()
        self._session = session
        self._seq = seq

    def body(self) -> ComposeResult:
        """One pane."""
        yield LanePane(id="lanes", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Work the lanes out."""
        self.title_line()
        pane = self.query_one(LanePane)
        signs = self.owner.glyphs
        pane.entitle(
            f"lanes   {signs.model} model  {signs.tool} tool  {signs.wait} wait  {signs.since}{signs.line} contract"
        )
        case, session, seq, glyphs = self.case, self._session, self._seq, self.owner.glyphs

        def work(stale: Callable[[], bool]) -> LaneRows:
            from analyzer.tui.lanes import LaneRows, Lanes

            del stale
            return LaneRows(Lanes(case, session), glyphs)

        def then(model: LaneRows) -> None:
            points = model.lanes.points
            at = points["x"].filter(points["seq"].eq_missing(seq))
            pane.show(model)
            pane.window(model.since, model.until, model.since if at.is_empty() else int(at[0]))

        self.in_background("lanes", work, then)

    def crumbs(self) -> list[str]:
        """The session."""
        return [self._session or "all sessions", "lanes"]

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """Open the event nearest to the cursor."""
        pane = message.pane
        if not isinstance(pane, LanePane) or pane.lanes is None:
            return
        event = pane.lanes.lanes.event_near(pane.point(), pane.cursor)
        if event is not None:
            self.owner.go(Spot(self._session, None, event, "event", ""))


class LaneTable(Exporting):
    """The lanes in numbers."""

    where = "text"

    def __init__(self, lanes: LaneRows) -> None:
        super().__init__()
        self._lanes = lanes

    def body(self) -> ComposeResult:
        """One pane."""
        yield Lines(id="table", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Show the numbers."""
        self.title_line()
        pane = self.query_one(Lines)
        pane.entitle(f"lanes by {self._lanes.lanes.clock}")
        pane.show(FrameRows(self._lanes.lanes.table(), columns.lane_table()))

    def crumbs(self) -> list[str]:
        """The session."""
        return [visible(self._lanes.lanes.session or "all sessions"), "lanes", "table"]
