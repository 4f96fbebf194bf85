"""Run the rules: hits of all of them in one frame; a rule that crashes is reported, and the others still run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from analyzer.frames import HITS
from analyzer.rules.catalogue import Rule
from analyzer.rules.hits import NONE_NAMED
from analyzer.trace import Trace

# Whatever a rule breaks with, the others must run; a panic inside Polars is no Exception.
_BROKEN = (Exception, pl.exceptions.PanicException)


class Crash(NamedTuple):
    """A rule that broke: our own fault, never the log's."""

    rule: Rule
    error: str


def run(rules: Sequence[Rule], trace: Trace, *, across: bool = False) -> tuple[pl.DataFrame, list[Crash]]:
    """HITS with `rule` (the code), `slug` and the rule's defaults filled in, and the rules that crashed."""
    found: list[pl.DataFrame] = []
    crashes: list[Crash] = []
    for rule in rules:
        if not across and rule.looks_at and not any(map(trace.holds, rule.looks_at)):
            continue
        try:
            hits = (rule.check_across if across else rule.check)(trace)
            # Nearly all rules find nothing, and to dress nothing up costs as much as to find it.
            if hits.height or not set(hits.columns) <= HITS.keys():
                found.append(complete(rule, hits))
        except _BROKEN as error:
            crashes.append(Crash(rule, f"{type(error).__name__}: {error}"))
    return pl.concat(found) if found else NONE_NAMED, crashes


def complete(rule: Rule, hits: pl.DataFrame) -> pl.DataFrame:
    """The rule's hits with every column of HITS, and what `run` adds."""
    known = set(hits.columns)
    strangers = known - set(HITS)
    if strangers:
        message = f"columns that HITS does not have: {sorted(strangers)}"
        raise ValueError(message)
    columns = [
        (pl.col(name).cast(dtype) if name in known else pl.lit(None, dtype).alias(name)) for name, dtype in HITS.items()
    ]
    return hits.select(pl.lit(rule.code).alias("rule"), pl.lit(rule.slug).alias("slug"), *columns).with_columns(
        pl.col("severity").fill_null(rule.severity), pl.col("confidence").fill_null(rule.confidence)
    )
