"""`analyzer contracts`: the commands on schemas themselves, one module each."""

from __future__ import annotations

import click

from analyzer.cli import console
from analyzer.cli.contracts import difference, lint, pin, tighten, timeline


@click.group(
    "contracts",
    epilog=console.examples(
        "analyzer contracts list sample_traces",
        "analyzer contracts pin --into pins logs/",
        "analyzer contracts tighten sample_traces -o tighter.json",
    ),
)
def command() -> None:
    """Pin, list, compare, check and tighten the contracts of tools."""


for each in (timeline, pin, difference, lint, tighten):
    command.add_command(each.command)
