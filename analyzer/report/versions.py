"""The timeline of contracts on paper: each version of each tool, how it stands to the one before, how calls fared."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.contracts.comparison.compare import Comparison, breaking, compare
from analyzer.contracts.versions import versions
from analyzer.report.finding import origin
from analyzer.report.naming import bare
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.frames import Frames


def records(audit: Audit) -> list[dict[str, Any]]:
    """One record a version: the columns of VERSIONS, and `relation` and `breaks` against the version before it."""
    return [row for row, _ in compared(audit.frames)]


def compared(frames: Frames) -> list[tuple[dict[str, Any], Comparison | None]]:
    """The records, each with the comparison to the version before it."""
    rows = versions(frames).to_dicts()
    texts = dict(frames["schemas"].select("schema_id", "text").iter_rows())
    told: list[Comparison | None] = [None] * len(rows)
    for row in rows:
        row["relation"] = row["breaks"] = None
    for number, (before, row) in enumerate(pairwise(rows), 1):
        if (before["tool"], before["role"]) == (row["tool"], row["role"]):
            found = compare(*(msgspec.json.decode(texts[each["schema_id"]]) for each in (before, row)))
            row["relation"], row["breaks"] = found.relation, breaking(found, role=row["role"]).verdict
            told[number] = found
    return list(zip(rows, told, strict=True))


def told(paper: Paper, audit: Audit) -> None:
    """The timeline, by tool and role."""
    rows = records(audit)
    if not rows:
        paper.line("no schema is recorded or given")
    for (tool, role), same in groupby(rows, key=lambda row: (row["tool"], row["role"])):
        paper.blank()
        paper.line((visible(bare(tool)), "head"), f"  {role}")
        for row in same:
            head: list[Words] = [f"@{row['number']}  ", visible(row["schema_id"])]
            paper.line(*head, ("  " + _relation(row), "warning" if row["breaks"] == "breaking" else "dim"), indent=2)
            paper.wrapped(origin(row["channel"]), f"; {_sessions(row)}", indent=6, hang=2)
            paper.wrapped(_fared(row), indent=6, hang=2)


def _relation(row: dict[str, Any]) -> str:
    if row["relation"] is None:
        return ""
    breaks = {"breaking": ", breaking", "none": ", safe", "unknown": ", may break"}[row["breaks"]]
    return f"{row['relation']} than before{breaks}" if row["relation"].endswith("er") else f"{row['relation']}{breaks}"


def _sessions(row: dict[str, Any]) -> str:
    first, last = visible(row["first_session"] or "-"), visible(row["last_session"] or "-")
    return f"only in {first}" if row["sessions"] == 1 else f"{row['sessions']} sessions, {first} to {last}"


def _fared(row: dict[str, Any]) -> str:
    if not row["calls"]:
        return "nothing was judged by it"
    counts = [f"{row[name]} {name}" for name in ("valid", "invalid", "unverifiable") if row[name]]
    noun = "payload" if row["calls"] == 1 else "payloads"
    return f"{row['calls']} {noun}: {', '.join(counts)}"
