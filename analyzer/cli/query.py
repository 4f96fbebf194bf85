"""`analyzer query`: JSONPath or JMESPath over events, calls, results or findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given

if TYPE_CHECKING:
    from analyzer.report.queries import Match

_WIDEST = 500


@click.command(
    "query",
    epilog=console.examples(
        "analyzer query '$[?@.verdict==\"invalid\"].arguments' sample_traces",
        "analyzer query \"[?tool=='function::refund_order'].arguments.amount_cents\" sample_traces",
        "analyzer query --over findings '[].[rule, call_id]' sample_traces",
        "analyzer query --over events '$[?@.event.session.status==\"idle\"].line' sample_traces",
    ),
)
@click.argument("expression", metavar="EXPRESSION")
@logs.reading()
@click.option(
    "--over",
    type=click.Choice(("events", "calls", "results", "findings")),
    default="calls",
    show_default=True,
    help="What the expression runs on: the list of all of these.",
)
@click.option(
    "--output-format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Text with the path of each match, or JSON Lines of the values alone.",
)
@logs.output
def command(*, expression: str, over: str, form: str, output: str | None, **given: Unpack[Given]) -> int:
    """Ask the log with JSONPath (it starts with $) or JMESPath, one match a line.

    The expression runs on one list: of the events as recorded (in `event`, beside file, line and session), of the calls
    with decoded `arguments`, `verdict` and `output`, of the results with decoded `output`, or of the findings of the
    JSON report. Credentials are masked.

    Other members. Calls: session, turn, agent, subagent, call_id, item_id, tool, kind, server, name, status, seq,
    outcome, reason, schema_id, error. Results: session, turn, call_id, name, tool, success, status, error, stage, seq,
    rank. Events: turn, seq, type, kind, time. `tool` is kind and name (function::refund_order), `name` the name alone.

    Exit status: 0; 2 where the expression cannot be read or run; 3 where a log could not be
    read or recognised.
    """
    from analyzer.report.queries import Expression, document, line

    query = Expression(expression)
    done = logs.audited(given) if over == "findings" else shared.replayed(given)
    asked = document(done, over)
    found = query.find(asked)
    if not found and asked:
        members = ", ".join(sorted(asked[0]))
        console.complain(f"nothing matches in {len(asked):,} {over}", f"the members of each: {members}")
    console.deliver((line(each) + b"\n" for each in found) if form == "json" else _lines(found), output)
    return exits.decide(done, fail_on="never")


def _lines(found: list[Match]) -> Iterator[bytes]:
    from analyzer.visible import visible, visible_value

    for each in found:
        path = f"{visible(each.path, limit=_WIDEST)}  " if each.path is not None else ""
        yield f"{path}{visible_value(each.value, limit=_WIDEST)}\n".encode()
