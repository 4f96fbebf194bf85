"""`analyzer replay`: the recorded calls and results under other schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given
from analyzer.errors import UsageError


@click.command(
    "replay",
    epilog=console.examples(
        "analyzer contracts tighten sample_traces -o tighter.json",
        "analyzer replay --against tighter.json sample_traces",
        "analyzer replay --against new_tools/ --output-format json logs/",
    ),
)
@logs.reading("final_schema")
@click.option(
    "--against",
    multiple=True,
    required=True,
    metavar="FILE-OR-DIR-OR-MODULE:NAME",
    help="The other contracts: a contract file, a tool table, a folder of pins, or Python as for --executed. "
    "Repeatable.",
)
@shared.output_format
@logs.output
@logs.no_color
def command(*, against: tuple[str, ...], form: str, output: str | None, no_color: bool, **given: Unpack[Given]) -> int:
    """Judge what was recorded by other contracts, and tell which verdicts flip in either direction.

    For whoever changes a tool: which calls that passed would fail, at which member, over which keyword; which that
    failed would pass; and what nothing judged before. The verdict before is the one under the schema in force; a call
    in which the audit finds an error has not passed.

    Exit status: 0; 1 where a payload that passed would fail; 3 where a log or a contract could not be read, or nothing
    that these contracts judge had a verdict before, so that nothing could flip.
    """
    from analyzer.contracts.executed import is_executed, load_executed
    from analyzer.contracts.files import load_contracts
    from analyzer.replay.against import replay
    from analyzer.report import flips

    named = [each for each in against if is_executed(each)]
    contracts = load_contracts([Path(path) for path in against if path not in named]).beside(load_executed(named))
    for problem in contracts.problems:
        console.complain(str(problem), console.advice(problem))
    if not contracts.entries:
        raise UsageError("no contract is left to replay against")
    done = logs.audited(given)
    found = replay(done.frames, done.findings, contracts, assert_formats=given["assert_formats"])
    if form == "json":
        shared.deliver_json(flips.record(found), output)
    else:
        paper = shared.page(output, no_color=no_color)
        flips.told(paper, found)
        console.deliver([paper.text().encode()], output)
    if not found.broken.is_empty():
        return exits.FINDINGS
    if not found.compared:
        console.complain(
            "nothing that these contracts judge had a verdict before", "--contracts gives what was in force then"
        )
        return exits.UNREAD
    if contracts.problems:
        return exits.UNREAD
    return exits.decide(done, fail_on="never")
