"""The contracts of a session: when each tool was offered, changed and withdrawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult

from analyzer.report.naming import bare
from analyzer.tui import columns
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.rows import FrameRows
from analyzer.tui.screens.taking import Exporting
from analyzer.tui.screens.versions import Versions
from analyzer.tui.theme import Glyphs

if TYPE_CHECKING:
    from analyzer.tui.case import Case


class Contracts(Exporting):
    """One line per tool."""

    BINDINGS = bindings("contracts")
    where = "contracts"

    def __init__(self, session: str | None, tool: str | None) -> None:
        super().__init__()
        self._session = session
        self._tool = tool

    def body(self) -> ComposeResult:
        """One pane."""
        yield Lines(id="contracts", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Read the offers."""
        self.title_line()
        pane = self.query_one("#contracts", Lines)
        pane.entitle("contracts")
        case, session, tool, glyphs = self.case, self._session, self._tool, self.owner.glyphs

        def work(stale: Callable[[], bool]) -> tuple[FrameRows, int]:
            del stale
            frame = story(case, session, glyphs)
            names = frame["tool"].to_list()
            return FrameRows(frame, columns.contracts()), names.index(tool) if tool in names else 0

        self.in_background("contracts", work, lambda found: pane.show(*found))

    def crumbs(self) -> list[str]:
        """The session."""
        return [self._session or "all sessions", "contracts"]

    def _row(self) -> dict[str, Any] | None:
        pane = self.query_one("#contracts", Lines)
        model = pane.model
        return model.record(pane.cursor) if isinstance(model, FrameRows) and model.height else None

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """Two versions side by side."""
        del message
        row = self._row()
        if row is not None:
            self.owner.push_screen(Versions(self._session, row["tool"], row["role"]))

    def action_used(self) -> None:
        """The calls under this tool."""
        from analyzer.tui.screens.calls import Calls

        row = self._row()
        if row is not None:
            self.owner.push_screen(Calls(row["tool"], None, self._session))


def story(case: Case, session: str | None, glyphs: Glyphs) -> Any:
    """One row per tool and role: its versions, and when each came into force."""
    import polars as pl

    mine = [] if session is None else [pl.col("session") == session]
    offers = case.scan("offers").filter(*mine).sort("session", "tool", "role", "since").collect()
    verdicts = case.scan("verdicts").filter(*mine, pl.col("call").is_not_null(), pl.col("result").is_null()).collect()
    invalid = dict(verdicts.filter(pl.col("verdict_is") == "invalid").group_by("tool").len().iter_rows())
    used = dict(case.scan("calls").filter(*mine).group_by("tool").len().collect().iter_rows())
    rows: list[dict[str, Any]] = []
    for (tool, role), part in offers.group_by("tool", "role", maintain_order=True):
        words, before, count = [], None, 0
        for row in part.iter_rows(named=True):
            state = (row["state"], row["schema_id"])
            if state == before and session is None:
                continue  # another session, the same contract
            count += row["state"] != "withdrawn"
            since = f"{row['session']}:{row['since']}" if session is None else str(row["since"])
            change = (
                "withdrawn"
                if row["state"] == "withdrawn"
                else f"v{count} {row['schema_id'][:10] if row['schema_id'] else 'no schema'}"
            )
            words.append(f"{since} {change}")
            before = state
        rows.append(
            {
                "tool": tool,
                "name": bare(tool),
                "role": role,
                "state": part["state"][-1],
                "versions": part["schema_id"].drop_nulls().n_unique(),
                "used": used.get(tool, 0) if role == "arguments" else None,
                "refused": invalid.get(tool, 0) if role == "arguments" else None,
                "story": f"{role}  {f' {glyphs.since} '.join(words[:20])}",
            }
        )
    schema = {
        "tool": pl.String,
        "name": pl.String,
        "role": pl.String,
        "state": pl.String,
        "versions": pl.Int64,
        "used": pl.Int64,
        "refused": pl.Int64,
        "story": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)
