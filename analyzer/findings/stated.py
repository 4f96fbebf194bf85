"""Findings that no rule made: what an audit has to say of itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from analyzer.findings.assemble import assemble
from analyzer.rules.hits import NAMED, NONE_NAMED
from analyzer.trace import Trace

NOT_LISTED = "findings-not-listed"
"""The slug of what is told of findings that are counted only."""


def stated(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """FINDINGS with `first_event` of rows of HITS with `rule` and `slug`; columns that a row leaves out are null."""
    found = list(rows)
    return assemble(pl.DataFrame(found, schema=NAMED) if found else NONE_NAMED, Trace())


def told(unlisted: pl.DataFrame) -> pl.DataFrame:
    """A finding for each class that is not listed whole: of its rule, severity and confidence, so that it decides."""
    rows = [
        {
            "rule": rule,
            "slug": NOT_LISTED,
            "severity": severity,
            "confidence": confidence,
            # In the name of the finding: a baseline must not take a greater number for the one it knows.
            "keyword": f"{severity} {confidence} {count}",
            "message": f"{count} more findings of {rule} ({slug}, {severity}, {confidence}) are counted, not listed.",
            "hint": "Raise the setting max_findings, or audit less at once (--session, --select), to have them listed.",
        }
        for rule, slug, severity, confidence, count in unlisted.iter_rows()
    ]
    return stated(rows)
