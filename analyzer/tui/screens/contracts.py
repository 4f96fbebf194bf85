"""The contracts of a session: when each tool was offered, changed and withdrawn; two versions side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Horizontal

from analyzer.pointer import join
from analyzer.tui import columns
from analyzer.tui.jsonlines import JsonLines
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.rows import FrameRows, TextRows
from analyzer.tui.screens.taking import Exporting
from analyzer.tui.theme import Glyphs
from analyzer.visible import visible

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
        return [self._session or "all sessions", "contracts", self._tool]

    def _show(self) -> None:
        if not self._versions:
            for name in ("left", "right"):
                self.query_one(f"#{name}", JsonPane).show(
                    TextRows([[("this tool was offered without a schema", "dim")]])
                )
            return
        glyphs = self.owner.glyphs
        left, right = self._versions[self._left], self._versions[self._right]
        changes = differences(left["text"], right["text"]) if left is not right else []
        for pane, version, number, sign in (
            ("left", left, self._left, "before"),
            ("right", right, self._right, "after"),
        ):
            flagged = {where: ("warning", word) for where, word, side in changes if side in (sign, "both")}
            shown = self.query_one(f"#{pane}", JsonPane)
            model = JsonLines(version["text"].encode("utf-8", "surrogatepass"), glyphs=glyphs, flagged=flagged)
            shown.show(model, model.nearest(next(iter(flagged), "")))
            since = f"since {version['since']}" if version["since"] is not None else ""
            shown.entitle(f"v{number + 1} of {len(self._versions)} {since} · {visible(version['schema_id'][:12])}")
        words = [[(f"{word:<8} ", "warning"), (visible(where, limit=300) or '""', "key")] for where, word, _ in changes]
        if not words:
            words = [[("only one version" if left is right else "no difference", "dim")]]
        self.query_one("#changes", Lines).show(TextRows(words))

    def action_swap(self) -> None:
        """Left becomes right."""
        self._left, self._right = self._right, self._left
        self._show()

    def action_other(self, step: int) -> None:
        """Another version on the left."""
        if self._versions:
            self._left = max(0, min(len(self._versions) - 1, self._left + step))
            self._show()


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
        "role": pl.String,
        "state": pl.String,
        "versions": pl.Int64,
        "used": pl.Int64,
        "refused": pl.Int64,
        "story": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


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


def differences(before: str, after: str) -> list[tuple[str, str, str]]:
    """Where two JSON texts differ: pointer, `added`, `removed` or `changed`, and on which side it stands."""
    from deepdiff import DeepDiff

    try:
        found = DeepDiff(json.loads(before), json.loads(after), view="tree", ignore_order=False, verbose_level=1)
    except (ValueError, RecursionError):
        return []
    words = {
        "dictionary_item_added": ("added", "after"),
        "iterable_item_added": ("added", "after"),
        "dictionary_item_removed": ("removed", "before"),
        "iterable_item_removed": ("removed", "before"),
    }
    out = []
    for kind, items in found.items():
        word, side = words.get(kind, ("changed", "both"))
        out += [(join("", *item.path(output_format="list")), word, side) for item in items]
    return sorted(out)
