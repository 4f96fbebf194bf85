"""One finding on paper: the guilty members with both sides, where it stands, what it was judged by, what to do."""

from __future__ import annotations

from typing import Any

from analyzer.report.paper import Paper, Words, cells
from analyzer.visible import visible

_FAILURES = 6
_RELATED = 4


def in_full(paper: Paper, row: dict[str, Any], *, indent: int = 4) -> None:
    """Everything that the finding says. `row` is a record of the JSON report; `more` and `sessions` count repeats."""
    _title(paper, row, indent)
    inner = indent + 2
    paper.wrapped(visible(row["message"], limit=600), indent=inner)
    for failure in row["failures"][:_FAILURES]:
        _sides(paper, failure, inner)
    if len(row["failures"]) > _FAILURES:
        paper.line(f"and {len(row['failures']) - _FAILURES} more members", indent=inner)
    if row["location"] is not None:
        _labelled(paper, "at", place_of(row["location"]), inner)
    for other in row["related"][:_RELATED]:
        if other["location"] is not None:
            role = visible(other["role"] or "see", limit=40)
            _labelled(paper, role, place_of(other["location"]), inner)
    if len(row["related"]) > _RELATED:
        _labelled(paper, "", f"and {len(row['related']) - _RELATED} more places", inner)
    if row["contract"] is not None:
        _origin(paper, row["contract"], inner)
    if row["hint"]:
        paper.field("do", visible(row["hint"], limit=600), indent=inner)
    more = row.get("more") or 0
    if more > 0:
        paper.field("also", f"{more} more like it; in all in {row['sessions']} sessions", indent=inner)


def concise(paper: Paper, row: dict[str, Any], *, indent: int = 4) -> None:
    """The finding in one line, where its like has been told in full."""
    place: list[Words] = ["  at ", (place_of(row["location"]), "place")] if row["location"] else []
    _title(paper, row, indent, *place)


def place_of(location: dict[str, Any]) -> str:
    """`FILE:LINE POINTER`, as much of it as is known."""
    file = visible(location["file"] or "-", limit=1000)
    line = f":{location['line']}" if location["line"] is not None else ""
    return f"{file}{line} {visible(location['pointer'] or '', limit=300)}".rstrip()


def _title(paper: Paper, row: dict[str, Any], indent: int, *rest: Words) -> None:
    sure = "" if row["confidence"] == "certain" else f"  ({row['confidence']})"
    paper.exact(
        (row["severity"], row["severity"]), " ", (f"{row['rule']} {row['slug']}", "name"), sure, *rest, indent=indent
    )


def _sides(paper: Paper, failure: dict[str, Any], indent: int) -> None:
    """The member, then what the schema says there and what was sent: in one line, or side by side."""
    where = visible(failure["pointer"] or "", limit=200) or "(the whole)"
    keyword = visible(failure["keyword"] or "", limit=60)
    expected = f"{keyword} {visible(failure['expected'] or '', limit=300)}".strip()
    actual = visible(failure["actual"] or "", limit=300) or "nothing there"
    left: list[Words] = [("expected ", "dim"), (expected, "expected")]
    right: list[Words] = [("actual ", "dim"), (actual, "actual")]
    head: list[Words] = [("> ", "guilty"), (where, "guilty")]
    if indent + 2 + cells(where) + 2 + 9 + cells(expected) + 2 + 7 + cells(actual) <= paper.width:
        paper.exact(*head, "  ", *left, "  ", *right, indent=indent)
        return
    paper.exact(*head, indent=indent)
    paper.beside(left, right, indent=indent + 2)


def _origin(paper: Paper, contract: dict[str, Any], indent: int) -> None:
    judged = f"schema {visible(contract['schema_id'] or '?', limit=40)}"
    if contract["channel"]:
        judged += f", advertised by {visible(contract['channel'], limit=40)}"
    _labelled(paper, "judged by", judged, indent)
    if contract["file"] is not None:
        _labelled(paper, "", place_of(contract), indent)
    passes = contract["passes"]
    _labelled(
        paper,
        "",
        f"would pass another version: {visible(passes, limit=40)}" if passes else "passes no other recorded version",
        indent,
    )


def _labelled(paper: Paper, label: str, text: str, indent: int) -> None:
    paper.exact((label.ljust(9) + " ", "dim"), (text, "place"), indent=indent)
