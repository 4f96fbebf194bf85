"""Audits made by hand, for reports that need no log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from analyzer import frames
from analyzer.summary import tally

DIGEST = "0" * 64


@dataclass(frozen=True)
class Made:
    """What reports read of an audit."""

    findings: pl.DataFrame
    summary: dict[str, Any]
    inputs: list[dict[str, Any]]
    hops: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unrecognised: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    crashed: list[tuple[str, str]] = field(default_factory=list)
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)


def finding(**changed: Any) -> dict[str, Any]:
    """One finding: an order id that breaks its pattern."""
    row: dict[str, Any] = {
        "rule": "ARG001",
        "slug": "args-schema-mismatch",
        "severity": "error",
        "confidence": "certain",
        "message": "get_order: /order_id is no order id.",
        "session": "s1",
        "turn": "t1",
        "agent": "a1",
        "call_id": "c1",
        "tool": "get_order",
        "seq": 7,
        "location": location(8, "/item/arguments"),
        "contract": {
            "schema_id": "s_1",
            "channel": "session",
            "file": "run.ndjson",
            "line": 1,
            "pointer": "/session/agent/tools/0/parameters",
            "passes": None,
        },
        "failures": [
            {
                "pointer": "/order_id",
                "path": "$['order_id']",
                "keyword": "pattern",
                "schema_pointer": "/properties/order_id/pattern",
                "expected": '"^ord_[0-9]{6}$"',
                "actual": '"all of them"',
            }
        ],
        "hint": "Look the order up first.",
        "related": [],
        "group": "g1",
        "fingerprint": "f1",
        "suppressed": None,
    }
    return row | changed


def location(line: int, pointer: str = "", file: str = "run.ndjson") -> dict[str, Any]:
    """A place in a log."""
    return {"file": file, "line": line, "offset": line * 100, "length": 90, "pointer": pointer, "path": "$"}


def audit(*rows: dict[str, Any], **changed: Any) -> Any:
    """An audit with these findings, of one input that was read in full."""
    findings = pl.DataFrame(list(rows), schema=frames.FINDINGS)
    verdicts = {"valid": 3, "invalid": 1, "unverifiable": {}, "not_applicable": 0}
    summary = {
        "sessions": 1,
        "events": 20,
        "calls": 4,
        "results": 4,
        "coverage": 1.0,
        "verdicts": verdicts | changed.pop("verdicts", {}),
        "bracketed": 0,
        "rules_not_run": [],
        "findings": tally(findings),
    }
    return Made(findings, summary | changed.pop("summary", {}), **({"inputs": [source()]} | changed))


def source(**changed: Any) -> dict[str, Any]:
    """One input."""
    row = {"path": "run.ndjson", "format": "openai-agents-api", "sha256": DIGEST, "bytes": 2_000, "records": 20}
    return row | {"unreadable": 0} | changed
