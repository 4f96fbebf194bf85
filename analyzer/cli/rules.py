"""`analyzer rules`: the catalogue, and the manual of each rule."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from analyzer.cli import completing, console
from analyzer.errors import UsageError
from analyzer.report.paper import Paper, Words
from analyzer.rules import catalogue

_HEADING = re.compile(r"^[A-Z][A-Za-z ]{1,30}:(?= |$)")


@click.command(
    "rules",
    epilog=console.examples(
        "analyzer rules",
        "analyzer rules ARG",
        "analyzer rules ARG001",
        "analyzer rules args-schema-mismatch",
        "analyzer rules --output-format json",
    ),
)
@click.argument("name", metavar="[CODE, SLUG OR FAMILY]", required=False, shell_complete=completing.rules)
@click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", show_default=True, help="How to print it."
)
@click.option("--no-color", is_flag=True, help="No colour, even on a terminal.")
def command(*, name: str | None, output_format: str, no_color: bool) -> None:
    """List the rules, or those of a family, with severity and confidence, or print the manual of one."""
    found = catalogue.RULES
    rule = None
    if name is not None:
        rule = catalogue.find_rule(name)
        found = (rule,) if rule is not None else catalogue.family(name)
        if not found:
            near = catalogue.nearest(name)
            raise UsageError(
                f"no rule {name!r}" + (f"; did you mean {near!r}?" if near else "; `analyzer rules` lists them")
            )
    if output_format == "json":
        from importlib.resources import files

        measured = json.loads(files("analyzer.rules").joinpath("measured.json").read_bytes())
        console.write(json.dumps([_record(rule, measured) for rule in found], ensure_ascii=False, indent=1), "\n")
        return
    paper = Paper(width=console.width(), colour=console.colour(wanted=not no_color))
    if rule is not None:
        _manual(paper, rule)
    else:
        for rule in found:
            paper.line(
                (f"{rule.code:9}", "name"), f"{rule.slug}  ", (rule.severity, rule.severity), f"  {rule.confidence}"
            )
            paper.wrapped(rule.title, indent=9)
    console.write(paper.text())


def _record(rule: catalogue.Rule, measured: dict[str, Any]) -> dict[str, Any]:
    """The rule, with what it found of the planted faults in the last measured run, or why none can be planted."""
    return {
        "code": rule.code,
        "slug": rule.slug,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "scope": rule.scope,
        "title": rule.title,
        "manual": rule.manual,
        "measured": measured["rules"].get(rule.code),
        "out_of_reach": measured["out_of_reach"].get(rule.code),
    }


def _manual(paper: Paper, rule: catalogue.Rule) -> None:
    paper.line((f"{rule.code} {rule.slug}", "name"), f" · {rule.severity} · {rule.confidence}")
    paper.blank()
    for line in rule.manual.splitlines():
        heading = _HEADING.match(line)
        words: list[Words] = [(heading[0], "head"), line[heading.end() :]] if heading else [line]
        paper.exact(*words)
