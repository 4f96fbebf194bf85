"""Baselines: findings that were there before do not decide, and nothing that was judged before may go unjudged.

A baseline counts the findings of each `group`, which is the same fault in any session, so that it holds for tomorrow's
log: as many as were counted are known, one more is new. It is a ratchet. Besides new findings it tells what was judged
when it was written and is not now: a rule without anything to look at, a hop that went dark, a coverage that fell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analyzer.errors import ConfigurationError
from analyzer.findings.deciding import borne
from analyzer.frames import FINDINGS
from analyzer.masking import masked

SCHEMA = "analyzer.baseline/v1"
KNOWN = "known: in the baseline"
"""The reason of a finding that the baseline holds; unlike a suppression it has no day on which it ends."""
_NONE = f"not a baseline ({SCHEMA})"
_ADVICE = "write one with --write-baseline"


@dataclass(frozen=True)
class Baseline:
    """What an earlier audit found, and what it could judge."""

    groups: Mapping[str, int]
    """How many findings of each group there were."""
    coverage: float | None
    ran: frozenset[str]
    """Codes of the rules that had something to look at."""
    hops: frozenset[str]
    """Places of the way at which something was judged."""

    def mark(self, findings: pl.DataFrame) -> pl.DataFrame:
        """FINDINGS with the known ones marked: of each group the first, as many as were counted."""
        counts = pl.DataFrame(list(self.groups.items()), schema={"group": pl.String, "known": pl.Int64}, orient="row")
        nth = pl.int_range(pl.len()).over("group", "_borne")
        value = pl.struct(reason=pl.lit(KNOWN), until=pl.lit(None, pl.String)).cast(FINDINGS["suppressed"])
        marked = (
            findings.select("group", "suppressed", _borne=borne())
            .with_columns(_nth=nth)
            .join(counts, on="group", how="left", maintain_order="left")
            .select(
                pl.when(~pl.col("_borne") & (pl.col("_nth") < pl.col("known").fill_null(0)))
                .then(value)
                .otherwise("suppressed")
                .alias("suppressed")
            )
        )
        return findings.with_columns(marked.to_series())

    def lost(self, summary: Mapping[str, Any], hops: Sequence[Mapping[str, Any]], ran: Sequence[str]) -> list[str]:
        """What was judged when the baseline was written, and is not now: a sentence each."""
        told = []
        coverage = summary["coverage"]
        if self.coverage is not None and (coverage is None or coverage < self.coverage):
            now = "nothing is owed a verdict" if coverage is None else f"it is {coverage:.4f}"
            told.append(f"the coverage was {self.coverage:.4f} in the baseline, and {now}")
        reasons = {each["rule"]: each["reason"] for each in summary["rules_not_run"]}
        told += [
            f"{rule} ran in the baseline, and did not now: {reasons.get(rule, 'it was not selected')}"
            for rule in sorted(self.ran - set(ran))
        ]
        told += [
            f"{hop['hop']}: some were judged in the baseline, and now none of {hop['seen']}"
            for hop in hops
            if hop["hop"] in self.hops and hop["seen"] and not hop["judged"]
        ]
        return told

    def gone(self, findings: pl.DataFrame) -> int:
        """How many findings of the baseline are there no more."""
        now = dict(findings.filter(_counted()).group_by("group").agg(pl.len()).iter_rows())
        return sum(max(count - now.get(group, 0), 0) for group, count in self.groups.items())


def document(
    findings: pl.DataFrame, summary: Mapping[str, Any], hops: Sequence[Mapping[str, Any]], ran: Sequence[str]
) -> bytes:
    """The baseline of an audit as JSON, one group a line, to be kept beside the code and read in its history.

    Suppressed findings are not in it: they come back when their suppression ends.
    """
    head = {
        "schema": SCHEMA,
        "coverage": summary["coverage"],
        "ran": sorted(ran),
        "hops": [hop["hop"] for hop in hops if hop["judged"]],
    }
    rows = (
        findings.filter(_counted())
        .group_by("group")
        .agg(pl.col("rule", "tool").first(), count=pl.len())
        .sort("rule", "tool", "group")
        .select("rule", "tool", "group", "count")
    )
    lines = ",\n".join(json.dumps(masked(row)) for row in rows.iter_rows(named=True))
    return (json.dumps(head)[:-1] + ', "groups": [\n' + lines + "\n]}\n").encode()


def load(file: str) -> Baseline:
    """Read a baseline. Raises ConfigurationError where the file is none."""
    try:
        held = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the baseline: {error.strerror or error}", file=file, advice=_ADVICE
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError("the baseline is not JSON", file=file, advice=_ADVICE) from error
    try:
        schema = held["schema"]
        groups = {str(each["group"]): int(each["count"]) for each in held["groups"]}
        coverage = None if held["coverage"] is None else float(held["coverage"])
        found = Baseline(groups, coverage, frozenset(map(str, held["ran"])), frozenset(map(str, held["hops"])))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(_NONE, file=file, advice=_ADVICE) from error
    if schema != SCHEMA:
        raise ConfigurationError(_NONE, file=file, advice=_ADVICE)
    return found


def _counted() -> pl.Expr:
    return ~borne() | (pl.col("suppressed").struct.field("reason") == KNOWN).fill_null(value=False)
