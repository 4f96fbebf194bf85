"""One finding on paper: the guilty members with both sides, where it stands, what it was judged by, what to do."""

from __future__ import annotations

import json
from typing import Any

from analyzer import pointer as pointers
from analyzer.report.paper import Paper, Words, cells
from analyzer.visible import visible

_FAILURES = 6
_RELATED = 4
_LABEL = 9
_EXTRA = ("additionalProperties", "unevaluatedProperties")
CHANNELS = {
    "session": "advertised in the session's table",
    "update": "advertised by an update",
    "create": "advertised when the session was made",
    "request": "advertised in the request",
    "search": "returned by tool search",
    "listing": "listed by the server",
    "registry": "registered by the host",
    "contract": "given by a contract file",
    "code": "made of the executed code",
}


def in_full(paper: Paper, row: dict[str, Any], *, indent: int = 4, sides: bool = True) -> None:
    """Everything that the finding says. `row` is a record of the JSON report; `more` and `sessions` count repeats.

    Without `sides` the failing members and the schema are left out, where they have just been told.
    """
    _title(paper, row, indent)
    inner = indent + 2
    paper.wrapped(visible(row["message"], limit=600), indent=inner)
    if sides:
        for failure in row["failures"][:_FAILURES]:
            _sides(paper, failure, inner)
        if len(row["failures"]) > _FAILURES:
            paper.line(f"and {len(row['failures']) - _FAILURES} more members", indent=inner)
    others = [other for other in row["related"] if other["location"] is not None]
    roles = [visible(other["role"] or "see", limit=30) for other in others[:_RELATED]]
    labels = max([_LABEL, *map(cells, roles)]) + 1
    if row["location"] is not None:
        labelled(paper, "at", place_of(row["location"]), inner, labels)
    for role, other in zip(roles, others, strict=False):
        labelled(paper, role, place_of(other["location"]), inner, labels)
    if len(others) > _RELATED:
        labelled(paper, "", f"and {len(others) - _RELATED} more places", inner, labels)
    if sides and row["contract"] is not None:
        _origin(paper, row["contract"], inner, labels, passing=bool(row["failures"]))
    if row.get("suppressed"):
        borne = row["suppressed"]
        until = f" (until {visible(borne['until'], limit=20)})" if borne["until"] else ""
        paper.field("suppressed", f"{visible(borne['reason'], limit=200)}{until}", indent=inner, labels=labels + 2)
    if row["hint"]:
        paper.field("do", visible(row["hint"], limit=600), indent=inner, labels=labels)
    more = row.get("more") or 0
    if more > 0:
        spread = f", in {row['sessions']} sessions in all" if row["sessions"] > 1 else ""
        paper.field("also", f"{more} more like it{spread}", indent=inner, labels=labels)


def concise(paper: Paper, row: dict[str, Any], *, indent: int = 4, message: bool = False) -> None:
    """The finding in one line, where its like has been told in full; its own words where they are others."""
    place: list[Words] = ["  at ", (place_of(row["location"]), "place")] if row["location"] else []
    _title(paper, row, indent, *place)
    if message:
        paper.wrapped(visible(row["message"], limit=400), indent=indent + 2)


def place_of(location: dict[str, Any]) -> str:
    """`FILE:LINE POINTER`, as much of it as is known."""
    file = visible(location["file"] or "-", limit=1000)
    line = f":{location['line']}" if location["line"] is not None else ""
    return f"{file}{line} {visible(location['pointer'] or '', limit=300)}".rstrip()


def meant(failure: dict[str, Any]) -> str:
    """The pointer of the guilty member: the extra or the absent one, else the failing place; empty for the whole."""
    here, keyword = failure["pointer"] or "", failure["keyword"]
    try:
        if keyword in ("required", "dependentRequired"):
            names = [json.loads(failure["expected"])]
        elif keyword in _EXTRA:
            names = list(json.loads(failure["actual"]))
        else:
            return here
    except (TypeError, ValueError, RecursionError):  # a side that was cut is not JSON any more
        return here
    return ", ".join(pointers.join(here, name) for name in names)


def labelled(paper: Paper, label: str, text: str, indent: int, labels: int = _LABEL + 1) -> None:
    """A label and a place, in one line however long: places are copied."""
    paper.exact((label.ljust(labels), "dim"), (text, "place"), indent=indent)


def passes(version: str | None) -> str:
    """Whether another version of the tool would have let the payload pass."""
    return (
        f"would pass another version: {visible(version, limit=40)}" if version else "passes no other recorded version"
    )


def origin(channel: str | None) -> str:
    """Who said that this schema is in force."""
    return CHANNELS.get(channel or "contract", f"from {visible(channel or '', limit=40)}")


def _title(paper: Paper, row: dict[str, Any], indent: int, *rest: Words) -> None:
    sure = "" if row["confidence"] == "certain" else f"  ({row['confidence']})"
    rule = (f"{row['rule']} {row['slug']}", "name")
    paper.exact((row["severity"], row["severity"]), " ", rule, sure, *rest, indent=indent)


def _sides(paper: Paper, failure: dict[str, Any], indent: int) -> None:
    """The member, then what the schema says there and what was sent: in one line, or side by side."""
    where = visible(meant(failure), limit=200) or "(root)"
    keyword = visible(failure["keyword"] or "", limit=60)
    expected = f"{keyword} {visible(failure['expected'] or '', limit=300)}".strip()
    actual = visible(failure["actual"] or "", limit=300) or "nothing there"
    left: list[Words] = [("expected ", "dim"), (expected, "expected")]
    right: list[Words] = [("actual ", "dim"), (actual, "actual")]
    head: list[Words] = [("> ", "guilty"), (where, "guilty")]
    if indent + 2 + cells(where) + 2 + 9 + cells(expected) + 2 + 7 + cells(actual) <= paper.width:
        paper.exact(*head, "  ", *left, "  ", *right, indent=indent)
        return
    paper.line(*head, indent=indent)
    paper.beside(left, right, indent=indent + 2)


def _origin(paper: Paper, contract: dict[str, Any], indent: int, labels: int, *, passing: bool) -> None:
    judged = f"schema {visible(contract['schema_id'] or '?', limit=40)}, {origin(contract['channel'])}"
    paper.field("judged by", (judged, "place"), indent=indent, labels=labels)
    if contract["file"] is not None:
        labelled(paper, "", place_of(contract), indent, labels)
    if passing:
        labelled(paper, "", passes(contract["passes"]), indent, labels)
