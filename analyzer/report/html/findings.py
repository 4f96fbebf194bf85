"""The findings for the page: columns of places in a pool of distinct values, so that tens of thousands stay small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.findings.worst import worst
from analyzer.report.finding import meant, origin, place_of
from analyzer.report.html.shown import LONG, Pool, shown
from analyzer.report.json import encoded, records
from analyzer.report.text import faults

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.report.html.calls import Calls
    from analyzer.report.html.sessions import Places

MOST = 50_000
_BLOCK = 2_000
_PLAIN = ("rule", "slug", "severity", "confidence", "group", "fingerprint")
_FOREIGN = ("session", "turn", "agent", "call_id", "tool")
_POINTER = 1_000


def table(audit: Audit, places: Places, calls: Calls) -> dict[str, Any]:
    """`columns`, `rows` of places in `pool`, `faults` (first row, times, sessions) the worst first, `left_out`."""
    findings = worst(audit.findings, MOST)
    pool = Pool()
    columns = (*_PLAIN, *_FOREIGN, "message", "hint", "place", "path", "failures", "contract", "related", "suppressed")
    rows: list[list[int | None]] = []
    for block in findings.iter_slices(_BLOCK):
        for row in records(block):
            values = [
                *(row[name] for name in _PLAIN),
                *(shown(row[name]) for name in _FOREIGN),
                shown(row["message"], LONG),
                shown(row["hint"], LONG),
                place_of(row["location"]) if row["location"] else None,
                shown(row["location"]["path"], _POINTER) if row["location"] else None,
                [_failure(each) for each in row["failures"]],
                _contract(row["contract"]),
                [
                    [shown(each["role"] or "see", 40), place_of(each["location"])]
                    for each in row["related"]
                    if each["location"]
                ],
                {"reason": shown(row["suppressed"]["reason"], LONG), "until": row["suppressed"]["until"]}
                if row["suppressed"]
                else None,
            ]
            rows.append(
                [
                    *(None if value is None else pool.place(_key(value), value) for value in values),
                    row["seq"],
                    places.of(row["session"]),
                    calls.of(row),
                ]
            )
    kinds = faults(findings).select("row", "times", "sessions")
    return {
        "columns": [*columns, "seq", "session_at", "call_at"],
        "pooled": len(columns),
        "rows": rows,
        "pool": pool.values,
        "faults": [list(kind) for kind in kinds.iter_rows()],
        "left_out": audit.findings.height - findings.height,
    }


def _key(value: Any) -> Any:
    return value if isinstance(value, str) else encoded(value)


def _failure(failure: dict[str, Any]) -> dict[str, Any]:
    return {
        "member": shown(meant(failure), _POINTER),
        "at": shown(failure["pointer"], _POINTER),
        "keyword": shown(failure["keyword"]),
        "schema": shown(failure["schema_pointer"], _POINTER),
        "expected": shown(failure["expected"], 300),
        "actual": shown(failure["actual"], 300),
    }


def _contract(contract: dict[str, Any] | None) -> dict[str, Any] | None:
    if contract is None:
        return None
    return {
        "schema": shown(contract["schema_id"]),
        "origin": origin(contract["channel"]),
        "place": place_of(contract) if contract["file"] is not None else None,
        "passes": shown(contract["passes"]),
    }
