"""`analyzer gate`: the gate records a host would have written, had it checked every call before it ran."""

from __future__ import annotations

from typing import Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.given import Given


@click.command(
    "gate",
    epilog=console.examples(
        "analyzer gate run.ndjson",
        "analyzer gate --session sess_1 logs/ -o gates.jsonl",
        "analyzer gate run.ndjson | jq 'select(.execute | not)'",
    ),
)
@logs.reading("final_schema")
@logs.output
def command(
    *,
    output: str | None,
    **given: Unpack[Given],
) -> int:
    """Print one gate record per call, as JSON Lines.

    `pass` and `fail` list the members of the arguments that keep and break the schema in force at the model call;
    `execute` says whether the call should run: only what is valid, so not what is unverifiable. Calls of hosted and
    free-text tools, which no gate can judge, have no record.

    Exit status: 0; 3 where something could not be read or recognised; 2 usage or configuration; 4 a fault of the
    analyzer itself.
    """
    from analyzer.report import gate
    from analyzer.rules.catalogue import RULES

    # Verdicts come before rules: a gate record needs none of them.
    with gate.Records() as records:
        done = logs.audited(given, ignore=[rule.code for rule in RULES], keep_frames=False, each=records.add)
        console.deliver(records.pieces(), output)
    return exits.decide(done, fail_on="never")
