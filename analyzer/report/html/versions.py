"""The history of contracts for the page: each tool, its versions, and how the calls under each fared."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from analyzer.report import versions as paper
from analyzer.report.finding import origin
from analyzer.report.html.shown import shown

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.report.html.calls import Calls

_MOST = 2_000  # tools


def versions(audit: Audit, calls: Calls) -> list[dict[str, Any]]:
    """One record for each tool and role, in the order of their names."""
    if not {"offers", "sessions", "verdicts", "schemas"} <= audit.frames.keys():
        return []
    told: list[dict[str, Any]] = []
    for (tool, role), same in groupby(paper.records(audit), key=lambda row: (row["tool"], row["role"])):
        if len(told) == _MOST:
            break
        told.append(
            {"tool": shown(paper.bare(tool)), "role": shown(role), "versions": [_version(row, calls) for row in same]}
        )
    return told


def _version(row: dict[str, Any], calls: Calls) -> dict[str, Any]:
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
    }
