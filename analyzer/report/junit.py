"""JUnit XML for build servers: a test case for each rule, each input, and each reason why something has no verdict.

A rule fails where one of its findings decides by `--fail-on`. What decides nothing must be seen all the same, and the
format has only one word that viewers show and that neither passes nor fails: such cases are `skipped` and say why. So
are rules that did not run, and payloads that could not be judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from analyzer.findings.deciding import borne, deciding
from analyzer.report.accounts import REASONS, counted, strange_files
from analyzer.report.borne import borne_of
from analyzer.report.finding import meant, place_of
from analyzer.report.json import records
from analyzer.rules.catalogue import RULES
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_TOLD = 50  # findings of one rule


class _Case(NamedTuple):
    suite: str
    name: str
    what: str = ""
    """failure, error, skipped; empty: it passes."""
    message: str = ""
    text: str = ""
    output: str = ""


def pieces(audit: Audit, *, fail_on: str = "error") -> Iterator[bytes]:
    """The document, suite by suite."""
    suites = [(name, list(cases)) for name, cases in groupby(_cases(audit, fail_on), key=lambda case: case.suite)]
    every = [case for _, cases in suites for case in cases]
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_counts('analyzer audit', every, skipped=False)}>\n".encode()
    for name, cases in suites:
        yield f"<testsuite{_counts(name, cases)}>\n".encode()
        for case in cases:
            yield _element(case).encode()
        yield b"</testsuite>\n"
    yield b"</testsuites>\n"


def _cases(audit: Audit, fail_on: str) -> Iterator[_Case]:
    reasons = {each["rule"]: each["reason"] for each in audit.summary["rules_not_run"]}
    crashes = dict(audit.crashed)
    fired = audit.findings.with_columns(decides=deciding(fail_on), borne=borne())
    for rule in RULES:
        suite, name = rule.code.rstrip("0123456789"), f"{rule.code} {rule.slug}"
        mine = fired.filter(pl.col("rule") == rule.code)
        if rule.code in crashes:
            yield _Case(suite, name, "error", "The rule crashed and judged nothing.", visible(crashes[rule.code]))
        elif mine.is_empty() and rule.code in reasons:
            yield _Case(suite, name, "skipped", f"did not run: {visible(reasons[rule.code])}")
        elif mine.is_empty() and not audit.summary["events"]:
            yield _Case(suite, name, "skipped", "did not run: no event was read")
        elif mine.is_empty():
            yield _Case(suite, name)
        else:
            yield _found(suite, name, mine)
    yield from _unjudged(audit.summary)
    yield from _inputs(audit)


def _found(suite: str, name: str, mine: pl.DataFrame) -> _Case:
    failing = mine.filter("decides")
    rest = mine.filter(~pl.col("decides"))
    output = _told(rest) if rest.height else ""
    if failing.height:
        return _Case(suite, name, "failure", _summed(failing), _told(failing), output)
    return _Case(suite, name, "skipped", f"{_summed(rest)}; decides nothing", "", output)


def _summed(findings: pl.DataFrame) -> str:
    counts = [
        counted(count, severity) if severity != "info" else f"{count} info"
        for severity in ("error", "warning", "info")
        if (count := findings.select(((pl.col("severity") == severity) & ~pl.col("borne")).sum()).item())
    ]
    first = findings.select(pl.col("message").filter(~pl.col("borne")).head(1)).to_series().to_list()
    told = ", ".join([*counts, *borne_of(findings).counted])
    return told + (f": {first[0]}" if first else "")


def _told(findings: pl.DataFrame) -> str:
    lines = []
    for row in records(findings.head(_TOLD).drop("decides", "borne")):
        mark = " (borne: " + visible(row["suppressed"]["reason"]) + ")" if row["suppressed"] else ""
        lines.append(f"{row['severity']} ({row['confidence']}){mark}: {row['message']}")
        of = [f"{word} {visible(row[key], limit=100)}" for word, key in _OF if row[key]]
        lines.append("  " + ", ".join(of)) if of else None
        for failure in row["failures"]:
            expected = f"{failure['keyword'] or ''} {failure['expected'] or ''}".strip()
            where = visible(meant(failure), limit=200) or "(root)"
            lines.append(
                f"  > {where}: expected {visible(expected, limit=300)}, "
                f"actual {visible(failure['actual'] or 'nothing there', limit=300)}"
            )
        if row["location"] is not None:
            lines.append(f"  at {place_of(row['location'])}")
        if row["hint"]:
            lines.append(f"  do: {row['hint']}")
    if findings.height > _TOLD:
        lines.append(f"and {findings.height - _TOLD} more; the JSON report has all")
    return "\n".join(lines)


_OF = (("session", "session"), ("turn", "turn"), ("call", "call_id"), ("tool", "tool"))


def _unjudged(summary: dict[str, Any]) -> Iterator[_Case]:
    verdicts = summary["verdicts"]
    yield _Case("coverage", "judged", output=f"{verdicts['valid']} valid, {verdicts['invalid']} invalid")
    for reason, count in sorted(verdicts["unverifiable"].items()):
        told = f"{counted(count, 'payload')} without a verdict: {REASONS.get(reason, reason)}"
        yield _Case("coverage", f"unverifiable {reason}", "skipped", told)


def _inputs(audit: Audit) -> Iterator[_Case]:
    for problem in audit.problems:
        yield _Case("inputs", visible(problem.file or "input", limit=1000), "error", visible(str(problem), limit=1000))
    for each in audit.inputs:
        name = visible(each["path"], limit=1000)
        if not each["format"]:
            yield _Case("inputs", name, "error", "not recognised as any format" if each["bytes"] else "empty")
        elif each["unreadable"]:
            told = f"{each['unreadable']} of {each['records']} records could not be read"
            yield _Case("inputs", name, "error", told)
        else:
            yield _Case("inputs", name, output=f"{each['records']} records, {each['format']}")
    if (strange := strange_files(audit)) is not None:
        yield _Case("inputs", "left out", "skipped", strange)
    for note in audit.notes:
        yield _Case("inputs", "notes", "skipped", visible(note, limit=1000))


def _counts(name: str, cases: Iterable[_Case], *, skipped: bool = True) -> str:
    whats = [case.what for case in cases]
    counts = {"tests": len(whats), "failures": whats.count("failure"), "errors": whats.count("error")}
    if skipped:
        counts["skipped"] = whats.count("skipped")
    return f" name={quoteattr(name)}" + "".join(f' {key}="{count}"' for key, count in counts.items())


def _element(case: _Case) -> str:
    inside = ""
    if case.what:
        inside = f"<{case.what} message={quoteattr(case.message)}>{escape(case.text)}</{case.what}>"
    if case.output:
        inside += f"<system-out>{escape(case.output)}</system-out>"
    head = f"<testcase classname={quoteattr(f'analyzer.{case.suite}')} name={quoteattr(case.name)}"
    return f"{head}>{inside}</testcase>\n" if inside else f"{head}/>\n"
