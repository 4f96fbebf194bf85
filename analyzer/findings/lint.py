"""The rules about advertised tools, on schema files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from analyzer.contracts.files import line_of
from analyzer.contracts.sheet import trace_of
from analyzer.errors import ContractFileError
from analyzer.findings.assemble import assemble
from analyzer.findings.precedence import settle
from analyzer.rules.catalogue import RULES
from analyzer.rules.engine import run
from analyzer.trace import Settings


class Linted(NamedTuple):
    """FINDINGS of the TOOL rules, what could not be read, the rules that crashed, and how many schemas there were."""

    found: pl.DataFrame
    problems: list[ContractFileError]
    crashed: list[tuple[str, str]]
    schemas: int


def lint(paths: Sequence[Path], settings: Settings | None = None, *, meant: Collection[str] = ()) -> Linted:
    """What the TOOL rules say of files and folders; those that are `meant` hold schemas, whatever they look like."""
    trace, problems = trace_of(paths, settings, meant=meant)
    hits, crashes = run([rule for rule in RULES if rule.code.startswith("TOOL")], trace)
    found = assemble(settle(hits), trace).drop("first_event")
    # A file is no session.
    found = found.with_columns(session=pl.lit(None, pl.String), seq=pl.lit(None, pl.Int64))
    crashed = [(crash.rule.code, crash.error) for crash in crashes]
    return Linted(_on_their_lines(found), problems, crashed, trace.schemas.height)


def _on_their_lines(found: pl.DataFrame) -> pl.DataFrame:
    """The findings with the line of each place: to the rules a file is one record, that begins on its first line."""
    read = cache(lambda file: Path(file).read_bytes())

    @cache
    def line(file: str, pointer: str) -> int:
        return line_of(read(file), pointer) or 1

    rows = found.select("location", "contract", "related").to_dicts()
    for row in rows:
        for place in (row["location"], row["contract"], *(each["location"] for each in row["related"] or ())):
            _settle(place, line)
    return found.with_columns(pl.DataFrame(rows, schema=found.select("location", "contract", "related").schema))


def _settle(place: dict[str, Any] | None, line: Callable[[str, str], int]) -> None:
    if place is not None and place["file"] is not None and place["line"] is not None:
        place["line"] = line(place["file"], place["pointer"] or "")
