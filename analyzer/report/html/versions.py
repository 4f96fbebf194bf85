"""The history of contracts for the page: each tool, its versions, and how the calls under each fared."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from analyzer.report import versions as paper
from analyzer.report.finding import origin
from analyzer.report.html.shown import POINTER, shown
from analyzer.report.naming import bare
from analyzer.visible import visible_value

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.contracts.comparison.changes import Change
    from analyzer.contracts.comparison.compare import Comparison
    from analyzer.frames import Frames
    from analyzer.report.html.calls import Calls

_MOST = 2_000  # tools
_MOST_CHANGES = 30  # of a version


def versions(audit: Audit, details: Frames, calls: Calls) -> list[dict[str, Any]]:
    """One record for each tool and role, in the order of their names."""
    if not details or "schemas" not in audit.frames:
        return []
    told: list[dict[str, Any]] = []
    for (tool, role), same in groupby(
        paper.compared({**audit.frames, **details}), key=lambda each: (each[0]["tool"], each[0]["role"])
    ):
        if len(told) == _MOST:
            break
        told.append(
            {
                "tool": shown(bare(tool)),
                "role": shown(role),
                "versions": [_version(row, found, calls) for row, found in same],
            }
        )
    return told


def _version(row: dict[str, Any], found: Comparison | None, calls: Calls) -> dict[str, Any]:
    calls.schema(row["schema_id"])
    return {
        "number": row["number"],
        "schema": shown(row["schema_id"]),
        "origin": origin(row["channel"]),
        "relation": row["relation"],
        "breaks": row["breaks"],
        "sessions": row["sessions"],
        "first": shown(row["first_session"]),
        "last": shown(row["last_session"]),
        "valid": row["valid"],
        "invalid": row["invalid"],
        "unverifiable": row["unverifiable"],
        "changes": [_change(change) for change in found.changes[:_MOST_CHANGES]] if found else [],
        "changes_left_out": max(len(found.changes) - _MOST_CHANGES, 0) if found else 0,
    }


def _change(change: Change) -> list[str | None]:
    """What, where, from what to what, and in which direction."""
    known = change.old is not None or change.new is not None
    sides = (
        ["nothing" if side is None else visible_value(side, limit=100) for side in (change.old, change.new)]
        if known
        else []
    )
    direction = None if change.direction in ("", "none") else change.direction
    return [change.kind.replace("_", " "), shown(change.pointer, POINTER), " → ".join(sides), direction]
