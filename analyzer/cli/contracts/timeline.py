"""`analyzer contracts list`: the timeline of every tool's versions."""

from __future__ import annotations

from typing import Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given


@click.command(
    "list",
    short_help="List each version of each tool, and how its calls fared.",
    epilog=console.examples(
        "analyzer contracts list sample_traces",
        "analyzer contracts list --contracts sample_traces/contracts.json sample_traces",
        "analyzer contracts list --output-format json logs/",
    ),
)
@logs.reading("final_schema")
@shared.output_format
@logs.no_color
def command(*, form: str, no_color: bool, **given: Unpack[Given]) -> int:
    """List each version of each tool: first and last session, calls judged by it, and the verdicts.

    Versions are numbered in the order in which they were seen first; TOOL@NUMBER names one for `contracts diff`.

    Exit status: 0; 3 where something could not be read or recognised.
    """
    from analyzer.report import versions

    done = shared.replayed(given, keep_frames=False)
    if form == "json":
        shared.deliver_json(versions.records(done))
    else:
        paper = shared.page(no_color=no_color)
        versions.told(paper, done)
        console.write(paper.text())
    return exits.decide(done, fail_on="never")
