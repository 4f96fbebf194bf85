"""One call on paper: what was asked beside the schema in force, the verdict, what came back, the gate, the findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyzer.report import gate
from analyzer.report.evidence import Recorded
from analyzer.report.finding import in_full, labelled, origin, passes, place_of
from analyzer.report.json import encoded, records
from analyzer.report.mending import mending
from analyzer.report.outline import Line, outline
from analyzer.report.paper import Paper, Words
from analyzer.rules.failures import failed_members
from analyzer.visible import visible, visible_lines

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_OUTPUT_LINES = 40
_TEXT = 2_000  # characters of arguments that are no JSON


def sheet(paper: Paper, audit: Audit, call: dict[str, Any], recorded: Recorded) -> None:
    """Everything that is known of a row of CALLS."""
    frames = audit.frames
    places = Places(audit)
    paper.exact(("Call ", "dim"), (visible(call["call_id"] or "-"), "head"), f"  {visible(_tool(call))}")
    paper.field("session", visible(call["session"] or "-"), indent=2)
    if call["turn"]:
        paper.field("turn", visible(call["turn"]), indent=2)
    agent = call["subagent"] or call["agent"]
    if agent:
        paper.field("agent", ("subagent " if call["subagent"] else "") + visible(agent), indent=2)
    _sightings(paper, frames["sightings"], "call", call["call"], places)
    verdicts = frames["verdicts"].filter((pl.col("call") == call["call"]) & (pl.col("role") == "arguments"))
    for verdict in verdicts.sort("verdict").iter_rows(named=True):
        _verdict(paper, verdict, places)
    _beside(paper, audit, call, verdicts, recorded)
    for verdict in verdicts.sort("side", "verdict").head(1).iter_rows(named=True):
        mending(paper, audit, verdict, call["text"])
    results = frames["results"].filter(pl.col("call") == call["call"]).sort("rank", "result")
    for result in results.iter_rows(named=True):
        _result(paper, audit, result, places)
    if results.is_empty():
        paper.heading("Result")
        paper.line("none recorded", indent=2)
    mine = frames["calls"].filter(pl.col("call") == call["call"])
    for record in gate.records({**frames, "calls": mine}, recorded):
        paper.heading("Gate record")
        paper.exact(visible(encoded(record).decode(), limit=4_000), indent=2)
    _findings(paper, audit.findings, call)


def stray(paper: Paper, audit: Audit, call_id: str, results: Sequence[dict[str, Any]], findings: pl.DataFrame) -> None:
    """Everything that is known of an id that no call has: rows of RESULTS that name it, and FINDINGS."""
    paper.exact((visible(call_id), "head"), "  no call of the log has this id")
    places = Places(audit)
    for result in results:
        paper.heading("Result")
        paper.field("session", visible(result["session"] or "-"), indent=2)
        if result["turn"]:
            paper.field("turn", visible(result["turn"]), indent=2)
        _returned(paper, audit, result, places)
    paper.heading("Findings")
    for row in records(findings):
        in_full(paper, row, indent=2, sides=False)


def _tool(call: dict[str, Any]) -> str:
    return f"{call['server']}/{call['name']}" if call["server"] else call["name"] or "-"


class Places:
    """FILE:LINE POINTER of an event and a pointer relative to it."""

    def __init__(self, audit: Audit) -> None:
        self._events = audit.frames["events"]
        self._contracts = audit.frames["contracts"]
        self._paths = dict(audit.frames["sources"].select("source", "path").iter_rows())

    def of(self, event: int | None, pointer: str | None) -> str:
        """Where it stands; `-` for an event that is not recorded."""
        for source, line, base in (
            self._events.filter(pl.col("event") == event).select("source", "line", "pointer").iter_rows()
        ):
            path = visible(self._paths.get(source) or "-", limit=1000)
            return f"{path}:{line} {visible((base or '') + (pointer or ''), limit=300)}".rstrip()
        return "-"

    def of_schema(self, verdict: dict[str, Any]) -> str:
        """Where the schema of a verdict stands: in the log, or in a contract file."""
        if verdict["offer_event"] is not None:
            return self.of(verdict["offer_event"], verdict["offer_pointer"])
        for file, line, pointer in (
            self._contracts.filter(pl.col("schema_id") == verdict["schema_id"])
            .sort("file", "line", "pointer")
            .select("file", "line", "pointer")
            .head(1)
            .iter_rows()
        ):
            return place_of({"file": file, "line": line, "pointer": pointer})
        return "-"


def _sightings(paper: Paper, sightings: pl.DataFrame, what: str, number: int, places: Places) -> None:
    seen = sightings.filter((pl.col("what") == what) & (pl.col("id") == number)).sort("seq", "event", "pointer")
    shown = seen.head(6)
    for position, row in enumerate(shown.iter_rows(named=True)):
        label = "seen" if position == 0 else ""
        labelled(paper, label, f"{row['stage']:9} {places.of(row['event'], row['pointer'])}", 2)
    if seen.height > shown.height:
        labelled(paper, "", f"and {seen.height - shown.height} times more", 2)


def _verdict(paper: Paper, verdict: dict[str, Any], places: Places) -> None:
    found = verdict["verdict_is"]
    style = {"invalid": "error", "unverifiable": "warning"}.get(found, "head")
    words: list[Words] = [(found, style)]
    if verdict["reason"]:
        words.append(f" {verdict['reason']}")
    if verdict["schema_id"]:
        words.append(f" under {verdict['schema_id']}")
    if verdict["window"] == "bracketed":
        words.append(", while the table changed")
    paper.field("verdict", *words, indent=2)
    if verdict["schema_id"]:
        labelled(paper, "", f"{origin(verdict['channel'])} at {places.of_schema(verdict)}", 2)
    if found == "invalid":
        labelled(paper, "", passes(verdict["passes"]), 2)


def _beside(paper: Paper, audit: Audit, call: dict[str, Any], verdicts: pl.DataFrame, recorded: Recorded) -> None:
    """The arguments beside the schema, guilty places marked in both."""
    judged = verdicts.filter(pl.col("schema_id").is_not_null()).sort("side", "verdict").head(1)
    left, is_text = _arguments(call)
    if judged.is_empty() or is_text:
        paper.heading("Arguments" if not is_text else "Arguments, as they are: no JSON")
        for line in left:
            paper.wrapped(line.text, indent=2, hang=2 + len(line.text) - len(line.text.lstrip()))
    if judged.is_empty():
        return
    verdict = judged.row(0, named=True)
    failed = _failed(audit.frames["violations"], verdict)
    guilty = set(failed["meant"].to_list()) | set(failed["instance_pointer"].to_list())
    broken = set(failed["schema_pointer"].to_list())
    schema = recorded.schema(verdict["schema_id"], verdict["offer_event"], verdict["offer_pointer"])
    right = outline(schema)
    if is_text:  # where it breaks off or goes wrong is the fault, and half a page would hide it
        paper.heading("The schema in force")
        for words in _marked(right, broken):
            paper.wrapped(words, indent=2, hang=4)
    else:
        paper.heading("Arguments, beside the schema in force")
        paper.columns(_marked(left, guilty), _marked(right, broken), indent=2)
    _failures(paper, failed)


def _failed(violations: pl.DataFrame, verdict: dict[str, Any]) -> pl.DataFrame:
    """The violations of a verdict in order, with `meant`, the pointer of the guilty member."""
    mine = violations.filter(pl.col("verdict") == verdict["verdict"])
    return mine.with_columns(meant=failed_members()).sort("position")


def _failures(paper: Paper, failed: pl.DataFrame) -> None:
    for row in failed.iter_rows(named=True):
        paper.wrapped(
            ("> ", "guilty"),
            (visible(row["meant"]) or "(root)", "guilty"),
            f"  {visible(row['keyword'])} {visible(row['expected'] or '')}, and there is ",
            visible(row["actual"] or "nothing"),
            indent=2,
            hang=4,
        )


def _arguments(call: dict[str, Any]) -> tuple[list[Line], bool]:
    """The lines of the arguments, and whether they are a text that is no JSON: of a long one both ends."""
    text = call["text"]
    if text is None:
        return [Line("", "(no arguments recorded)")], False
    value = _decoded(text)
    if value is None and text.strip() != "null":
        if len(text) > _TEXT:
            text = f"{text[: _TEXT // 2]}\n… {len(text) - _TEXT} more characters …\n{text[-_TEXT // 2 :]}"
        lines = visible_lines(text, limit=2 * _TEXT).splitlines()
        if len(lines) > _OUTPUT_LINES:
            half = _OUTPUT_LINES // 2
            lines = [*lines[:half], f"… {len(lines) - 2 * half} more lines …", *lines[-half:]]
        return [Line("", line) for line in lines], True
    return outline(value), False


def _marked(lines: list[Line], guilty: set[str]) -> list[Words]:
    return [
        (f"> {line.text}", "guilty") if line.pointer and line.pointer in guilty else f"  {line.text}" for line in lines
    ]


def _result(paper: Paper, audit: Audit, result: dict[str, Any], places: Places) -> None:
    paper.heading(f"Result again ({result['rank'] + 1})" if result["rank"] else "Result")
    _returned(paper, audit, result, places)


def _returned(paper: Paper, audit: Audit, result: dict[str, Any], places: Places) -> None:
    frames = audit.frames
    success = {True: "success", False: "failure", None: "no flag"}[result["success"]]
    paper.field("outcome", (success, "warning" if result["success"] is False else "head"), indent=2)
    _sightings(paper, frames["sightings"], "result", result["result"], places)
    verdicts = frames["verdicts"].filter(pl.col("result") == result["result"]).sort("verdict")
    for verdict in verdicts.iter_rows(named=True):
        _verdict(paper, verdict, places)
        _failures(paper, _failed(frames["violations"], verdict))
    if result["error"]:
        paper.field("error", visible(result["error"], limit=600), indent=2)
    text = result["text"]
    if text is None:
        return
    value = _decoded(text)
    if isinstance(value, dict | list):
        lines = [line.text for line in outline(value)]
    else:
        lines = visible_lines(text, limit=8_000).splitlines()
    for line in lines[:_OUTPUT_LINES]:
        paper.wrapped(line, indent=4)
    if len(lines) > _OUTPUT_LINES:
        paper.line((f"… {len(lines) - _OUTPUT_LINES} more lines", "dim"), indent=4)
    for verdict in verdicts.head(1).iter_rows(named=True):
        mending(paper, audit, verdict, result["structured"] or text)


def _findings(paper: Paper, findings: pl.DataFrame, call: dict[str, Any]) -> None:
    mine = findings.filter(
        pl.col("session").eq_missing(pl.lit(call["session"])) & pl.col("call_id").eq_missing(pl.lit(call["call_id"]))
    )
    paper.heading("Findings")
    if mine.is_empty():
        paper.line("none", indent=2)
    for row in records(mine):
        in_full(paper, row, indent=2, sides=False)


def _decoded(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text or "null")
    except (ValueError, RecursionError):
        return None
