"""Ways through the workspace: to the next row of a kind, to the other screens, and back to where one was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.tui.host import Spot
from analyzer.tui.screens.parts import Part

if TYPE_CHECKING:
    import polars as pl


class Walking(Part):
    """The part of the workspace that leads elsewhere."""

    def spot(self) -> Spot:
        """Where one is."""
        row = self.row() or {}
        pane = self.focused.id if self.focused is not None and self.focused.id in ("event", "schema") else "rows"
        address = self.event_pane.address if pane == "event" else ""
        if self.on_screen == "findings":
            return Spot(self.session, row.get("index"), None, pane or "rows", address)
        return Spot(self.session, None, row.get("event"), pane or "rows", address)

    def go(self, spot: Spot) -> None:
        """Show another place of this session."""
        self.mode = "findings" if spot.finding is not None or spot.event is None else "events"
        self._wanted = spot
        self.fill_rows()
        if spot.pane == "rows":
            self.enter_pane("rows")

    # --- to the next row of a kind ---

    def _jump(self, kept: pl.Expr, step: int, nothing: str) -> None:
        import polars as pl

        table = self.table
        if table is None:
            return
        frame = table.frame if table.order is None else table.frame[table.order]
        lines = frame.select(pl.arg_where(kept)).to_series()
        lines = lines.filter(lines > self.rows.cursor) if step > 0 else lines.filter(lines < self.rows.cursor)
        if lines.is_empty():
            self.notify(nothing)
        else:
            self.rows.cursor = int(lines[0 if step > 0 else -1])

    def action_next_severity(self, severity: str, step: int) -> None:
        """The next finding of a severity, or the next event that has one."""
        import polars as pl

        if self.on_screen == "findings":
            self._jump((pl.col("severity") == severity) & ~pl.col("suppressed"), step, f"no more {severity}s this way")
        else:
            bad = self.case.findings.filter(~pl.col("suppressed"), pl.col("severity") == severity)
            self._jump(pl.col("event").is_in(self.case.events_of(bad).implode()), step, f"no more {severity}s this way")

    def action_same_call(self, step: int) -> None:
        """The next row of the same call."""
        import polars as pl

        row, shown = self.row(), self.shown
        if row is None or shown is None or not shown.call_id:
            self.notify("this row belongs to no call")
            return
        if self.on_screen == "findings":
            self._jump(pl.col("call_id") == shown.call_id, step, "no more rows of this call this way")
            return
        own = [pl.col("call_id") == shown.call_id]
        if shown.session is not None:
            own.append(pl.col("session") == shown.session)
        events = {row[name] for row in self.case.rows("calls", *own) for name in ("event", "action_event")}
        events |= {row["event"] for row in self.case.rows("results", *own)}
        self._jump(
            pl.col("event").is_in([event for event in events if event is not None]),
            step,
            "no more events of this call this way",
        )

    def action_slow(self, step: int) -> None:
        """The next event that ended a slow step; from the findings, that of the events."""
        self.with_evidence(lambda: self._slow(step))

    def _slow(self, step: int) -> None:
        import polars as pl

        slow, nothing = self.case.slow, "no more slow steps this way"
        if self.on_screen == "events":
            self._jump(pl.col("event").is_in(slow["event"].implode()), step, nothing)
            self._tell_slow((self.row() or {}).get("event"))
            return
        events = self.case.events
        if self.session is not None:
            events = events.filter(pl.col("session").cast(pl.String) == self.session)
        place = self.shown.place if self.shown is not None else None
        here = self.case.event_at(place) if place is not None else None
        at = events["event"].index_of(here) if here is not None else None
        on = events if at is None else events[at + 1 :] if step > 0 else events[:at]
        found = on.filter(pl.col("event").is_in(slow["event"].implode()))["event"]
        if found.is_empty():
            self.notify(nothing)
            return
        event = int(found[0 if step > 0 else -1])
        self.go(Spot(self.session, None, event, "rows", ""))
        self._tell_slow(event)

    def _tell_slow(self, event: int | None) -> None:
        for seconds, rank in self.case.slow.filter(event=event).select("seconds", "rank").iter_rows():
            self.notify(f"{seconds:,.1f} s since the event before, number {rank} of the slowest steps of its session")

    def action_turn(self, step: int) -> None:
        """The next row of another turn."""
        import polars as pl

        row = self.row()
        if row is not None:
            self._jump(pl.col("turn").cast(pl.String).ne_missing(row["turn"]), step, "no other turn this way")

    # --- to other screens ---

    def action_contracts(self) -> None:
        """The contracts of this session."""
        from analyzer.tui.screens.contracts import Contracts

        self.owner.push_screen(Contracts(self._session(), self.shown.tool if self.shown is not None else None))

    def action_lanes(self) -> None:
        """The lanes, full screen."""
        from analyzer.tui.screens.timeline import Timeline

        row = self.row()
        self.owner.push_screen(Timeline(self._session(), row["seq"] if row is not None else None))

    def action_repair(self) -> None:
        """The smallest edit that passes."""
        self.with_evidence(self._repair)

    def _repair(self) -> None:
        from analyzer.tui.screens.repair import Repairing

        if self.shown is None or self.shown.judged is None:
            self.notify("no schema judged this, so nothing says how it should be")
            return
        self.owner.push_screen(Repairing(self.shown))

    def action_rule(self) -> None:
        """The manual of the rule."""
        self.with_evidence(self._rule)

    def _rule(self) -> None:
        from analyzer.tui.screens.reading import Manual

        row = self.row()
        rule = (row or {}).get("rule")
        if rule:
            self.owner.push_screen(Manual(rule))
        else:
            self.notify("no rule here: this is an event")

    def action_raw(self) -> None:
        """The bytes of the record."""
        self.with_evidence(self._raw)

    def _raw(self) -> None:
        from analyzer.tui.screens.raw import Raw

        if self.shown is None or self.shown.place is None:
            self.notify("no record here")
        else:
            self.owner.push_screen(Raw(self.shown.place, self.event_pane.address))

    def action_calls(self) -> None:
        """Other calls of the tool."""
        self.with_evidence(self._calls)

    def _calls(self) -> None:
        from analyzer.tui.screens.calls import Calls

        if self.shown is None or self.shown.tool is None:
            self.notify("this row belongs to no call")
        else:
            self.owner.push_screen(Calls(self.shown.tool, self.shown.call))

    def _session(self) -> str | None:
        return self.session if self.session is not None or self.shown is None else self.shown.session
