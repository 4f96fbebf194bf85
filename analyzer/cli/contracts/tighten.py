"""`analyzer contracts tighten`: tighter schemas from what tools were really given."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.report.proposals import Proposed


@click.command(
    "tighten",
    short_help="Propose what would have kept the bad calls out.",
    epilog=console.examples(
        "analyzer contracts tighten sample_traces",
        "analyzer contracts tighten --tool refund_order sample_traces -o tighter.json",
        "analyzer replay --against tighter.json sample_traces",
    ),
)
@logs.reading("final_schema")
@click.option(
    "--tool", "tools", multiple=True, metavar="NAME[@N]", help="This tool only, at the Nth of its versions. Repeatable."
)
@click.option("--role", type=click.Choice(("arguments", "output")), help="Only what goes in, or only what comes back.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed splits the sessions otherwise.")
@click.option("--all", "every", is_flag=True, help="Show what was considered and dropped, too.")
@click.option("-o", "output", metavar="FILE", help="Write the proposed schemas as a contract file.")
@shared.output_format
@logs.no_color
def command(
    *,
    tools: tuple[str, ...],
    role: str | None,
    seed: int,
    every: bool,
    output: str | None,
    form: str,
    no_color: bool,
    **given: Unpack[Given],
) -> int:
    """Propose, member by member, what would have kept bad calls out and let the good ones through.

    Enums from few observed values, patterns with a length from identifiers, closed objects, full `required`, the shape
    of decoded outputs, bounds of numbers. Learnt from a random half of the sessions and judged on the other half; a
    member needs 20 calls over 3 sessions, and at most 1 % of the good calls of the other half may be lost. A schema
    where a tool has none is called inferred. What is tightened is the newest version, or the one that NAME@N asks for
    (`contracts list` numbers them); calls made under others teach what the members that both have hold.

    Exit status: 0; 3 where something could not be read or recognised; 2 where no call of such a tool is recorded.
    """
    done = logs.audited(given)
    from analyzer.contracts import dialects
    from analyzer.contracts.tightening.tighten import tighten
    from analyzer.masking import masked
    from analyzer.replay.observations import observed
    from analyzer.report import proposals

    proposed: list[Proposed] = []
    names: set[str] = set()
    asked = dict(_numbered(name) for name in tools)
    for each in observed(done.frames, done.findings, {name: number for name, number in asked.items() if number}):
        label = f"{each.server}/{each.name}" if each.server else each.name
        names.add(label)
        if (asked and label not in asked and each.name not in asked) or (role and each.role != role):
            continue
        found = tighten(
            each.observations,
            each.schema,
            tool=label,
            role="output" if each.role == "output" else "arguments",
            seed=seed,
            dialect=each.dialect or dialects.DEFAULT,
            elsewhere=each.elsewhere,
        )
        version = proposals.Version(each.number, each.newest, len(each.elsewhere), each.later)
        proposed.append(proposals.Proposed(each.tool, each.server, each.name, each.role, version, found))
    for name in asked:
        if not any(name in (each.name, f"{each.server}/{each.name}") for each in proposed):
            raise UsageError(f"no call of a tool {name!r} in the log{console.meant(name, names)}")
    if output is not None:
        text = json.dumps(masked(proposals.contract_file(proposed)), ensure_ascii=True, indent=2, sort_keys=True)
        console.deliver([text.encode(), b"\n"], output)
    if form == "json":
        shared.deliver_json(proposals.records(proposed))
    else:
        paper = shared.page(no_color=no_color)
        proposals.told(paper, proposed, every=every)
        console.write(paper.text())
    return exits.decide(done, fail_on="never")


def _numbered(name: str) -> tuple[str, int | None]:
    """A tool's name and the number of a version behind it, where one is asked for."""
    tool, _, number = name.rpartition("@")
    return (tool, int(number)) if tool and number.isascii() and number.isdecimal() else (name, None)
