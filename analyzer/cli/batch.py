"""`analyzer batch`: the audit of every night, with a memory."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from analyzer.cli import console, exits, logs, own_reports, reports
from analyzer.cli.given import Given
from analyzer.errors import AnalyzerError, UsageError
from analyzer.redaction import current

if TYPE_CHECKING:
    import polars as pl

    from analyzer.batch import Night
    from analyzer.contracts.files import Contracts
    from analyzer.replay.final import FinalSchema


@click.command(
    "batch",
    epilog=console.examples(
        "analyzer batch --store audits/ logs/",
        "analyzer batch --store audits/ --contracts tools/ --jobs 4 -o night.html -o night.sarif logs/",
        "analyzer batch --store audits/ --fail-on-new error s3://bucket/sessions/",
        "analyzer batch --store audits/ --output-format json logs/ | jq '.changes[] | select(.change == \"grew\")'",
    ),
)
@logs.reading()
@click.option("--store", required=True, metavar="DIR", help="Where the history is kept, as Parquet; made if not there.")
@click.option("--select", multiple=True, metavar="RULE", help="Only these: code, slug or family (ARG). Repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules. Repeatable.")
@click.option(
    "--since", metavar="TIME", help="Only inputs written at or after this: 2026-11-30, or with T06:00, in UTC."
)
@click.option("--until", metavar="TIME", help="Only inputs written before this.")
@click.option("--baseline", metavar="FILE", help="What it holds is known and does not decide; what is new does.")
@click.option("--verify", is_flag=True, help="Take the digest of inputs that look unchanged.")
@click.option(
    "--segment-size",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="MB",
    help="How much is audited and kept together: what one changed input has audited again.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Processes to use.")
@click.option(
    "--engine",
    type=click.Choice(("processes", "ray")),
    default="processes",
    show_default=True,
    help="Who audits: processes of this machine, or a Ray cluster that sees inputs and store under the same paths.",
)
@click.option(
    "--shuffle",
    is_flag=True,
    help="The inputs are a lake, whose sessions lie all over them: all that is new is read together, and audited by "
    "session, on all processes or machines.",
)
@click.option("--address", metavar="ADDRESS", help="Of the Ray cluster; without it one is begun here.")
@click.option(
    "--output-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How to print the trend.",
)
@click.option(
    "-o",
    "outputs",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Write a report of the whole audit, as for audit. Repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(exits.FAIL_ON),
    default="error",
    show_default=True,
    help="End with status 1 from this severity on; a hint never decides.",
)
@click.option(
    "--fail-on-new",
    type=click.Choice(exits.FAIL_ON),
    help="In the place of --fail-on: only kinds of fault that the last run did not have, or that grew since, decide.",
)
@click.option("--strict", is_flag=True, help="End with status 3 where something owed a verdict has none.")
@logs.no_color
def command(
    *,
    store: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    since: str | None,
    until: str | None,
    baseline: str | None,
    verify: bool,
    segment_size: int,
    jobs: int,
    engine: str,
    address: str | None,
    shuffle: bool,
    output_format: str,
    outputs: tuple[str, ...],
    fail_on: str,
    fail_on_new: str | None,
    strict: bool,
    no_color: bool,
    **given: Unpack[Given],
) -> int:
    """Audit what is new in a folder or bucket of logs, keep the answers, and tell what changed since the last run.

    An input whose size, time and inode are what they were is not audited again. A run that was killed goes on where it
    stood; two runs on one store wait for each other; an input that cannot be read is told, and the others are audited.
    Inputs that share a session are audited together. Fixed is only what was looked at again, with no less to judge by.
    Grew is what there is more of than the last run's rate per call and chance explain.

    Exit status: as for audit; 3 also where the last run had more of an input, or judged what this one did not.
    """
    from analyzer.read.sources.files import is_once
    from analyzer.rules.catalogue import check

    check((*select, *ignore))
    _check_settings(given)
    asked = logs.arguments(given)
    if asked.pop("session") is not None:
        raise UsageError("--session goes with one log: a batch keeps whole sessions")
    if any(map(is_once, given["paths"])):
        raise UsageError("a batch cannot come back to standard input or a pipe: save the log to a file")
    begin, end = _time(since), _time(until)
    if begin and end and begin >= end:
        raise UsageError(f"--until {until} is not after --since {since}: no input can be written between them")
    wanted_reports = reports.asked(outputs, None, "text") if outputs else []
    if any(
        Path(report.file).resolve().is_relative_to(Path(store).resolve()) for report in wanted_reports if report.file
    ):
        raise UsageError("a report would lie in the store: name a file elsewhere", file=store)
    from analyzer.batch import Store, Terms, Wanted, nightly
    from analyzer.cli.progress import progress
    from analyzer.findings.baseline import load as load_baseline
    from analyzer.report.untold import Untold
    from analyzer.report.version import version

    known = None if baseline is None else load_baseline(baseline)
    contracts, problems = _contracts(given)
    terms = Terms(
        contracts=contracts,
        final=_final(given),
        settings=asked["settings"],
        select=select,
        ignore=ignore,
        input_format=asked["input_format"],
        mappings=asked["mappings"],
        version=version(),
        redaction=current(),
    )
    wanted = Wanted(
        given["paths"],
        terms,
        suppressions=asked["suppressions"],
        baseline=known,
        problems=problems,
        jobs=jobs,
        engine=engine,
        address=address,
        verify=verify,
        since=begin,
        until=end,
        size=segment_size << 20,
        shuffle=shuffle,
    )
    span = " ".join([*([f"since {since}"] if since else []), *([f"until {until}"] if until else [])])

    status = exits.FAULT

    def tell(night: Night) -> None:
        nonlocal status
        done = own_reports.left_out(night.audit, given["paths"])
        night = replace(night, audit=done, trend=replace(night.trend, untold=Untold.of(done)))
        shown.close()  # the bar goes before anything is said
        logs.complaints(done, given, f"no log was written {span}" if span else None)
        failed = reports.deliver(wanted_reports, done, given, fail_on=fail_on, colour=not no_color)
        _print(night, given, output_format, colour=console.colour(wanted=not no_color))
        if failed is not None:
            raise failed
        apart = (*given["contracts"], given["final_schema"], baseline, *(report.file for report in wanted_reports))
        for path in exits.strange_json(done, apart) if strict else ():
            console.complain(f"{path}: holds JSON, and no format is recognised (--strict)")
        decides = done if fail_on_new is None else replace(done, findings=_fresh(night))
        status = exits.decide(decides, fail_on=fail_on_new or fail_on, strict=strict, apart=apart)
        if night.failed:
            status = exits.FAULT

    with ExitStack() as shown:
        step = shown.enter_context(progress())
        nightly(Store(store), wanted, tell=tell, progress=step, waiting=_waiting)
    return status


def _print(night: Night, given: Given, output_format: str, *, colour: bool) -> None:
    """The trend, on standard output."""
    from analyzer.cli.following import following
    from analyzer.report import trend

    if output_format == "json":
        console.deliver(trend.pieces(night.trend), None)
        return
    fresh = _fresh(night)
    worst = replace(night.audit, findings=fresh) if fresh.height else night.audit
    console.write(
        trend.page(
            night.trend,
            night.audit.summary,
            night.audit.findings,
            next_command=following(worst, given),
            width=console.width(),
            colour=colour,
        )
    )


def _check_settings(given: Given) -> None:
    """Refuse settings that the night would not heed: whoever wrote them relies on them."""
    known = {parameter.name for parameter in click.get_current_context().command.params}
    for name in given["config"].flags:
        if name not in known:
            advice = "take it out, or give batch a configuration of its own with --config"
            raise UsageError(f"batch does not heed {name!r}: {advice}", file=given["config"].file)


def _contracts(given: Given) -> tuple[Contracts, list[AnalyzerError]]:
    """What `--contracts` and `--executed` name, without compiled schemas: processes make their own."""
    from analyzer.auditing import contracts_given

    contracts = contracts_given(given["contracts"], given["executed"])
    entries = tuple(replace(entry, judge=None) for entry in contracts.entries)
    return replace(contracts, entries=entries), list(contracts.problems)


def _final(given: Given) -> FinalSchema | None:
    from analyzer.replay.final import load_final_schema

    return None if given["final_schema"] is None else load_final_schema(given["final_schema"])


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time: write 2026-11-30, or 2026-11-30T06:00") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _waiting() -> None:
    console.complain("another run has the store", "waiting for it to end")


def _fresh(night: Night) -> pl.DataFrame:
    """FINDINGS of the kinds that the last run did not have, or that grew since."""
    from analyzer.report.trend import FRESH

    changes, findings = night.trend.changes, night.audit.findings
    fresh = changes.filter(changes["change"].is_in(FRESH))["group"]
    return findings.filter(findings["group"].is_in(fresh.implode()))
