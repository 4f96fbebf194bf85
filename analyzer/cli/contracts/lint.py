"""`analyzer contracts lint`: the TOOL rules on schema files and on what logs advertise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given
from analyzer.errors import AnalyzerError, ContractFileError, InputError, UsageError

if TYPE_CHECKING:
    import polars as pl

_FORMATS = "`analyzer formats` lists the logs that are read"
_STATUS = {"error": ("error",), "warning": ("error", "warning"), "info": ("error", "warning", "info"), "never": ()}


@click.command(
    "lint",
    short_help="Check schemas before anything calls by them.",
    epilog=console.examples(
        "analyzer contracts lint sample_traces/contracts.json",
        "analyzer contracts lint --fail-on warning tools/",
        "analyzer contracts lint sample_traces",
    ),
)
@logs.reading("contracts", "executed", "final_schema", "assert_formats")
@click.option(
    "--fail-on",
    type=click.Choice(exits.FAIL_ON),
    default="error",
    show_default=True,
    help="End with status 1 from this severity on; a hint never decides.",
)
@shared.output_format
@logs.no_color
def command(*, fail_on: str, form: str, no_color: bool, **given: Unpack[Given]) -> int:
    """Check schemas before anything calls by them: what is invalid, open, vacuous, explosive or poisoned.

    A PATH is a contract file, a tool table, a file that holds one schema, a folder of these, or a log, of which the
    advertised tools are looked at. Whatever is no log is read as schemas.

    Exit status: 0; 1 a finding at or above --fail-on; 3 where something could not be read, or holds no schema;
    4 a rule crashed.
    """
    import polars as pl

    found, problems, crashed = _linted(given)
    if form == "json":
        from analyzer.report.json import records

        shared.deliver_json({"findings": records(found)})
    else:
        from analyzer.report.finding import in_full
        from analyzer.report.json import records

        paper = shared.page(no_color=no_color)
        for row in records(found):
            in_full(paper, row, indent=0)
        if found.is_empty() and not problems:
            paper.line("nothing to object to")
        console.write(paper.text())
    for problem in problems:
        console.complain(str(problem), console.advice(problem))
    for rule, error in crashed:
        console.complain(f"{rule} crashed: {error}")
    if crashed:
        return exits.FAULT
    deciding = found.filter(pl.col("severity").is_in(_STATUS[fail_on]) & (pl.col("confidence") != "hint"))
    if not deciding.is_empty():
        return exits.FINDINGS
    return exits.UNREAD if problems else exits.CLEAN


def _linted(given: Given) -> tuple[pl.DataFrame, list[AnalyzerError], list[tuple[str, str]]]:
    """Findings of logs and of schema files together."""
    import polars as pl

    from analyzer.auditing import audit
    from analyzer.findings.lint import lint

    if not given["paths"]:
        raise UsageError("no PATH given: name a contract file, a folder of them, or a log")
    settings: Any = given["config"].settings
    done = audit(
        given["paths"],
        select=["TOOL"],
        settings=settings,
        input_format=given["input_format"],
        session=given["session"],
        keep_frames=False,
        lenient=True,
    )
    unknown = [each["path"] for each in done.inputs if not each["format"]] + done.unrecognised
    files = [Path(path) for path in unknown if path.endswith(".json")]
    named = set(given["paths"])
    found, problems, crashed, schemas = lint(files, settings, meant=named)
    # Of a folder, what is JSON and no contract, or no JSON by its name, is nobody's business.
    mine: list[AnalyzerError] = [
        problem for problem in problems if problem.file in named or not _is_json(problem.file or "")
    ]
    for each in done.inputs:
        if not each["format"] and not each["path"].endswith(".json"):
            mine.append(UsageError("neither a log nor a .json file of schemas", file=each["path"], advice=_FORMATS))
        elif each["format"] and each["unreadable"]:
            mine.append(InputError(logs.in_part(each), file=each["path"], advice=logs.WHICH))
    problems_of_all = [*done.problems, *mine]
    if not problems_of_all and not schemas and done.frames["schemas"].is_empty():
        advice = "name contract files, or logs that hold tool tables"
        problems_of_all.append(UsageError("no schema is in these files", advice=advice))
    return pl.concat([done.findings, found]), problems_of_all, [*done.crashed, *crashed]


def _is_json(file: str) -> bool:
    from analyzer.contracts.files import value_of

    try:
        value_of(Path(file))
    except ContractFileError:
        return False
    return True
