"""`analyzer audit`: everything, from recorded logs to a report and an exit status."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from analyzer.cli import completing, console, exits, logs, reports
from analyzer.cli.given import Given
from analyzer.errors import UsageError
from analyzer.full_disk import advice

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.auditing.on_disk import OnDisk

_SEVERITIES = ("error", "warning", "info")
_CONFIDENCES = ("certain", "likely", "hint")


@click.command(
    "audit",
    epilog=console.examples(
        "analyzer audit sample_traces",
        "analyzer audit --contracts tools/ --strict logs/ -o report.html",
        "analyzer audit --select ARG --min-confidence likely run.ndjson",
        "analyzer audit --write-baseline known.json logs/",
        "analyzer audit --baseline known.json logs/",
        "zstdcat day.zst | analyzer audit --output-format json -",
        "analyzer audit logs/ -o - -o audit.sarif -o ticket.md -o gitlab=codequality.json",
    ),
)
@logs.reading()
@click.option(
    "--output-format",
    type=click.Choice(reports.FORMATS),
    help="How to report; else the ending of the file says it, else it is text.",
)
@click.option(
    "-o",
    "outputs",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Write here, whole or not at all; - is standard output. Repeatable: one audit, several reports.",
)
@click.option("--save", metavar="DIR", help="Keep the frames as Parquet, with the audit beside them.")
@click.option(
    "--select",
    multiple=True,
    metavar="RULE",
    shell_complete=completing.rules,
    help="Only these: code, slug or family (ARG). Repeatable.",
)
@click.option(
    "--ignore", multiple=True, metavar="RULE", shell_complete=completing.rules, help="Not these rules. Repeatable."
)
@click.option("--min-severity", type=click.Choice(_SEVERITIES), help="Leave lesser findings out.")
@click.option("--min-confidence", type=click.Choice(_CONFIDENCES), help="Leave less certain findings out.")
@click.option("--baseline", metavar="FILE", help="What it holds is known and does not decide; what is new does.")
@click.option("--write-baseline", metavar="FILE", help="Write what is found and could be judged as the baseline.")
@click.option(
    "--fail-on",
    type=click.Choice(exits.FAIL_ON),
    default="error",
    show_default=True,
    help="End with status 1 from this severity on; a hint never decides.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="End with status 3 where something owed a verdict has none, or a file left out of a folder holds JSON.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Processes to use.")
@click.option("--statistics", is_flag=True, help="Count by rule, and tell no findings (text).")
@logs.no_color
@click.pass_context
def command(
    ctx: click.Context,
    *,
    output_format: str | None,
    outputs: tuple[str, ...],
    save: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    min_severity: str | None,
    min_confidence: str | None,
    baseline: str | None,
    write_baseline: str | None,
    fail_on: str,
    strict: bool,
    jobs: int,
    statistics: bool,
    no_color: bool,
    **given: Unpack[Given],
) -> int:
    """Find what broke its contract in recorded sessions, where, and by which schema.

    A PATH is a file, a folder that is searched for logs, or - for standard input; plain or packed.

    The report says first where to look; a finding names the guilty member, what was expected beside what was there, and
    the schema it was judged by. What cannot be judged is unverifiable, with the reason.

    A file of a folder that is named like a log (.jsonl, .ndjson, .sse, compressed or not) and is not recognised is told
    as if it had been named here. Others that are no log are left out, and listed.

    Exit status: 0 nothing decides; 1 a finding at or above --fail-on; 3 no finding decides, but something could not be
    read, recognised or (with --strict) judged, or less was judged than in the --baseline; 2 usage or configuration; 4 a
    fault of the analyzer itself.
    """
    from analyzer.rules.catalogue import check

    check((*select, *ignore))
    typed = ctx.get_parameter_source("output_format") == click.core.ParameterSource.COMMANDLINE
    wanted = reports.asked(outputs, output_format if typed else None, output_format or "text")
    if statistics and any(report.format != "text" for report in wanted):
        raise UsageError("--statistics goes with the text report only")

    before = baseline if write_baseline is None else None  # what is written anew is the baseline
    done = logs.audited(
        given,
        select=select,
        ignore=ignore,
        jobs=jobs,
        keep_frames=False,
        on_disk=None if save is None else ctx.with_resource(_on_disk()),
        details=reports.detailed(wanted),
        baseline=before,
    )
    if write_baseline is not None:
        done = _write_baseline(done, write_baseline)
    shown = _at_least(done, min_severity, min_confidence)
    failed = reports.deliver(wanted, shown, given, fail_on=fail_on, statistics=statistics, colour=not no_color)
    if save is not None:
        _save(done, save)
    if failed is not None:
        raise failed
    written = (write_baseline, save, *(report.file for report in wanted))
    apart = (*given["contracts"], given["final_schema"], baseline, *written)
    for path in exits.strange_json(shown, apart) if strict else ():
        console.complain(f"{path}: holds JSON, and no format is recognised (--strict)")
    return exits.decide(shown, fail_on=fail_on, strict=strict, apart=apart)


def _on_disk() -> OnDisk:
    from analyzer.auditing.on_disk import OnDisk

    return OnDisk()


def _save(done: Audit, folder: str) -> None:
    try:
        done.save(folder)
    except OSError as error:
        raise UsageError(f"cannot save: {error.strerror or error}", file=folder, advice=advice(error)) from error


def _write_baseline(done: Audit, file: str) -> Audit:
    """Write the baseline and give the audit as it stands to it: everything is known."""
    from analyzer.auditing import held_to
    from analyzer.findings import baseline
    from analyzer.report.accounts import counted

    console.deliver([baseline.document(done.findings, done.summary, done.hops, done.ran)], file)
    known = baseline.load(file)
    console.complain(f"{file}: {counted(sum(known.groups.values()), 'finding')} known from here on")
    return held_to(done, known)


def _at_least(done: Audit, severity: str | None, confidence: str | None) -> Audit:
    """The audit with lesser findings left out, and its counts to match: what is not reported does not decide either."""
    if severity is None and confidence is None:
        return done
    from polars import col

    from analyzer.summary import tally

    severities = _SEVERITIES[: _SEVERITIES.index(severity or "info") + 1]
    confidences = _CONFIDENCES[: _CONFIDENCES.index(confidence or "hint") + 1]
    kept = done.findings.filter(col("severity").is_in(severities) & col("confidence").is_in(confidences))
    return replace(done, findings=kept, summary={**done.summary, "findings": tally(kept)})
