"""`analyzer tui`: open the workspace on a log, a folder or a saved audit."""

from __future__ import annotations

import os
import sys
from typing import Unpack

import click

from analyzer.cli import console, exits, holding, logs
from analyzer.cli.given import Given
from analyzer.errors import UsageError

_PRINT = "`analyzer audit` and `analyzer show` print the same"


@click.command(
    "tui",
    epilog=console.examples(
        "analyzer tui --contracts sample_traces/contracts.json sample_traces",
        "analyzer tui --session sess_1 logs/",
        "analyzer tui saved/",
    ),
)
@logs.reading(
    own=click.option("--session", metavar="ID", help="Go straight to this session; the others are there too."),
)
@click.option("--follow", is_flag=True, help="Read on when a log grows.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--theme", metavar="NAME", help="audit-dark, audit-light, ansi-dark, ansi-light or another one.")
@click.option("--keymap", metavar="FILE", help="Other keys, in TOML: see --keys.")
@click.option("--keys", is_flag=True, help="Print a keymap file with every action and its keys.")
def command(
    *,
    follow: bool,
    ascii_only: bool,
    theme: str | None,
    keymap: str | None,
    keys: bool,
    **given: Unpack[Given],
) -> int:
    """Open the terminal workspace; `?` there lists its keys. NO_COLOR is respected.

    A PATH is a log, a folder of logs, or the folder of one saved audit (`analyzer audit --save`).

    Exit status: 3 where not all could be read or recognised, 4 where a rule crashed; what was found decides nothing.
    """
    if keys:
        from analyzer.tui.keys import keymap_file

        console.write(keymap_file())
        return exits.CLEAN
    asked = logs.arguments(given)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"the workspace needs a terminal; {_PRINT}")
    if os.environ.get("TERM") == "dumb":  # as in an editor's shell: it has no place to put things at
        raise UsageError(f"the workspace needs a terminal whose cursor moves, and TERM is dumb; {_PRINT}")
    from analyzer.tui import run

    session = asked.pop("session")
    case = run(
        given["paths"],
        asked=asked,
        session=session,
        follow=follow,
        ascii_only=ascii_only or not _draws(),
        theme=theme,
        keymap=keymap,
        warning=holding.warning("the workspace", given["paths"]),
    )
    if case is None:
        return exits.CLEAN
    if case.crashed:
        return exits.FAULT
    return exits.UNREAD if case.missing or not case.inputs else exits.CLEAN


def _draws() -> bool:
    """Whether the terminal's encoding has the signs of the workspace: others would be escapes, and no pictures."""
    try:
        "╭─╮│▌✖▸…█".encode(getattr(sys.__stderr__, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
