"""Options that several commands share, and the configuration behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.cli import console
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.config import Config

F = TypeVar("F", bound=Callable[..., Any])

MASKED = "What a log holds is shown with credentials masked and control characters spelled out."


def _configured(ctx: click.Context, _: click.Parameter, file: str | None) -> Config:
    """Load the configuration before the other options are read, so that its settings are their defaults."""
    from analyzer.config import load

    config = load(file)
    ctx.default_map = dict(config.flags)
    return config


def logs(command: F) -> F:
    """What to read, and by which contracts: PATH... and the options that say so."""
    for option in reversed(
        (
            click.argument("paths", metavar="PATH...", nargs=-1),
            click.option(
                "--contracts",
                multiple=True,
                metavar="FILE-OR-DIR",
                help="Contracts of the tools as they are executed: a map of tool names to schemas, a provider's tool "
                "table, or a folder of TOOL.arguments.json and TOOL.output.json. May be repeated.",
            ),
            click.option("--final-schema", metavar="FILE", help="Schema of the final answer's object."),
            click.option("--input-format", metavar="NAME", help="Read all as this format; see `analyzer formats`."),
            click.option("--session", metavar="ID", help="This session only."),
            click.option("--assert-formats", is_flag=True, help="Judge `format` as a constraint, not as a note."),
            click.option(
                "--config",
                metavar="FILE",
                is_eager=True,
                callback=_configured,
                help="Settings; else the nearest analyzer.toml, or pyproject.toml with [tool.analyzer].",
            ),
        )
    ):
        command = option(command)
    return command


no_color = click.option("--no-color", is_flag=True, help="No colour, even on a terminal; NO_COLOR does the same.")
output = click.option("-o", "output", metavar="FILE", help="Write here, whole or not at all, not to standard output.")


def check_logs(paths: tuple[str, ...], input_format: str | None) -> None:
    """Refuse a command without a path, and a format that does not exist."""
    if not paths:
        raise UsageError("no PATH given: name a log, a folder of logs, or - for standard input")
    if input_format is not None:
        from analyzer.cli.formats import formats

        names = [each.name for each in formats()]
        if input_format not in names:
            near = console.meant(input_format, names)
            raise UsageError(f"no format {input_format!r}{near or '; `analyzer formats` lists them'}")
