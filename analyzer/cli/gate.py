"""`analyzer gate`: the gate records a host would have written, had it checked every call before it ran."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from analyzer.cli import console, exits, options

if TYPE_CHECKING:
    from analyzer.config import Config


@click.command(
    "gate",
    epilog="Examples: `analyzer gate run.ndjson`; `analyzer gate --session sess_1 logs/ -o gates.jsonl`; "
    "`analyzer gate run.ndjson | jq 'select(.execute | not)'`.",
)
@options.logs
@options.output
def command(
    *,
    paths: tuple[str, ...],
    contracts: tuple[str, ...],
    final_schema: str | None,
    input_format: str | None,
    session: str | None,
    assert_formats: bool,
    config: Config,
    output: str | None,
) -> int:
    """Print one gate record per call, as JSON Lines.

    `pass` and `fail` list the members of the arguments that keep and break the schema in force at the model call;
    `execute` says whether the call should run: only what is valid, so not what is unverifiable. Calls of hosted and
    free-text tools, which no gate can judge, have no record.

    Exit status: 0; 3 where something could not be read or recognised; 2 usage or configuration; 4 a fault of the
    analyzer itself.
    """
    options.check_logs(paths, input_format)
    from analyzer.audit import audit
    from analyzer.cli.progress import progress
    from analyzer.report import gate

    with progress() as step:
        done = audit(
            paths,
            contracts=contracts,
            final_schema=final_schema,
            settings=replace(config.settings, assert_formats=assert_formats),
            input_format=input_format,
            session=session,
            keep_frames=True,
            progress=step,
        )
    for problem in done.problems:
        console.complain(str(problem), console.advice(problem))
    console.deliver(gate.pieces(done), output)
    return exits.decide(done, fail_on="never")
