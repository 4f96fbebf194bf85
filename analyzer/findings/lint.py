"""The rules about advertised tools, on schema files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from analyzer.contracts.sheet import trace_of
from analyzer.errors import ContractFileError
from analyzer.findings.assemble import assemble
from analyzer.findings.precedence import settle
from analyzer.rules.catalogue import RULES
from analyzer.rules.engine import run
from analyzer.trace import Settings


def lint(
    paths: Sequence[Path], settings: Settings | None = None
) -> tuple[pl.DataFrame, list[ContractFileError], list[tuple[str, str]]]:
    """FINDINGS of the TOOL rules on files and folders, what could not be read, and the rules that crashed."""
    trace, problems = trace_of(paths, settings)
    hits, crashes = run([rule for rule in RULES if rule.code.startswith("TOOL")], trace)
    found = assemble(settle(hits), trace).drop("first_event")
    # A file is no session.
    found = found.with_columns(session=pl.lit(None, pl.String), seq=pl.lit(None, pl.Int64))
    return found, problems, [(crash.rule.code, crash.error) for crash in crashes]
