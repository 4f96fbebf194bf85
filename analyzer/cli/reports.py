"""The reports that an audit is asked for: which format each has, and where it goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyzer.cli import console
from analyzer.errors import AnalyzerError, UsageError

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.cli.given import Given

FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github", "gitlab", "markdown", "html", "parquet")
ENDINGS = {
    ".txt": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".sarif": "sarif",
    ".sarif.json": "sarif",
    ".xml": "junit",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".parquet": "parquet",
}
STDOUT = "-"


class Report(NamedTuple):
    """One report: its format, the file it goes to (None: standard output), and what of its name names no format."""

    format: str
    file: str | None
    strange: str = ""


def asked(outputs: tuple[str, ...], chosen: str | None, usual: str) -> list[Report]:
    """What `-o` and `--output-format` ask for. `chosen` stands on the command line, `usual` is the default.

    An output is FILE or FORMAT=FILE; without FORMAT the chosen format decides, then the file's ending, then the usual.
    Raises UsageError where two reports would go to one place.
    """
    reports = [_report(output, chosen, usual) for output in outputs] or [Report(chosen or usual, None)]
    places = [report.file and os.path.realpath(report.file) for report in reports]
    for report, place in zip(reports, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"two reports would go to {report.file or 'standard output'}: name one file for each")
        if report.format == "parquet" and report.file is None and sys.stdout.isatty():
            raise UsageError("Parquet is no text for a terminal: name a file with -o FILE.parquet")
    return reports


def _report(output: str, chosen: str | None, usual: str) -> Report:
    head, equals, rest = output.partition("=")
    if equals and rest and head in FORMATS:
        return Report(head, None if rest == STDOUT else rest)
    folder = os.path.dirname(output)  # noqa: PTH120 - the text of an option, not yet a file
    if equals and rest and head.isalpha() and not (folder and Path(folder).is_dir()):  # a mistyped format, not a file
        raise UsageError(
            f"no format {head!r}{console.meant(head, FORMATS)}",
            advice=f"a file of this name is written to ./{output}; formats are {', '.join(FORMATS)}",
        )
    if output == STDOUT:
        return Report(chosen or usual, None)
    name = output.lower()
    ending = max((each for each in ENDINGS if name.endswith(each)), key=len, default=None)
    strange = os.path.splitext(output)[1]  # noqa: PTH122 - the text of an option, not yet a file
    if name in FORMATS:  # who writes `-o html` wants a page
        strange = "a file without an ending"
    return Report(chosen or (ENDINGS[ending] if ending else usual), output, "" if ending or chosen else strange)


def detailed(reports: Sequence[Report]) -> bool:
    """Whether calls, timelines and the history of contracts are wanted beside the findings: a page shows them."""
    return any(report.format == "html" for report in reports)


def deliver(
    reports: Sequence[Report], audit: Audit, given: Given, *, fail_on: str, colour: bool, statistics: bool = False
) -> AnalyzerError | None:
    """Write the reports. Gives the mistake by which one could not be written: no other one is lost by that."""
    failed = None
    for report in reports:
        try:
            _deliver(report, audit, given, fail_on=fail_on, statistics=statistics, colour=colour)
        except UsageError as error:
            if failed is not None:
                console.complain(str(failed), console.advice(failed))
            failed = error
    return failed


def _deliver(report: Report, audit: Audit, given: Given, *, fail_on: str, statistics: bool, colour: bool) -> None:
    if report.strange:
        what = f"{report.strange} names no format, {report.format} is written"
        console.complain(f"{report.file}: {what}", "say FORMAT=FILE")
    if report.format == "text":
        from analyzer.cli.following import following
        from analyzer.report import text

        page = text.page(
            audit,
            next_command=following(audit, given),
            statistics=statistics,
            width=console.PLAIN_WIDTH if report.file else console.width(),
            colour=report.file is None and console.colour(wanted=colour),
        )
        console.deliver([page.encode()], report.file)
    else:
        console.deliver(_pieces(report.format, audit, given, fail_on), report.file)


def _pieces(name: str, audit: Audit, given: Given, fail_on: str) -> Iterator[bytes]:
    module = import_module(f"analyzer.report.{name}")
    found: Iterator[bytes]
    if name in ("markdown", "html"):
        from analyzer.cli.following import following

        found = module.pieces(audit, next_command=following(audit, given))
    elif name == "junit":
        found = module.pieces(audit, fail_on=fail_on)
    else:
        found = module.pieces(audit)
    return found
