"""`analyzer diff`: a failing call beside the nearest that passed, two calls, or two sessions to where they part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_ADVICE = "`analyzer show --session ID` lists what there is"


@click.command(
    "diff",
    epilog=console.examples(
        "analyzer diff sample_traces",
        "analyzer diff --call call_1042_06 sample_traces",
        "analyzer diff --call call_1042_05 --with call_1042_02 sample_traces",
        "analyzer diff --session sess_1117_0803 --with sess_1117_0920 sample_traces",
    ),
)
@logs.reading("final_schema")
@click.option("--call", "call_id", metavar="ID", help="This call, by its call id or its item id.")
@click.option("--with", "other", metavar="ID", help="The other call, or with --session alone the other session.")
@shared.output_format
@logs.output
@logs.no_color
def command(
    *,
    call_id: str | None,
    other: str | None,
    form: str,
    output: str | None,
    no_color: bool,
    **given: Unpack[Given],
) -> int:
    """Compare a failing call with the nearest passing one of its tool, two calls, or two sessions.

    With --call alone, the other one is the valid, successful call of the tool whose arguments differ least; without
    --call, the first call that failed is taken. With --session and --with, two sessions are followed step by step to
    the first that differs; ids and times are not compared, and it is said where their tool tables differ.

    Exit status: 0; 2 where there is no such call or session, or no call of the tool passed; 3 where a log could not be
    read or recognised.
    """
    session = given["session"]
    given["session"] = None
    done = shared.replayed(given)
    paper = shared.page(output, no_color=no_color)
    if session is not None and other is not None and call_id is None:
        record = _sessions(paper, done, session, other)
    else:
        record = _calls(paper, done, call_id, other, session)
    if form == "json":
        shared.deliver_json(record, output)
    else:
        console.deliver([paper.text().encode()], output)
    return exits.decide(done, fail_on="never")


def _sessions(paper: Any, done: Audit, a: str, b: str) -> dict[str, Any]:
    from analyzer.replay.divergence import divergence
    from analyzer.report import pairs

    known = [each for each in done.frames["sessions"]["session"].to_list() if each]
    for name in (a, b):
        if name not in known:
            raise UsageError(f"no session {name!r} in the log{console.meant(name, known)}")
    found = divergence(done.frames, a, b)
    pairs.sessions(paper, done, a, b, found)
    return pairs.session_record(a, b, found)


def _calls(paper: Any, done: Audit, call_id: str | None, other: str | None, session: str | None) -> dict[str, Any]:
    from analyzer.replay.nearest import nearest
    from analyzer.report import pairs

    if other is not None and call_id is None:
        raise UsageError("--with names the other side: give --call or --session, too")
    calls = _failing(done, session) if call_id is None else [_named(done, call_id, session)]
    if other is not None:
        call, second, how = calls[0], _named(done, other, None), "two calls, as named"
    else:
        # Unasked, the first failing call that has something to be compared with.
        found = ((each, nearest(done.frames, each)) for each in calls)
        call, second = next(((each, near.call) for each, near in found if near is not None), (-1, -1))
        if call == -1:
            raise UsageError("no call of such a tool passed and was answered: name another one by --with")
        how = "the call, and the nearest one of its tool that is valid and was answered"
    pairs.calls(paper, done, call, second, how=how)
    return pairs.call_record(done, call, second, how=how)


def _failing(done: Audit, session: str | None) -> list[int]:
    """The calls of the log, or of the session, whose arguments are invalid."""
    from polars import col

    invalid = done.frames["verdicts"].filter((col("verdict_is") == "invalid") & (col("role") == "arguments"))
    calls = done.frames["calls"].join(invalid, on="call", how="semi", maintain_order="left").sort("event")
    calls = calls if session is None else calls.filter(col("session") == session)
    if calls.is_empty():
        raise UsageError("no call has invalid arguments: name one by --call")
    return calls["call"].to_list()


def _named(done: Audit, name: str, session: str | None) -> int:
    from polars import col

    calls = done.frames["calls"] if session is None else done.frames["calls"].filter(col("session") == session)
    for column in ("call_id", "pair_id", "item_id"):
        found = calls.filter(col(column) == name).sort("event")
        if found.height > 1:
            places = ", ".join(sorted({str(each) for each in found["session"]}))
            raise UsageError(f"{found.height} calls are named {name!r}, in {places}: say which by --session")
        if found.height:
            return int(found["call"][0])
    near = console.meant(name, [each for each in calls["call_id"].unique().to_list() if each])
    raise UsageError(f"no call {name!r} in the log{near}", advice=None if near else _ADVICE)
