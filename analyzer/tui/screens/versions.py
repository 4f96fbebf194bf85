"""Two versions of a contract side by side: what differs, and whom it breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import ComposeResult
from textual.containers import Horizontal

from analyzer.report.naming import bare
from analyzer.tui.jsonlines import JsonLines
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.rows import Span, TextRows
from analyzer.tui.screens.taking import Exporting
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case


class Versions(Exporting):
    """An older version left, a newer one right, the differences marked in both."""

    BINDINGS = bindings("versions")
    where = "versions"
    DEFAULT_CSS = """
    Versions Horizontal Lines { width: 1fr; }
    Versions #changes { height: 10; }
    """

    def __init__(self, session: str | None, tool: str, role: str) -> None:
        super().__init__()
        self._session = session
        self._tool = tool
        self._role = role
        self._versions: list[dict[str, Any]] = []
        self._left, self._right = 0, 0

    def body(self) -> ComposeResult:
        """Two documents, and what differs."""
        with Horizontal():
            yield JsonPane(id="left", glyphs=self.owner.glyphs)
            yield JsonPane(id="right", glyphs=self.owner.glyphs)
        yield Lines(id="changes", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Read the versions."""
        self.title_line()
        self.query_one("#changes", Lines).entitle("what differs")
        case, session, tool, role = self.case, self._session, self._tool, self._role

        def work(stale: Callable[[], bool]) -> list[dict[str, Any]]:
            del stale
            return versions(case, session, tool, role)

        def then(found: list[dict[str, Any]]) -> None:
            self._versions = found
            self._right = max(0, len(found) - 1)
            self._left = max(0, len(found) - 2)
            self._show()

        self.in_background("versions", work, then)

    def crumbs(self) -> list[str]:
        """The tool."""
        return [self._session or "all sessions", "contracts", bare(self._tool)]

    def _show(self) -> None:
        if not self._versions:
            for name in ("left", "right"):
                self.query_one(f"#{name}", JsonPane).show(
                    TextRows([[("this tool was offered without a schema", "dim")]])
                )
            return
        left, right, role = self._versions[self._left], self._versions[self._right], self._role

        def work(stale: Callable[[], bool]) -> Compared:
            del stale
            return compared(left["text"], right["text"], role)

        if left is right:
            self._compared(Compared([], [("only one version", "dim")]))
        else:
            self.in_background("differences", work, self._compared)

    def _compared(self, found: Compared) -> None:
        for name, number, sign in (("left", self._left, "before"), ("right", self._right, "after")):
            version = self._versions[number]
            flagged = {where: ("warning", word) for where, word, side in found.changes if side in (sign, "both")}
            pane = self.query_one(f"#{name}", JsonPane)
            raw = version["text"].encode("utf-8", "surrogatepass")
            model = JsonLines(raw, glyphs=self.owner.glyphs, flagged=flagged)
            pane.show(model, model.nearest(next(iter(flagged), "")))
            since = f"since {version['since']}" if version["since"] is not None else ""
            pane.entitle(f"v{number + 1} of {len(self._versions)} {since} · {visible(version['schema_id'][:12])}")
        words = [
            [(f"{word:<8} ", "warning"), (visible(where, limit=300) or '""', "key")] for where, word, _ in found.changes
        ]
        self.query_one("#changes", Lines).show(TextRows([*([line] for line in found.told), *words]))

    def action_swap(self) -> None:
        """Left becomes right."""
        self._left, self._right = self._right, self._left
        self._show()

    def action_other(self, step: int) -> None:
        """Another version on the left."""
        if self._versions:
            self._left = max(0, min(len(self._versions) - 1, self._left + step))
            self._show()


def versions(case: Case, session: str | None, tool: str, role: str) -> list[dict[str, Any]]:
    """The schemas of a tool in the order in which they came, with their texts; what contract files say comes last."""
    import polars as pl

    mine = [] if session is None else [pl.col("session") == session]
    offers = case.rows(
        "offers", pl.col("tool") == tool, pl.col("role") == role, pl.col("schema_id").is_not_null(), *mine
    )
    out: dict[str, dict[str, Any]] = {}
    for row in sorted(offers, key=lambda row: (row["session"] or "", row["since"] or 0)):
        out.setdefault(row["schema_id"], {"schema_id": row["schema_id"], "since": row["since"]})
    judged = case.rows(
        "verdicts", pl.col("tool") == tool, pl.col("role") == role, pl.col("schema_id").is_not_null(), *mine
    )
    for row in judged:
        out.setdefault(row["schema_id"], {"schema_id": row["schema_id"], "since": None})
    for row in case.rows("schemas", pl.col("schema_id").is_in(list(out))):
        out[row["schema_id"]]["text"] = row["text"]
    return [version for version in out.values() if version.get("text")]


class Compared(NamedTuple):
    """Where two schemas differ (pointer, `added`, `removed` or `changed`, on which side), and what that means."""

    changes: list[tuple[str, str, str]]
    told: list[Span]


def compared(left: str, right: str, role: str) -> Compared:
    """How the schema on the right stands to the one on the left, and whom the change breaks."""
    import msgspec

    from analyzer.contracts.comparison.compare import breaking, compare, structural_difference

    try:
        before, after = msgspec.json.decode(left), msgspec.json.decode(right)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Compared([], [(f"they cannot be compared: {visible(str(error), limit=200)}", "warning")])
    stands = compare(before, after)
    breaks = breaking(stands, role="arguments" if role == "arguments" else "output")
    relation = {
        "equal": "the right one accepts the same values",
        "wider": "the right one is wider",
        "narrower": "the right one is narrower",
        "incomparable": "each accepts values that the other refuses",
        "unknown": "which of them accepts more is not decided",
    }[stands.relation]
    style = {"breaking": "error", "none": "good", "unknown": "warning"}[breaks.verdict]
    changes = []
    for each in structural_difference(before, after):
        word = each.change.removeprefix("item_")
        side = {"added": "after", "removed": "before"}.get(word, "both")
        changes.append((each.pointer, word if side != "both" else "changed", side))
    return Compared(changes, [(f"{relation}; {visible(breaks.reason, limit=200)}", style)])
