"""Findings that no rule made: what an audit has to say of itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from analyzer.findings.assemble import assemble
from analyzer.rules.hits import NAMED, NONE_NAMED
from analyzer.trace import Trace


def stated(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """FINDINGS with `first_event` of rows of HITS with `rule` and `slug`; columns that a row leaves out are null."""
    found = list(rows)
    return assemble(pl.DataFrame(found, schema=NAMED) if found else NONE_NAMED, Trace())
