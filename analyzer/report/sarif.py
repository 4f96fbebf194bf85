"""SARIF 2.1.0, for code scanning and editors: every rule with its manual, every finding with the names that last.

A run that holds more than `MOST` results is refused by code scanning, which stores `STORED` of them: the worst are kept
then, one of each fault before its repeats, and a notification says how many were left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from analyzer.findings.baseline import KNOWN
from analyzer.findings.worst import worst
from analyzer.report.accounts import strange_files, unjudged
from analyzer.report.artifact import anchor, place, relative
from analyzer.report.json import encoded, head, records
from analyzer.report.manual import markdown, summary
from analyzer.report.version import version
from analyzer.rules.catalogue import RULES, Rule
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

MOST, STORED = 25_000, 5_000
_MOST_RELATED = 100  # what code scanning shows of one result

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}
_PRECISIONS = {"certain": "very-high", "likely": "high", "hint": "low"}
_CRASHED = "rule-crashed"
_INDEXES = {name: number for number, name in enumerate((*(rule.code for rule in RULES), _CRASHED))}
_TOLD_ELSEWHERE = ("rule", "message", "suppressed", "group", "fingerprint")
_BLOCK = 2_000


def pieces(audit: Audit) -> Iterator[bytes]:
    """The log, in pieces; one result a line."""
    findings, inputs = worst(audit.findings, MOST), head(audit)["inputs"]
    run = {
        "tool": {"driver": _driver()},
        "invocations": [_invocation(audit, left_out=audit.findings.height - findings.height)],
        "artifacts": [_artifact(each) for each in inputs if "!" not in each["path"]],
        "columnKind": "unicodeCodePoints",
        "properties": {"summary": audit.summary},
    }
    yield b'{"$schema":' + encoded(_SCHEMA) + b',"version":"2.1.0","runs":[\n'
    yield encoded(run)[:-1] + b',\n"results":['
    before, otherwise = b"\n", anchor(inputs)
    # SARIF wants the state at all results or at none.
    baseline = bool((audit.findings["suppressed"].struct.field("reason") == KNOWN).any())
    for block in findings.iter_slices(_BLOCK):
        yield before + b",\n".join(encoded(_result(row, otherwise, baseline=baseline)) for row in records(block))
        before = b",\n"
    yield b"\n]}\n]}\n"


def _driver() -> dict[str, Any]:
    crashed = {
        "id": _CRASHED,
        "name": "RuleCrashed",
        "shortDescription": {"text": "A rule crashed and judged nothing."},
        "fullDescription": {"text": "A fault of the analyzer, not of the log; the other rules have reported."},
        "help": {"text": "Report the message to whoever maintains the analyzer."},
        "defaultConfiguration": {"level": "error"},
    }
    return {
        "name": "Session Trace Analyzer",
        "version": version(),
        "rules": [*map(_rule, RULES), crashed],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    name = "".join(word.capitalize() for word in rule.slug.split("-"))
    return {
        "id": rule.code,
        "name": name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": summary(rule.manual)},
        "help": {"text": rule.manual, "markdown": markdown(rule.manual)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "tags": ["agent-trace", re.sub(r"\d+$", "", rule.code)],
            "slug": rule.slug,
            "severity": rule.severity,
            "confidence": rule.confidence,
            "precision": _PRECISIONS[rule.confidence],
            "problem.severity": _PROBLEMS[rule.severity],
        },
    }


def _artifact(each: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"location": _uri(relative(each["path"]))}
    # Size and digest are those of the content: of a compressed file they are not the artifact's.
    if not each["path"].endswith((".gz", ".zst", ".bz2", ".xz")):
        described |= {"length": each["bytes"], "hashes": {"sha-256": each["sha256"]}}
    return described | {"properties": {"format": each["format"], "unreadable": each["unreadable"]}}


def _uri(file: str) -> dict[str, str]:
    if file.startswith("/"):
        return {"uri": "file://" + quote(file.encode("utf-8", "surrogatepass"))}
    return {"uri": quote(file.encode("utf-8", "surrogatepass")), "uriBaseId": "%SRCROOT%"}


def _invocation(audit: Audit, *, left_out: int) -> dict[str, Any]:
    idle = [
        {
            "level": "note",
            "descriptor": {"id": "rule-not-run"},
            "associatedRule": {"id": each["rule"], "index": _INDEXES[each["rule"]]},
            "message": {"text": f"{each['rule']} did not run: {visible(each['reason'])}."},
        }
        for each in audit.summary["rules_not_run"]
    ]
    return {
        "executionSuccessful": not audit.crashed,
        "toolConfigurationNotifications": idle,
        "toolExecutionNotifications": [
            {"level": level, "descriptor": {"id": name}, "message": {"text": text}}
            for level, name, text in _notifications(audit, left_out)
        ],
    }


def _notifications(audit: Audit, left_out: int) -> Iterator[tuple[str, str, str]]:
    for rule, error in audit.crashed:
        yield "error", _CRASHED, f"{rule} crashed and judged nothing: {visible(error)}"
    for problem in audit.problems:
        yield "error", "input-not-read", visible(str(problem), limit=1000)
    for each in audit.inputs:
        if not each["format"]:
            yield "error", "input-not-recognised", f"Not recognised as any format: {visible(each['path'], limit=1000)}"
        elif each["unreadable"]:
            told = f"{each['unreadable']} of {each['records']} records could not be read"
            yield "warning", "input-unreadable", f"{told}: {visible(each['path'], limit=1000)}"
    if (strange := strange_files(audit)) is not None:
        yield "note", "input-left-out", f"{strange}."
    for note in audit.notes:
        yield "warning", "audit-note", visible(note, limit=1000)
    for reason, count in sorted(audit.summary["verdicts"]["unverifiable"].items()):
        yield "note", "unverifiable", unjudged(reason, count)
    if left_out:
        kept = f"The {MOST:,} worst of {MOST + left_out:,} findings are here; {left_out:,} are left out"
        yield "warning", "results-left-out", f"{kept}, for a viewer refuses more. The JSON report has all."
    elif audit.findings.height > STORED:
        text = f"There are {audit.findings.height:,} results; code scanning stores the {STORED:,} most severe."
        yield "note", "results-above-display-limit", text


def _result(row: dict[str, Any], otherwise: str, *, baseline: bool) -> dict[str, Any]:
    rule = _CRASHED if row["slug"] == _CRASHED else row["rule"]
    text = row["message"] + (f"\n{row['hint']}" if row["hint"] else "")
    text = text.replace("](", "] (")  # what a log says must not become a link
    borne = row["suppressed"]
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": _LEVELS[row["severity"]],
        "kind": "fail",
        "message": {"text": text},
        "locations": [_location(row["location"], otherwise) | {"logicalLocations": _logical(row)}],
        "relatedLocations": _related(row),
        "partialFingerprints": {
            "primaryLocationLineHash": row["fingerprint"],
            "occurrence/v1": row["fingerprint"],
            "group/v1": row["group"],
        },
        # SARIF wants it at all results or at none: an empty list says that it is not suppressed.
        "suppressions": [] if borne is None else [_suppression(borne)],
        "properties": {name: value for name, value in row.items() if name not in _TOLD_ELSEWHERE},
    }
    if baseline:
        result["baselineState"] = "unchanged" if borne is not None and borne["reason"] == KNOWN else "new"
    if rule in _INDEXES:
        result["ruleIndex"] = _INDEXES[rule]
    return result


def _suppression(borne: dict[str, Any]) -> dict[str, Any]:
    until = {"properties": {"until": borne["until"]}} if borne["until"] else {}
    return {"kind": "external", "status": "accepted", "justification": visible(borne["reason"], limit=1000)} | until


def _location(location: dict[str, Any] | None, otherwise: str) -> dict[str, Any]:
    where = place(location, otherwise=otherwise)
    return {"physicalLocation": {"artifactLocation": _uri(where.file), "region": {"startLine": where.line}}}


def _logical(row: dict[str, Any]) -> list[dict[str, str]]:
    pointer = row["location"]["pointer"] if row["location"] else None
    told = (("resource", row["session"]), ("function", row["tool"]), ("value", pointer))
    return [{"kind": kind, "fullyQualifiedName": name} for kind, name in told if name]


def _related(row: dict[str, Any]) -> list[dict[str, Any]]:
    places = []
    contract = row["contract"]
    if contract is not None and contract["file"] is not None:
        places.append(("the schema it was judged by", contract))
    places += [(each["role"] or "see", each["location"]) for each in row["related"] if each["location"] is not None]
    return [
        _location(location, "") | {"id": number, "message": {"text": visible(role, limit=60)}}
        for number, (role, location) in enumerate(places[:_MOST_RELATED])
    ]
