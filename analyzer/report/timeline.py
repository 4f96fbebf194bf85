"""A session or a turn on paper: its events in order, and under each what was found there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.findings.deciding import borne
from analyzer.report.naming import bare
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_TEXT = 160
_ALIKE = 3  # findings of one rule at one event
_PREFIX = "agent.session."


def sessions(paper: Paper, audit: Audit) -> None:
    """One line for each session, the worst first."""
    found = (
        audit.findings.select("session", "severity", "suppressed")
        .filter(~borne())
        .group_by("session")
        .agg(errors=(pl.col("severity") == "error").sum(), others=(pl.col("severity") != "error").sum())
    )
    calls = audit.frames["calls"].group_by("session").agg(calls=pl.len())
    rows = (
        audit.frames["sessions"]
        .join(found, on="session", how="left", maintain_order="left")
        .join(calls, on="session", how="left", maintain_order="left")
        .with_columns(pl.col("errors", "others", "calls").fill_null(0))
        .sort("errors", "others", "first_event", "session", descending=[True, True, False, False])
    )
    head: list[Words] = [(word, "dim") for word in ("session", "events", "calls", "errors", "others", "ended")]
    paper.table(
        [head]
        + [
            [
                (visible(row["session"] or "-", limit=60), "head"),
                str(row["events"]),
                str(row["calls"]),
                (str(row["errors"]), "error") if row["errors"] else "0",
                str(row["others"]),
                visible(row["last_status"] or "-", limit=40),
            ]
            for row in rows.iter_rows(named=True)
        ],
        right=[1, 2, 3, 4],
    )


def timeline(paper: Paper, audit: Audit, session: str | None, turn: str | None = None) -> None:
    """The events of a session, or of one turn of it, in the order in which they happened."""
    events = audit.frames["events"].filter(pl.col("session").eq_missing(pl.lit(session)))
    if turn is not None:
        events = events.filter(pl.col("turn") == turn)
    events = events.sort("seq", "event")
    paths = dict(audit.frames["sources"].select("source", "path").iter_rows())
    notes = _Notes(audit.frames, session).by_event
    found = _found(audit.findings, session)
    paper.line(("Session ", "dim"), (visible(session or "-"), "head"), f"  turn {visible(turn)}" if turn else "")
    lines = len(str(events["line"].max() or 0)) + 1
    here: int | None = None
    for row in _collapsed(events):
        if row["source"] != here:
            here = row["source"]
            paper.exact((visible(paths.get(row["source"]) or "-", limit=1000), "place"))
        time = f"{row['time']:%H:%M:%S}" if row["time"] is not None else " " * 8
        native = visible(row["type"] or row["kind"], limit=60).removeprefix(_PREFIX)
        head = f"{row['seq']:>5} {time} {':' + str(row['line']):>{lines}} "
        if row["pieces"] > 1:
            paper.line((head, "dim"), f"{row['pieces']} pieces of text", indent=0)
            continue
        said = notes.get(row["event"], [])
        paper.line((head, "dim"), f"{native:<20}", *(["  ", *said[0]] if said else []))
        for more in said[1:]:
            paper.line(" " * len(head), " " * 22, *more)
        _found_here(paper, found.pop(row["seq"], []), len(head))


def _found_here(paper: Paper, findings: list[dict[str, Any]], indent: int) -> None:
    """What was found at one event; of a rule that has much to say of it, such as of every tool of a table, a part."""
    told: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        kind = (finding["severity"], finding["rule"])
        told[kind] += 1
        if told[kind] > _ALIKE:
            continue
        tool, message = visible(finding["tool"] or "", limit=60), visible(finding["message"], limit=300)
        paper.wrapped(
            ("! ", finding["severity"]),
            (f"{' '.join(kind)} ", finding["severity"]),
            f"{tool}: {message}" if tool and tool not in message else message,
            ("  (suppressed)" if finding["borne"] else "", "dim"),
            indent=indent,
            hang=2,
        )
    for (severity, rule), times in told.items():
        if times > _ALIKE:
            more = f"and {times - _ALIKE} more of {rule} here: `analyzer audit --select {rule}` lists them"
            paper.wrapped((f"! {severity} ", severity), (more, "dim"), indent=indent, hang=2)


def _collapsed(events: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The events, each run of text pieces as its first with their number in `pieces`."""
    run = ((pl.col("kind") != "delta") | (pl.col("kind").shift() != "delta")).fill_null(value=True).cum_sum()
    yield from (
        events.with_columns(run=run)
        .group_by("run", maintain_order=True)
        .agg(pl.all().first(), pieces=pl.len())
        .iter_rows(named=True)
    )


def _found(findings: pl.DataFrame, session: str | None) -> dict[int | None, list[dict[str, Any]]]:
    by_seq: dict[int | None, list[dict[str, Any]]] = {}
    mine = findings.filter(pl.col("session").eq_missing(pl.lit(session)))
    for row in mine.select("seq", "severity", "rule", "tool", "message", borne=borne()).iter_rows(named=True):
        by_seq.setdefault(row["seq"], []).append(row)
    return by_seq


class _Notes:
    """What each event is about, in words."""

    def __init__(self, frames: dict[str, pl.DataFrame], session: str | None) -> None:
        self.by_event: dict[int, list[list[Words]]] = {}
        self._sightings = frames["sightings"].filter(pl.col("what") == "call").sort("seq", "event")
        self._frames = {
            name: frame.filter(pl.col("session").eq_missing(pl.lit(session)))
            for name, frame in frames.items()
            if "session" in frame.columns
        }
        self._calls = {row["call"]: row for row in self._rows("calls")}
        self._called()
        self._answered()
        self._said()

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        return self._frames[name].iter_rows(named=True)

    def _add(self, event: int | None, *words: Words) -> None:
        if event is not None:
            self.by_event.setdefault(event, []).append(list(words))

    def _called(self) -> None:
        judged = self._frames["verdicts"].filter(pl.col("role") == "arguments").sort("side", descending=True)
        verdicts = dict(judged.select("call", "verdict_is").iter_rows())
        for call in self._calls.values():
            said = verdicts.get(call["call"], "not judged")
            style = {"invalid": "error", "unverifiable": "warning"}.get(said, "dim")
            self._add(call["event"], ("call ", "dim"), (_id(call), "head"), f" {_name(call)} ", (said, style))
        for row in self._sightings.iter_rows(named=True):
            seen = self._calls.get(row["id"])
            if seen is not None and row["event"] != seen["event"]:
                self._add(row["event"], (f"{row['stage']} ", "dim"), f"{_id(seen)} {_name(seen)}")

    def _answered(self) -> None:
        for row in self._rows("results"):
            call = self._calls.get(row["call"])
            flag = {True: "success", False: "failure", None: "no flag"}[row["success"]]
            name = _name(call) if call else "no such call"
            style = "warning" if row["success"] is False or call is None else "dim"
            text = visible(row["error"] or row["text"] or "", limit=_TEXT)
            self._add(row["event"], ("result ", "dim"), f"{_id(row)} {name} ", (flag, style), f" {text}")
            self._add(row["echo_event"], ("echo of result ", "dim"), _id(row))

    def _said(self) -> None:
        for row in self._rows("messages"):
            role = f"{visible(row['role'] or '-', limit=20)}: "
            self._add(row["event"], (role, "dim"), visible(row["text"] or "", limit=_TEXT))
        for row in self._rows("offers"):
            if row["role"] == "arguments" and (row["after"] is not None or row["state"] == "withdrawn"):
                tool = f"{row['state']} {visible(bare(row['tool']))} {row['schema_id'] or ''}"
                self._add(row["event"], ("table ", "dim"), tool)
        for row in self._rows("approvals"):
            what = visible(row["decision"] or row["stage"] or "", limit=40)
            self._add(row["event"], ("approval ", "dim"), f"{what} {visible(row['name'] or '', limit=80)}")
        for row in self._rows("gates"):
            self._add(
                row["event"], ("gate ", "dim"), f"{visible(row['check'] or '', limit=80)} execute {row['execute']}"
            )
        for row in self._rows("summaries"):
            self._add(row["event"], (f"{row['what']} ", "dim"), visible(row["text"] or "", limit=_TEXT))
        for row in self._rows("faults"):
            self._add(row["event"], (f"{row['fault']} ", "warning"), visible(row["detail"] or "", limit=_TEXT))


def _id(row: dict[str, Any]) -> str:
    return visible(row["call_id"] or row["pair_id"] or "-", limit=60)


def _name(row: dict[str, Any]) -> str:
    return visible(f"{row['server']}/{row['name']}" if row["server"] else row["name"] or "-", limit=80)
