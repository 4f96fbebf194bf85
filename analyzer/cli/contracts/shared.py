"""What the commands on contracts share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli import console, logs

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.cli.given import Given
    from analyzer.report.paper import Paper

output_format: Callable[[Any], Any] = click.option(
    "--output-format",
    "form",  # a name of its own: the setting `output_format` is about the audit's reports
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How to print it.",
)


def replayed(given: Given, *, keep_frames: bool = True) -> Audit:
    """The audit of the logs without its rules: contracts and verdicts come before them.

    Without `keep_frames` only how the calls under each contract fared is kept: little, however long the log.
    """
    from analyzer.rules.catalogue import RULES

    return logs.audited(given, ignore=[rule.code for rule in RULES], keep_frames=keep_frames, details=not keep_frames)


def page(output: str | None = None, *, no_color: bool = False) -> Paper:
    """An empty page for standard output or a file."""
    from analyzer.report.paper import Paper

    return Paper(
        width=console.PLAIN_WIDTH if output else console.width(),
        colour=output is None and console.colour(wanted=not no_color),
    )


def deliver_json(value: object, output: str | None = None) -> None:
    """One JSON document on one line, safe to print, credentials masked."""
    from analyzer.masking import masked
    from analyzer.report.json import encoded

    console.deliver([encoded(masked(value)) + b"\n"], output)
