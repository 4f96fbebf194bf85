"""The query bar of the workspace, and its hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from analyzer.tui import columns
from analyzer.tui.host import Spot
from analyzer.tui.lines import Lines
from analyzer.tui.rows import FrameRows, TextRows
from analyzer.tui.screens.parts import Part
from analyzer.tui.screens.querybar import NARROW, QueryBar

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.case import Case
    from analyzer.tui.query import Query
    from analyzer.tui.searching import Found


class Querying(Part):
    """The part of the workspace that asks the events."""

    _searching = False

    def action_query(self) -> None:
        """Open the query bar."""
        self.open_query(None, None)

    def open_query(self, text: str | None, scope: int | None) -> None:
        """Open the query bar with an expression."""
        self.unzoom()
        self.owner.clear_notifications()  # they would cover it
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
        """On to the hits; once it is known that there are none, back to the expression."""
        if self._searching or self.query_one("#hits", Lines).model.height:
            self.enter_pane("hits")

    def on_query_bar_run(self, message: QueryBar.Run) -> None:
        """Run an expression over its scope in the background; hits appear as they come."""
        hits = self.query_one("#hits", Lines)
        self._searching = message.query is not None
        self.cancel("query")
        if message.query is None:
            hits.show(TextRows([]))
            return
        self.bar.state("searching")
        if self._looking and message.scope in NARROW:
            return  # the event is on its way, and runs it again
        query, case, shown, scope = message.query, self.case, self.shown, message.scope
        prefix = self.event_pane.path if scope == "this node" else "$"
        address = self.event_pane.address if scope == "this node" else ""
        session = self.session or (shown.session if shown is not None else None)
        seq = shown.place.seq if shown is not None and shown.place is not None else None
        table, mode = self.table, self.on_screen
        raw = shown.model.raw if shown is not None and shown.model is not None else b""

        def post(found: Found) -> None:
            self.owner.post(lambda: self._hits(found, query))

        def work(stale: Callable[[], bool]) -> Found | None:
            from analyzer import pointer
            from analyzer.tui import searching
            from analyzer.tui.query import decode

            if scope in NARROW:
                try:
                    value = pointer.resolve(decode(raw), address)
                except LookupError:
                    return searching.Found([], "not JSON")
                return searching.over_value(query, value, prefix, session=session, seq=seq)
            events = _events(case, session if scope == "this session" else None, table, mode)
            searching.over_events(query, case, events, lambda found: None if stale() else post(found), stale)
            return None

        def then(result: Found | None) -> None:
            if result is not None:
                self._hits(result, query)
            self._searching = False
            if not hits.model.height and hits.has_focus:
                self.bar.field.focus()

        self.in_background("query", work, then)

    def _hits(self, found: Found, query: Query) -> None:
        import polars as pl

        if not self.bar.is_open:
            return
        schema = {"event": pl.Int64, "session": pl.String, "seq": pl.Int64, "path": pl.String, "value": pl.String}
        pane = self.query_one("#hits", Lines)
        hits = found.hits
        pane.show(FrameRows(pl.DataFrame(hits, schema=schema, orient="row"), columns.hits()), pane.cursor)
        pane.entitle(f"hits · {query.language}")
        words = f"{len(hits):,} {'match' if len(hits) == 1 else 'matches'}"
        self.bar.state(f"{words} · {found.state} " if found.state else f"{words} ")
        self.bar.explain(found.reason)

    def _hit(self) -> dict[str, Any] | None:
        pane = self.query_one("#hits", Lines)
        model = pane.model
        return model.record(pane.cursor) if isinstance(model, FrameRows) and model.height else None

    def _to_hit(self) -> None:
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
        if not isinstance(model, FrameRows) or not model.height or model.frame["event"].null_count():
            self.notify("these hits are all in one event; choose a wider scope with ctrl+s")
            return
        self.only = model.frame.select("session", "seq").unique(maintain_order=True)
        self.fill_rows()
        self.enter_pane("rows")


def _events(case: Case, session: str | None, table: FrameRows | None, mode: str) -> pl.Series | None:
    """The events of a session, or else of all rows that are shown; None: all there are."""
    import polars as pl

    if session is not None:
        return case.events.filter(pl.col("session").cast(pl.String) == session)["event"]
    if table is None:
        return None
    frame = table.frame if table.order is None else table.frame[table.order]
    events = frame["event"] if mode == "events" else case.events_of(frame)
    return events if events.len() < case.events.height else None
