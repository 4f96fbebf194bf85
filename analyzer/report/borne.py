"""What is borne: findings that are suppressed, with the reason of each, and those that the baseline knows."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from analyzer.findings.baseline import KNOWN
from analyzer.findings.deciding import borne
from analyzer.report.json import records

MOST = 20
"""Suppressed findings that a report for people lists; the JSON report has all."""


class Suppressed(NamedTuple):
    """One suppressed finding in short; foreign text as it is."""

    rule: str
    tool: str
    call: str
    """The session where no call is meant."""
    reason: str
    until: str


class Borne(NamedTuple):
    """How many findings are borne, and which."""

    suppressed: int
    listed: list[Suppressed]
    """The first `MOST` of them."""
    known: int
    rules: list[tuple[str, int]]
    """Of the known ones how many are of each rule."""

    @property
    def counted(self) -> list[str]:
        """The counts in words, without those of nothing."""
        counts = ((self.suppressed, "suppressed"), (self.known, "known"))
        return [f"{count} {word}" for count, word in counts if count]


def borne_of(findings: pl.DataFrame) -> Borne:
    """What is borne of FINDINGS."""
    held = findings.select("rule", "suppressed").with_row_index("row").filter(borne())
    in_baseline = pl.col("suppressed").struct.field("reason") == KNOWN
    suppressed, known = held.filter(~in_baseline), held.filter(in_baseline)
    return Borne(
        suppressed.height,
        [
            Suppressed(
                f"{row['rule']} {row['slug']}",
                row["tool"] or "",
                row["call_id"] or row["session"] or "",
                row["suppressed"]["reason"],
                row["suppressed"]["until"] or "",
            )
            for row in records(findings[suppressed["row"].head(MOST)])
        ],
        known.height,
        list(known.group_by("rule").agg(pl.len()).sort("rule").iter_rows()),
    )
