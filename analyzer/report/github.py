"""Workflow commands of GitHub Actions: an annotation for each fault, the worst first, for a runner shows few of them.

Each line is a command of our own; what a log says stands behind `::` in one line, escaped as the runner undoes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from analyzer.report.accounts import counted, covered, idle_rules, strange_files, tallied
from analyzer.report.artifact import anchor, place
from analyzer.report.borne import borne_of
from analyzer.report.json import records
from analyzer.report.text import faults
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_MOST = 200  # different faults; a runner keeps ten annotations of a kind for each step


def pieces(audit: Audit) -> Iterator[bytes]:
    """The lines, for standard output of a step."""
    for line in _lines(audit):
        yield line.encode() + b"\n"


def command(name: str, text: str, **properties: Any) -> str:
    """One workflow command, with both its parts escaped."""
    told = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name}{' ' if told else ''}{told}::{_data(text)}"


def _lines(audit: Audit) -> Iterator[str]:
    for rule, error in audit.crashed:
        yield command("error", f"{rule} crashed and judged nothing: {visible(error)}", title="rule-crashed")
    for problem in audit.problems:
        yield command("error", visible(str(problem), limit=1000), title="not read")
    for each in audit.inputs:
        if not each["format"] or each["unreadable"]:
            told = f"{counted(each['unreadable'], 'record')} could not be read" if each["format"] else "not recognised"
            yield command("warning", f"{told}: {visible(each['path'], limit=1000)}", title="not read")
    if (strange := strange_files(audit)) is not None:
        yield command("notice", strange, title="left out")
    for note in audit.notes:
        yield command("warning", visible(note, limit=1000), title="audit")
    found = faults(audit.findings)
    listed = found.head(_MOST)
    otherwise = anchor(audit.inputs)
    for times, row in zip(listed["times"], records(audit.findings[listed["row"].to_list()]), strict=True):
        where = place(row["location"], otherwise=otherwise)
        of = f" ({visible(row['tool'], limit=60)})" if row["tool"] else ""
        more = f" {times} times in all." if times > 1 else ""
        yield command(
            _COMMANDS[row["severity"]],
            row["message"] + more,
            file=visible(where.file, limit=4096),
            line=where.line,
            title=f"{row['rule']} {row['slug']}{of}",
        )
    if found.height > listed.height:
        left = found.height - listed.height
        yield command(
            "notice",
            f"Without an annotation: {left} more kinds of fault; the JSON report has all.",
        )
    held = borne_of(audit.findings)
    if held.suppressed:
        named = "; ".join(visible(", ".join(filter(None, each)), limit=400) for each in held.listed)
        rest = f" and {held.suppressed - len(held.listed)} more" if held.suppressed > len(held.listed) else ""
        yield command("notice", f"{counted(held.suppressed, 'finding')} suppressed: {named}{rest}", title="suppressed")
    yield command(
        "notice",
        f"{tallied(audit)} in {counted(audit.summary['sessions'], 'session')}; "
        f"{covered(audit.summary, audit.hops)}.{_unjudged(audit.summary)}",
        title="Session traces",
    )


def _unjudged(summary: dict[str, Any]) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(summary["verdicts"]["unverifiable"].items()))
    rules = ", ".join(rules for rules, _ in idle_rules(summary))
    return (f" Unverifiable: {reasons}." if reasons else "") + (f" Did not run: {rules}." if rules else "")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
