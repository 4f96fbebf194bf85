"""`analyzer contracts diff`: two contracts, what changed, in which direction, and whom it breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

import click

from analyzer.cli import console, exits, logs
from analyzer.cli.contracts import shared
from analyzer.cli.given import Given
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.contracts.comparison.rename import Rename
    from analyzer.contracts.operands import Operand
    from analyzer.report.comparisons import Compared

_MOST_PAYLOADS = 2_000


@click.command(
    "diff",
    short_help="Compare two contracts: what changed, and whom it breaks.",
    epilog=console.examples(
        "analyzer contracts diff old.schema.json new.schema.json",
        "analyzer contracts diff pins/ new_tools.json",
        "analyzer contracts diff refund_order@1 refund_order@2 sample_traces",
    ),
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@logs.reading("final_schema", "assert_formats")
@click.option(
    "--role",
    type=click.Choice(("arguments", "output")),
    default="arguments",
    show_default=True,
    help="What a schema alone is for: it decides whom a change breaks.",
)
@click.option("--structure", is_flag=True, help="Show every structural difference, too.")
@shared.output_format
@logs.no_color
def command(
    *,
    a: str,
    b: str,
    role: Literal["arguments", "output"],
    structure: bool,
    form: str,
    no_color: bool,
    **given: Unpack[Given],
) -> int:
    """Compare two contracts: equal, wider, narrower or incomparable, with every change named at its place.

    A and B are each a schema file, a contract file, a folder of pins, or TOOL@VERSION of the logs in PATH (`contracts
    list` numbers the versions; first and last will do). With logs, recorded payloads that tell them apart are listed.
    Arguments break callers when they narrow; outputs break readers when they widen.

    Exit status: 0 nothing breaks; 1 a change breaks the other side, or a tool is gone; 3 it cannot be decided, or a log
    could not be read.
    """
    from analyzer.contracts import operands
    from analyzer.contracts.comparison.rename import match_renamed
    from analyzer.report import comparisons

    logged = operands.is_version(a) or operands.is_version(b)
    if logged and not given["paths"]:
        raise UsageError("TOOL@VERSION is of a log: give its PATH after A and B")
    done = shared.replayed(given) if given["paths"] else None
    left, right = (_operand(each, done) for each in (a, b))
    pairs = operands.paired(left, right)
    compared = [_compared(pair, role, done) for pair in pairs]
    gone, come = (
        {
            each.tool: schema
            for each, pair in zip(compared, pairs, strict=True)
            if each.what == what
            for schema in [pair[2] if what == "removed" else pair[3]]
            if each.role == "arguments"
        }
        for what in ("removed", "added")
    )
    renamed: list[Rename] = match_renamed(gone, come)
    if form == "json":
        shared.deliver_json(comparisons.records(compared, renamed))
    else:
        paper = shared.page(no_color=no_color)
        comparisons.sides(paper, a, b)
        comparisons.told(paper, compared, renamed, structure=structure)
        console.write(paper.text())
    verdicts = {each.breakage.verdict if each.breakage else each.what for each in compared}
    if verdicts & {"breaking", "removed"}:
        return exits.FINDINGS
    if "unknown" in verdicts:
        return exits.UNREAD
    return exits.CLEAN if done is None else exits.decide(done, fail_on="never")


def _operand(text: str, done: Audit | None) -> Operand:
    from analyzer.contracts import operands

    return operands.from_log(text, done.frames) if done and operands.is_version(text) else operands.from_file(text)


def _compared(pair: tuple[str, str, Any, Any], role: Literal["arguments", "output"], done: Audit | None) -> Compared:
    from analyzer.contracts.comparison.compare import breaking, compare, structural_difference, witnesses
    from analyzer.report.comparisons import Compared

    tool, named_role, a, b = pair
    if a is ... or b is ...:
        return Compared(tool, named_role, "added" if a is ... else "removed")
    of: Literal["arguments", "output"] = "output" if (named_role or role) == "output" else "arguments"
    recorded = _recorded(tool, of, done) if done and tool else []
    payloads = [payload for _, payload in recorded]
    found = compare(a, b, payloads=payloads)
    calls = [(recorded[each.position][0], each) for each in witnesses(a, b, payloads)]
    return Compared(tool, of, "compared", found, breaking(found, role=of), structural_difference(a, b), calls)


def _recorded(tool: str, role: str, done: Audit) -> list[tuple[str, Any]]:
    """Recorded payloads of a tool, each with its session and call id."""
    import polars as pl

    from analyzer.replay.payloads import read_payload
    from analyzer.report.naming import bare

    frame = done.frames["calls" if role == "arguments" else "results"].filter(pl.col("tool").is_not_null())
    if role == "output":
        frame = frame.filter(pl.col("success").fill_null(value=True) & pl.col("error").is_null())
    keys = {key for key in frame["tool"].unique() if tool in (key, bare(key), bare(key).rpartition("/")[2])}
    found = []
    for session, call_id, text in (
        frame.filter(pl.col("tool").is_in(sorted(keys)))
        .select("session", "call_id", "text")
        .head(_MOST_PAYLOADS)
        .iter_rows()
    ):
        payload = read_payload(text)
        if payload.problem is None and payload.kind != "not_json":
            found.append((f"{session or '-'} {call_id or '-'}", {} if payload.kind == "empty" else payload.value))
    return found
