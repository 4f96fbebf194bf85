"""`analyzer contracts pin`: write down what was advertised, and fail when it drifts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.contracts.pins import Advertised, Pin


@click.command(
    "pin",
    short_help="Pin what was advertised, one file per tool; tell what drifted.",
    epilog=console.examples(
        "analyzer contracts pin --into pins sample_traces",
        "analyzer contracts pin --into pins --check new_logs/",
        "analyzer contracts pin --into pins --update new_logs/",
    ),
)
@logs.reading("contracts", "executed", "final_schema", "assert_formats")
@click.option("--into", "folder", metavar="DIR", required=True, help="The folder of the pins, one JSON file per tool.")
@click.option("--check", "checking", is_flag=True, help="Write nothing; end with status 1 where something has drifted.")
@click.option("--update", is_flag=True, help="Replace pins by the newest definition that was advertised.")
@shared.output_format
@logs.no_color
def command(*, folder: str, checking: bool, update: bool, form: str, no_color: bool, **given: Unpack[Given]) -> int:
    """Pin what was advertised: one canonical JSON file per tool, trust on first use.

    The first definition of each tool that has no pin yet is written; a pin that is there stays as it is, and what
    differs from it is told with direction, also where a tool changes inside of one log. --update takes the newest
    definition as the pin, which remembers what it replaced: --check of the same log is clean from then on. Pins are
    contract files: `audit --contracts DIR` judges by them.

    Exit status: 0; with --check 1 where a tool differs from its pin, has none, or changed its wording; 3 where a log
    could not be read or recognised, or shows no tool to pin, with --check no pinned one.
    """
    if checking and update:
        raise UsageError("--check writes nothing and --update writes: give one of them")
    from analyzer.contracts import pins
    from analyzer.report import drifts
    from analyzer.report.evidence import Recorded

    target = Path(folder)
    if checking and not target.is_dir():
        raise UsageError("no pins to check against: pin first, without --check", file=folder)
    done = shared.replayed(given, keep_frames=False)
    with Recorded(done) as recorded:
        tools, bare = pins.advertised(done.frames, recorded.element)
    held = pins.read_pins(target) if target.is_dir() else []
    written = [] if checking else _write(target, tools, held, update=update)
    found = pins.check(tools, pins.read_pins(target) if target.is_dir() else [], bare)
    if form == "json":
        shared.deliver_json({"pinned": written, "tools": drifts.records(found), "without_schema": bare})
    else:
        paper = shared.page(no_color=no_color)
        drifts.told(paper, found, written, bare)
        console.write(paper.text())
    if checking and any(each.drifted for each in found):
        return exits.FINDINGS
    if checking and all(each.what == "absent" for each in found):
        console.complain("nothing was checked: none of the pinned tools is advertised in these logs")
        return exits.UNREAD
    if not checking and not tools:
        console.complain("nothing to pin: no tool is advertised with a schema in these logs")
        return exits.UNREAD
    return exits.decide(done, fail_on="never")


def _write(folder: Path, tools: list[Advertised], held: list[Pin], *, update: bool) -> list[str]:
    """Write the pins that are missing, or with `update` all that differ; the files that were written."""
    from analyzer.contracts import pins

    known = {(pin.server, pin.name): pin for pin in held}
    written = []
    for tool in tools:
        pin = known.get((tool.server, tool.name))
        if pin is not None and not update:
            continue
        file = Path(pin.file) if pin is not None else folder / pins.file_of(tool.server, tool.name)
        text = pins.text_of(pins.pinned(tool, replacing=pin, latest=update)).encode("utf-8", "backslashreplace")
        try:
            if file.is_file() and file.read_bytes() == text:
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write pins: {error.strerror or error}", file=str(file)) from error
        console.deliver([text], str(file))
        written.append(str(file))
    return written
