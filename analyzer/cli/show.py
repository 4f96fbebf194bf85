"""`analyzer show`: one session, turn or call on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from analyzer.cli import chosen, console, exits, logs
from analyzer.cli.given import Given
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.report.paper import Paper


@click.command(
    "show",
    epilog=console.examples(
        "analyzer show sample_traces",
        "analyzer show --session sess_1 logs/",
        "analyzer show --session sess_1 --turn turn_2 logs/",
        "analyzer show --call call_7 run.ndjson",
        "analyzer show --session sess_1 --bundle evidence.zip logs/",
        "analyzer show --verify evidence.zip logs/",
    ),
)
@logs.reading()
@click.option("--turn", metavar="ID", help="The events of this turn.")
@click.option("--call", "call_id", metavar="ID", help="This call, by its call id or its item id, beside its schema.")
@click.option(
    "--bundle",
    metavar="FILE",
    help="Write the evidence into a zip file: calls, schemas, findings, raw records, digests.",
)
@click.option("--verify", metavar="FILE", help="Hold such a zip file to the log, and name what differs.")
@logs.output
@logs.no_color
def command(
    *,
    turn: str | None,
    call_id: str | None,
    bundle: str | None,
    verify: str | None,
    output: str | None,
    no_color: bool,
    **given: Unpack[Given],
) -> int:
    """Print one session, turn or call: events in order, the call beside its schema.

    A call is shown with the schema in force, the guilty members marked in both, the verdict, the result, the gate
    record and the findings. Without --session, --turn or --call: the one session there is, or the list of all.

    A bundle of the same log is the same byte for byte, and holds no credentials unless --no-redact is given. It is
    verified with the options it was made with, --contracts and --redact-key among them.

    Exit status: 0; 3 where something could not be read or recognised; 2 where there is no such session, turn or call;
    with --verify 1 where the bundle or the log was changed.
    """
    if verify is not None:
        from analyzer.cli.bundles import verified

        return verified(verify, given, output)
    from analyzer.report.paper import Paper

    done = logs.audited(given)
    session = given["session"]
    paper = Paper(
        width=console.PLAIN_WIDTH if output else console.width(),
        colour=output is None and console.colour(wanted=not no_color),
    )
    if session is not None and session not in done.frames["sessions"]["session"]:
        raise UsageError(f"no session {session!r} in the log; `analyzer show` without --session lists them")
    if bundle is not None:
        from analyzer.cli.bundles import made

        console.deliver([made(done, session, turn, call_id)], bundle)
    elif call_id is not None:
        _calls(paper, done, call_id, turn)
    else:
        _events(paper, done, session, turn)
    if bundle is None:
        console.deliver([paper.text().encode()], output)
    return exits.decide(done, fail_on="never")


def _calls(paper: Paper, done: Audit, call_id: str, turn: str | None) -> None:
    from analyzer.report.evidence import Recorded
    from analyzer.report.sheet import sheet, stray

    if chosen.is_no_call(done, call_id):
        results, told = chosen.told_of(done, call_id, turn)
        if results or told.height:
            stray(paper, done, call_id, results, told)
            return
    named = chosen.calls_named(done, call_id, turn)
    with Recorded(done) as recorded:
        for number, call in enumerate(named.to_dicts()):
            if number:
                paper.blank()
            sheet(paper, done, call, recorded)


def _events(paper: Paper, done: Audit, session: str | None, turn: str | None) -> None:
    from polars import col

    from analyzer.report import accounts, timeline

    if turn is not None:
        turns = done.frames["turns"]
        found = turns.filter(col("turn") == turn)
        if found.is_empty():
            near = console.meant(turn, [each for each in turns["turn"].to_list() if each])
            raise UsageError(
                f"no turn {turn!r} in the log{near}",
                advice=None if near else chosen.ADVICE,
            )
        for each in found["session"].to_list():
            timeline.timeline(paper, done, each, turn)
        return
    sessions = done.frames["sessions"]["session"].to_list()
    if session is None and len(sessions) != 1:
        timeline.sessions(paper, done)
    else:
        timeline.timeline(paper, done, sessions[0] if session is None else session)
    accounts.hops(paper, done)
