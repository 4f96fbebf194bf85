"""`analyzer tui`: open the workspace on a log, a folder or a saved audit."""

from __future__ import annotations

import sys

import click

from analyzer.cli import console
from analyzer.errors import UsageError


@click.command(
    "tui",
    epilog=console.examples(
        "analyzer tui --contracts sample_traces/contracts.json sample_traces",
        "analyzer tui --session sess_1 logs/",
        "analyzer tui saved/",
    ),
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--contracts", multiple=True, metavar="FILE-OR-DIR", help="Contract files, as for audit.")
@click.option("--session", metavar="ID", help="Go straight to this session.")
@click.option("--follow", is_flag=True, help="Read on when a log grows.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--theme", metavar="NAME", help="audit-dark, audit-light, ansi-dark, ansi-light or another one.")
@click.option("--keymap", metavar="FILE", help="Other keys, in TOML: see --keys.")
@click.option("--keys", is_flag=True, help="Print a keymap file with every action and its keys.")
def command(  # noqa: PLR0917 - click calls it by name
    paths: tuple[str, ...],
    contracts: tuple[str, ...],
    session: str | None,
    follow: bool,  # noqa: FBT001 - click calls it so
    ascii_only: bool,  # noqa: FBT001 - click calls it so
    theme: str | None,
    keymap: str | None,
    keys: bool,  # noqa: FBT001 - click calls it so
) -> None:
    """Open the terminal workspace; `?` there lists its keys. NO_COLOR is respected.

    A PATH is a log, a folder of logs, or the folder of one saved audit (`analyzer audit --save`).
    """
    if keys:
        from analyzer.tui.keys import keymap_file

        console.write(keymap_file())
        return
    if not paths:
        raise UsageError("no log: name a file, a folder or a saved audit")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the workspace needs a terminal; `analyzer audit` and `analyzer show` print the same")
    from analyzer.tui import run

    run(paths, contracts=contracts, session=session, follow=follow, ascii_only=ascii_only, theme=theme, keymap=keymap)
