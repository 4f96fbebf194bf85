"""The smallest valid neighbour of a payload: what would have passed, edit by edit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult

from analyzer import pointer
from analyzer.masking import masked
from analyzer.tui.keys import bindings
from analyzer.tui.lines import Lines
from analyzer.tui.rows import Span, TextRows
from analyzer.tui.screens.taking import Exporting
from analyzer.tui.theme import Glyphs
from analyzer.visible import visible, visible_lines, visible_value

if TYPE_CHECKING:
    from analyzer.contracts.repairs.repair import Repair
    from analyzer.tui.evidence import Shown

_MOST_LINES = 2_000


class Repairing(Exporting):
    """Edits above, the whole valid payload below; enter leads to other calls of the tool."""

    BINDINGS = bindings("repair")
    where = "repair"

    def __init__(self, shown: Shown) -> None:
        super().__init__()
        self._shown = shown

    def body(self) -> ComposeResult:
        """One pane."""
        yield Lines(id="repair", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Search in the background."""
        self.title_line()
        pane = self.query_one("#repair", Lines)
        pane.entitle("repair")
        pane.show(TextRows([[("searching for the smallest edit that passes", "dim")]]))
        shown, glyphs = self._shown, self.owner.glyphs
        case = self.case

        def work(stale: Callable[[], bool]) -> list[list[Span]]:
            del stale
            from analyzer.contracts.repairs.repair import repair

            payload = payload_of(shown, case)
            if payload is _NOTHING or shown.judged is None:
                return [[("the payload is not to be had, so there is nothing to repair", "warning")]]
            return lines_of(payload, repair(json.loads(shown.judged.raw), payload), shown, glyphs)

        self.in_background("repair", work, lambda lines: pane.show(TextRows(lines)))

    def crumbs(self) -> list[str]:
        """Session, call, repair."""
        return [self._shown.session or "", self._shown.call_id or "", "repair"]

    def on_lines_entered(self, message: Lines.Entered) -> None:
        """On to other calls of the tool."""
        from analyzer.tui.screens.calls import Calls

        del message
        if self._shown.tool is not None:
            self.owner.push_screen(Calls(self._shown.tool, self._shown.call))


_NOTHING = object()


def payload_of(shown: Shown, case: Any) -> Any:
    """The value that was judged: the call's own text, or what the finding points to."""
    import polars as pl

    from analyzer.tui.query import decode

    finding = shown.finding
    base = ((finding or {}).get("location") or {}).get("pointer") or ""
    value: Any = _NOTHING
    if shown.model is not None:
        try:
            value = pointer.resolve(decode(shown.raw), base)
        except LookupError:
            value = _NOTHING
    calls = case.rows("calls", pl.col("call") == shown.call) if shown.call is not None else []
    if finding is None or value is _NOTHING:
        text = calls[0]["text"] if calls else None
        value = text if text is not None else value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def lines_of(payload: Any, found: Repair | None, shown: Shown, glyphs: Glyphs) -> list[list[Span]]:
    """The edits as - and + lines with the keyword beside each, then the payload that passes."""
    schema = visible(shown.judged.schema_id[:12]) if shown.judged is not None else ""
    if found is None:
        return [
            [(f"{glyphs.error} no edit was found that makes this valid against {schema}", "error")],
            [("the search is bounded; a schema that nothing satisfies has no repair at all", "dim")],
            *_pretty(payload, " "),
        ]
    from analyzer.contracts.repairs.edits import shown as hidden

    count = len(found.edits)
    if not count:
        return [[(f"{glyphs.valid} this is valid against {schema} as it stands", "good")], *_pretty(payload, " ")]
    lines: list[list[Span]] = [
        [
            (f"{count} {'edit makes' if count == 1 else 'edits make'} this valid against {schema}   ", ""),
            (f"{glyphs.valid} checked", "good"),
        ],
        [("One smallest valid neighbour. It is not a guess at what was meant.", "dim")],
        [("", "")],
    ]
    for edit in (hidden(each, payload) for each in found.edits):
        place, why = visible(edit.pointer or "(root)", limit=60), visible(edit.why, limit=100)
        if edit.op in ("replace", "remove", "rename"):
            lines.append([("- ", "error"), (f"{place:<28} ", "key"), (visible_value(edit.before, limit=100), "error")])
        if edit.op in ("replace", "add", "rename"):
            lines.append([("+ ", "info"), (f"{place:<28} ", "key"), (visible_value(edit.after, limit=100), "info")])
        lines.append([("  ", ""), (why, "dim")])
    return [*lines, [("", "")], [("the payload that passes", "title")], *_pretty(found.payload, "+")]


def _pretty(value: Any, sign: str) -> list[list[Span]]:
    try:
        text = json.dumps(masked(value), indent=2, ensure_ascii=False)
    except (RecursionError, ValueError):
        text = visible_value(value, limit=2_000)
    return [[(f"{sign} {line}", "")] for line in visible_lines(text).split("\n")[:_MOST_LINES]]
