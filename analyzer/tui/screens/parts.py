"""What the parts of the workspace have in common: its panes, what is on the screen, and what the others can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.place import Place
from analyzer.tui.screens.querybar import QueryBar

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.evidence import Shown
    from analyzer.tui.host import Spot


class Part(Place):
    """A part of the workspace; only all of them together are a screen."""

    session: str | None
    mode: str  # findings or events
    on_screen: str  # what the rows are: they follow the mode when they are filtered
    texts: dict[str, str]  # the filters, by mode
    only: pl.DataFrame | None  # session and seq of the hits that rows are kept to
    shown: Shown | None
    _wanted: Spot | None
    _looking = True  # the evidence of the row under the cursor is still under way

    if TYPE_CHECKING:  # what one part does for the others

        def fill_rows(self) -> None: ...  # noqa: D102 - the workspace says
        def enter_pane(self, name: str) -> None: ...  # noqa: D102 - the workspace says
        def unzoom(self) -> None: ...  # noqa: D102 - the workspace says
        def with_evidence(self, act: Callable[[], None]) -> None: ...  # noqa: D102 - Proving says
        def open_query(self, text: str | None, scope: int | None) -> None: ...  # noqa: D102 - Querying says
        def _keep_hits(self) -> None: ...
        def _look(self, wanted: Spot | None = None, *, whole: bool = False) -> None: ...
        def spot(self) -> Spot: ...  # noqa: D102 - Walking says
        def go(self, spot: Spot) -> None: ...  # noqa: D102 - Walking says

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
