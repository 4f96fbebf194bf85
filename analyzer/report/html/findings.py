"""The findings for the page: columns of places in a pool of distinct values, so that tens of thousands stay small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.findings.worst import worst
from analyzer.report.finding import meant, origin
from analyzer.report.html.shown import LONG, POINTER, Pool
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
                *(pool.shown(row[name]) for name in _FOREIGN),
                pool.shown(row["message"], LONG),
                pool.shown(row["hint"], LONG),
                pool.spot(row["location"]),
                pool.shown(row["location"]["path"], POINTER) if row["location"] else None,
                [_failure(each, pool) for each in row["failures"]],
                _contract(row["contract"], pool),
                [
                    [pool.shown(each["role"] or "see", 40), pool.spot(each["location"])]
                    for each in row["related"]
                    if each["location"]
                ],
                {"reason": pool.shown(row["suppressed"]["reason"], LONG), "until": row["suppressed"]["until"]}
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


def _failure(failure: dict[str, Any], pool: Pool) -> dict[str, Any]:
    return {
        "member": pool.shown(meant(failure), POINTER),
        "at": pool.shown(failure["pointer"], POINTER),
        "keyword": pool.shown(failure["keyword"]),
        "schema": pool.shown(failure["schema_pointer"], POINTER),
        "expected": pool.shown(failure["expected"], 300),
        "actual": pool.shown(failure["actual"], 300),
    }


def _contract(contract: dict[str, Any] | None, pool: Pool) -> dict[str, Any] | None:
    if contract is None:
        return None
    return {
        "schema": pool.shown(contract["schema_id"]),
        "origin": origin(contract["channel"]),
        "place": pool.spot(contract) if contract["file"] is not None else None,
        "passes": pool.shown(contract["passes"]),
    }
