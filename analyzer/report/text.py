"""The text report: what an engineer on call reads at night. First where to look, then each fault with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.report import accounts
from analyzer.report.borne import borne_of
from analyzer.report.finding import concise, in_full, labelled, meant, place_of
from analyzer.report.json import records
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_FIRST = 10  # of the faults to look at first
_ALIKE = 3  # of one rule among them
_GROUPS = 40  # different faults told in full
_SHORT = 60  # further ones, a line each
_NOTES = 20  # notes, a paragraph each
_REPEATS = 3  # further occurrences of a fault that are named where they are

_RANKS = {
    "severity": {"error": 0, "warning": 1, "info": 2},
    "confidence": {"certain": 0, "likely": 1, "hint": 2},
}
_COUNTS = pl.col("suppressed").is_null() | pl.col("suppressed").struct.field("reason").is_null()
# Of two errors the one with consequences comes first: what ran, what leaked.
_CONSEQUENCES = ("RUN", "SAFE")


def page(audit: Audit, *, next_command: str, statistics: bool = False, width: int = 80, colour: bool = False) -> str:
    """The report. `next_command` is its last line; `statistics` counts by rule in the place of the findings."""
    paper = Paper(width=width, colour=colour)
    found = faults(audit.findings)
    accounts.totals(paper, audit)
    if statistics:
        _statistics(paper, audit.findings)
    elif found.height:
        _first(paper, found)
        _told(paper, audit.findings, found.filter(pl.col("severity") != "info"))
        _notes(paper, audit.findings, found.filter(pl.col("severity") == "info"))
    if not statistics:
        _borne(paper, audit.findings)
    if audit.summary["events"]:
        accounts.hops(paper, audit)
        accounts.coverage(paper, audit)
        accounts.losses(paper, audit)
        accounts.rules_not_run(paper, audit)
    accounts.notes(paper, audit)
    accounts.inputs(paper, audit)
    paper.heading("Next")
    paper.exact(next_command, indent=2)
    return paper.text()


def faults(findings: pl.DataFrame) -> pl.DataFrame:
    """One row for each group of findings not suppressed, the worst first: the members of its first finding, counts."""
    kinds = (
        findings.select("group", "session", "suppressed")  # findings are wide, and to filter is to hold them twice
        .with_row_index("row")
        .filter(_COUNTS)
        .group_by("group", maintain_order=True)
        .agg(pl.col("row").first(), times=pl.len(), sessions=pl.col("session").drop_nulls().n_unique())
    )
    first = findings.select("rule", "slug", "severity", "confidence", "session", "call_id", "tool", "failures")
    return (
        kinds.hstack(first[kinds["row"]])
        .sort(-pl.col("times").cast(pl.Int64), "row")
        .with_columns(nth=pl.int_range(pl.len()).over("rule", "severity", "confidence"))
        .sort(
            *(pl.col(name).replace_strict(ranks, default=3, return_dtype=pl.Int8) for name, ranks in _RANKS.items()),
            # A rule that fires everywhere must not hide the others.
            pl.col("nth") // _ALIKE,
            ~pl.col("rule").str.contains(f"^(?:{'|'.join(_CONSEQUENCES)})"),
            -pl.col("times").cast(pl.Int64),
            "row",
        )
    )


def _first(paper: Paper, faults: pl.DataFrame) -> None:
    paper.heading("Where to look first")
    first = faults.filter(pl.col("nth") < _ALIKE).head(_FIRST)
    _lines(paper, first)
    left = faults.height - first.height
    if left:
        findings = int(faults["times"].sum()) - int(first["times"].sum())
        paper.line((f"and {accounts.more_kinds(left, findings)}", "dim"), indent=2)


def _lines(paper: Paper, faults: pl.DataFrame) -> None:
    """A line for each fault."""
    rows: list[list[Words]] = [
        [(fault["severity"], fault["severity"]), (fault["rule"], "name"), f"{fault['times']}x", _in_short(fault)]
        for fault in faults.iter_rows(named=True)
    ]
    paper.table(rows, indent=2, right=[2], wrap_last=True)  # a call id that is cut cannot be typed


def _in_short(fault: dict[str, Any]) -> str:
    """The rule in words, the tool, the call, and the guilty members: what tells the lines of a list apart."""
    members = dict.fromkeys(meant(failure) for failure in fault["failures"] or [])
    words = [
        visible(" ".join(word for word in (fault["slug"], fault["tool"]) if word), limit=100),
        visible(fault["call_id"] or fault["session"] or "", limit=60),
        visible(", ".join(member for member in members if member), limit=100),
    ]
    return "  ".join(word for word in words if word)


def _told(paper: Paper, findings: pl.DataFrame, faults: pl.DataFrame) -> None:
    told = faults.head(_GROUPS)
    said: dict[str, str] = {}
    for session, rows in _by_session(_chosen(findings, told)):
        paper.heading(f"Session {visible(session)}" if session is not None else "No session")
        call: tuple[str | None, str | None] | None = None
        told_sides: list[Any] = []
        for row in rows:
            if (row["call_id"], row["tool"]) != call:
                call = row["call_id"], row["tool"]
                paper.blank()
                if row["call_id"] is not None:
                    called = (visible(row["call_id"], limit=60), "head")
                    paper.wrapped(("call ", "dim"), called, *_of(row), indent=2, hang=2)
            indent = 2 if row["call_id"] is None else 4
            if row["first"]:
                sides = [row["call_id"], row["failures"], row["contract"]]
                again = sides == told_sides and row["failures"]
                in_full(paper, row, indent=indent, sides=not again)
                told_sides = sides
                said[row["group"]] = _apart(row)
            else:
                concise(paper, row, indent=indent, message=_apart(row) != said.get(row["group"]))
    if faults.height > _GROUPS:
        paper.heading("In short")
        _lines(paper, faults.slice(_GROUPS, _SHORT))
        paper.line(("--select RULE tells the findings of one rule in full", "dim"), indent=2)
    _untold(paper, faults.slice(_GROUPS + _SHORT))


def _apart(row: dict[str, Any]) -> str:
    """What a finding says, but for the call it says it of: where that differs, a repeat needs its own words."""
    call_id = row["call_id"]
    message: str = row["message"] or ""
    return message.replace(call_id, "") if call_id else message


def _notes(paper: Paper, findings: pl.DataFrame, faults: pl.DataFrame) -> None:
    """What costs nothing tonight: behind the rest, and short."""
    if faults.is_empty():
        return
    paper.heading("Notes")
    shown = faults.head(_NOTES)
    for times, row in zip(shown["times"], records(findings[shown["row"].to_list()]), strict=True):
        head: list[Words] = [("info", "info"), (f" {row['rule']} {row['slug']}", "name"), f" {times}x: "]
        paper.wrapped(*head, visible(row["message"], limit=400), indent=2, hang=2)
        if row["location"] is not None:
            labelled(paper, "at", place_of(row["location"]), 4, 3)
    _untold(paper, faults.slice(_NOTES))


def _borne(paper: Paper, findings: pl.DataFrame) -> None:
    held = borne_of(findings)
    if held.suppressed:
        paper.heading("Suppressed")
        for row in held.listed:
            of = "  ".join(visible(text, limit=60) for text in (row.tool, row.call) if text)
            until = f", until {row.until}" if row.until else ""
            paper.wrapped((row.rule, "name"), f"  {of}: {visible(row.reason, limit=300)}{until}", indent=2, hang=2)
        if held.suppressed > len(held.listed):
            left = held.suppressed - len(held.listed)
            paper.line((f"and {left} more; --output-format json has all", "dim"), indent=2)
    if held.known:
        paper.heading("Known, for the baseline holds them")
        paper.wrapped(", ".join(f"{count} {rule}" for rule, count in held.rules), indent=2, hang=2)


def _untold(paper: Paper, left: pl.DataFrame) -> None:
    if left.is_empty():
        return
    paper.blank()
    paper.wrapped(
        f"Not told here: {accounts.more_kinds(left.height, int(left['times'].sum()))}. --statistics counts them by "
        "rule, --select shows those of one rule, --output-format json has all."
    )


def _chosen(findings: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """The findings to print: the first of each fault, marked `first`, and a few of its repeats, by session and call."""
    nth = pl.int_range(pl.len()).over("group")
    called = pl.col("row").min().over("session", "call_id", "tool")
    narrow = (
        findings.select("group", "suppressed")
        .with_row_index("row")
        .filter(_COUNTS)
        .drop("suppressed")
        .join(told.select("group", "times", "sessions"), on="group", maintain_order="left")
        .with_columns(nth=nth)
        .filter(pl.col("nth") <= _REPEATS)
    )
    return (
        findings[narrow["row"]]
        .hstack(narrow.drop("group"))
        .with_columns(
            first=pl.col("nth") == 0,
            more=pl.col("times").cast(pl.Int64) - 1 - _REPEATS,
            by_session=pl.col("row").min().over("session"),
            by_call=called,
        )
        .sort("by_session", "by_call", "row")
    )


def _by_session(chosen: pl.DataFrame) -> Iterator[tuple[str | None, list[dict[str, Any]]]]:
    rows: list[dict[str, Any]] = []
    for row in records(chosen):
        if rows and rows[0]["session"] != row["session"]:
            yield rows[0]["session"], rows
            rows = []
        rows.append(row)
    if rows:
        yield rows[0]["session"], rows


def _of(row: dict[str, Any]) -> list[str]:
    tool = f"  {visible(row['tool'], limit=60)}" if row["tool"] else ""
    turn = f"  turn {visible(row['turn'], limit=40)}" if row["turn"] else ""
    return [tool, turn]


def _statistics(paper: Paper, findings: pl.DataFrame) -> None:
    counts = (
        findings.filter(_COUNTS)
        .group_by("rule", "slug", "severity")
        .agg(times=pl.len(), sessions=pl.col("session").n_unique(), groups=pl.col("group").n_unique())
        .sort("times", "rule", "severity", descending=[True, False, False])
    )
    if counts.is_empty():
        return
    paper.heading("Findings by rule")
    paper.table(
        [[("findings", "dim"), ("faults", "dim"), ("sessions", "dim"), ("severity", "dim"), ("rule", "dim"), ""]]
        + [
            [
                str(row["times"]),
                str(row["groups"]),
                str(row["sessions"]),
                (row["severity"], row["severity"]),
                (row["rule"], "name"),
                row["slug"],
            ]
            for row in counts.iter_rows(named=True)
        ],
        indent=2,
        right=[0, 1, 2],
    )
