"""`analyzer audit`: everything, from recorded logs to a report and an exit status."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from analyzer.cli import console, exits, options
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.audit import Audit
    from analyzer.config import Config

_SEVERITIES = ("error", "warning", "info")
_CONFIDENCES = ("certain", "likely", "hint")


@click.command(
    "audit",
    epilog="Examples: `analyzer audit sample_traces`; `analyzer audit --contracts tools/ logs/ -o report.txt`; "
    "`zstdcat day.zst | analyzer audit --output-format json -`; `analyzer audit --select ARG run.ndjson`.",
)
@options.logs
@click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", show_default=True, help="How to report."
)
@options.output
@click.option("--save", metavar="DIR", help="Keep the frames as Parquet, with the audit beside them.")
@click.option("--select", multiple=True, metavar="RULE", help="Only these: code, slug or family (ARG). Repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules. Repeatable.")
@click.option("--min-severity", type=click.Choice(_SEVERITIES), help="Leave lesser findings out.")
@click.option("--min-confidence", type=click.Choice(_CONFIDENCES), help="Leave less certain findings out.")
@click.option(
    "--fail-on",
    type=click.Choice(exits.FAIL_ON),
    default="error",
    show_default=True,
    help="End with status 1 from this severity on; a hint never decides.",
)
@click.option("--strict", is_flag=True, help="End with status 3 where something owed a verdict has none.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Processes to use.")
@click.option("--statistics", is_flag=True, help="Count by rule, and tell no findings (text).")
@options.no_color
def command(
    *,
    paths: tuple[str, ...],
    contracts: tuple[str, ...],
    final_schema: str | None,
    input_format: str | None,
    session: str | None,
    assert_formats: bool,
    config: Config,
    output_format: str,
    output: str | None,
    save: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    min_severity: str | None,
    min_confidence: str | None,
    fail_on: str,
    strict: bool,
    jobs: int,
    statistics: bool,
    no_color: bool,
) -> int:
    """Find what broke its contract in recorded sessions, where, and by which schema.

    A PATH is a file, a folder that is searched for logs, or - for standard input; plain, gzip or zstd.

    The report says first where to look; a finding names the guilty member, what was expected beside what was there, and
    the schema it was judged by. What cannot be judged is unverifiable, with the reason.

    Exit status: 0 nothing decides; 1 a finding at or above --fail-on; 3 no finding decides, but something could not be
    read, recognised or (with --strict) judged; 2 usage or configuration; 4 a fault of the analyzer itself.
    """
    options.check_logs(paths, input_format)
    _check_rules((*select, *ignore))
    if statistics and output_format != "text":
        raise UsageError("--statistics goes with the text report only")
    from analyzer.audit import audit
    from analyzer.cli.progress import progress

    with progress() as step:
        done = audit(
            paths,
            contracts=contracts,
            final_schema=final_schema,
            select=select,
            ignore=ignore,
            settings=replace(config.settings, assert_formats=assert_formats),
            input_format=input_format,
            session=session,
            jobs=jobs,
            keep_frames=save is not None,
            progress=step,
        )
    if save is not None:
        done.save(save)
    shown = _at_least(done, min_severity, min_confidence)
    for problem in done.problems:
        console.complain(str(problem), console.advice(problem))
    if output_format == "json":
        from analyzer.report import json

        console.deliver(json.pieces(shown), output)
    else:
        from analyzer.cli.following import following
        from analyzer.report import text

        page = text.page(
            shown,
            next_command=following(shown, paths, contracts=contracts, input_format=input_format),
            statistics=statistics,
            width=console.PLAIN_WIDTH if output else console.width(),
            colour=output is None and console.colour(wanted=not no_color),
        )
        console.deliver([page.encode()], output)
    return exits.decide(shown, fail_on=fail_on, strict=strict)


def _check_rules(names: tuple[str, ...]) -> None:
    """A name that selects nothing is a mistake, not an empty audit."""
    from analyzer.rules import catalogue

    families = {rule.code.rstrip("0123456789") for rule in catalogue.RULES}
    for name in names:
        if catalogue.find_rule(name) is None and name.upper() not in families:
            near = catalogue.nearest(name)
            raise UsageError(f"no rule {name!r}" + (f"; did you mean {near!r}?" if near else "; see `analyzer rules`"))


def _at_least(done: Audit, severity: str | None, confidence: str | None) -> Audit:
    """The audit with lesser findings left out, and its counts to match: what is not reported does not decide either."""
    if severity is None and confidence is None:
        return done
    from polars import col

    severities = _SEVERITIES[: _SEVERITIES.index(severity or "info") + 1]
    confidences = _CONFIDENCES[: _CONFIDENCES.index(confidence or "hint") + 1]
    kept = done.findings.filter(col("severity").is_in(severities) & col("confidence").is_in(confidences))
    borne = col("suppressed").is_not_null() & col("suppressed").struct.field("reason").is_not_null()
    counts = {each: kept.filter((col("severity") == each) & ~borne).height for each in _SEVERITIES}
    found = {**counts, "suppressed": kept.filter(borne).height}
    return replace(done, findings=kept, summary={**done.summary, "findings": found})
