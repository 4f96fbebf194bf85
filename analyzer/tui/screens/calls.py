"""All calls of one tool, in every session: what passed, what did not, and what was sent."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult

from analyzer.report.naming import bare
from analyzer.tui import columns
from analyzer.tui.host import Spot
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.taking import Exporting
from analyzer.visible import visible


class Calls(Exporting):
    """A table of calls; enter opens the event."""

    BINDINGS = bindings("calls")
    where = "calls"

    def __init__(self, tool: str, call: int | None, session: str | None = None) -> None:
        super().__init__()
        self._tool = tool
        self._call = call
        self._only = session

    def body(self) -> ComposeResult:
        """One pane."""
        yield Lines(id="calls", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Read the calls with their verdicts."""
        self.title_line()
        pane = self.query_one("#calls", Lines)
        pane.entitle(f"calls of {visible(bare(self._tool), limit=60)}")
        case, tool, call, only, glyphs = self.case, self._tool, self._call, self._only, self.owner.glyphs

        def work(stale: Callable[[], bool]) -> tuple[FrameRows, int]:
            import polars as pl

            del stale
            mine = [pl.col("tool") == tool] + ([pl.col("session") == only] if only is not None else [])
            verdicts = case.scan("verdicts").filter(pl.col("role") == "arguments", pl.col("call").is_not_null())
            verdicts = verdicts.select("call", "verdict_is").unique("call", keep="first", maintain_order=True)
            frame = (
                case.scan("calls")
                .filter(*mine)
                .select("call", "session", "seq", "call_id", "outcome", "event", pl.col("text").str.slice(0, 400))
                .join(verdicts, on="call", how="left", maintain_order="left")
                .collect()
            )
            at = (frame["call"] == call).arg_max() if call is not None and frame.height else 0
            return FrameRows(frame, columns.calls(glyphs)), at or 0

        self.in_background("calls", work, lambda found: pane.show(*found))

    def crumbs(self) -> list[str]:
        """The tool."""
        return [self._only or "", "calls", bare(self._tool)]

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """Open the event of the call."""
        model = message.pane.model
        if isinstance(model, FrameRows):
            row = model.record(message.pane.cursor)
            self.owner.go(Spot(row["session"], None, row["event"], "event", ""), stay=True)
