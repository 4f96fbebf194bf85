"""The findings that a viewer with a limit should have: the worst, and one of each fault before its repeats."""

from __future__ import annotations

import polars as pl

from analyzer.findings.deciding import borne

_RANKS = {"severity": ("error", "warning", "info"), "confidence": ("certain", "likely", "hint")}


def worst(findings: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most so many FINDINGS, in the order of the report."""
    if findings.height <= most:
        return findings
    severity, confidence = (
        pl.col(name).replace_strict({each: n for n, each in enumerate(order)}, default=len(order))
        for name, order in _RANKS.items()
    )
    nth = pl.int_range(pl.len()).over("group")
    narrow = findings.select("severity", "confidence", "group", "suppressed").with_row_index("row")
    return findings[narrow.sort(borne(), severity, nth, confidence, "row")["row"].head(most).sort()]
