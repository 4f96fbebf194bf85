"""GitLab's Code Quality report: one JSON array, a degradation for each finding.

It knows no suppressions and no coverage: a finding that is borne is `info` and says so, and what could not be judged or
read is a degradation of its own, so that a merge request does not look clean for want of looking.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from analyzer.report.accounts import counted, idle_rules, strange_files, unjudged
from analyzer.report.artifact import anchor, place, relative
from analyzer.report.json import encoded, records
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_SEVERITIES = {
    ("error", "certain"): "critical",
    ("error", "likely"): "major",
    ("warning", "certain"): "minor",
    ("warning", "likely"): "minor",
}
_BLOCK = 2_000


def pieces(audit: Audit) -> Iterator[bytes]:
    """The array, one degradation a line."""
    before = b"[\n"
    for line in _lines(audit):
        yield before + line
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def _lines(audit: Audit) -> Iterator[bytes]:
    otherwise = anchor(audit.inputs)
    for name, severity, file, text in _unseen(audit, otherwise):
        digest = sha256(f"{name}\0{file}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
        yield encoded(_degradation(name, severity, text, fingerprint=digest, file=file))
    told: dict[str, int] = {}
    for block in audit.findings.iter_slices(_BLOCK):
        for row in records(block):
            # GitLab shows one of those that share a fingerprint.
            times = told[row["fingerprint"]] = told.get(row["fingerprint"], -1) + 1
            name = row["fingerprint"] + (f"-{times}" if times else "")
            severity, text = _SEVERITIES.get((row["severity"], row["confidence"]), "info"), row["message"]
            if row["suppressed"] is not None:
                until = f" until {row['suppressed']['until']}" if row["suppressed"]["until"] else ""
                severity, text = "info", f"Borne{until} ({visible(row['suppressed']['reason'])}): {text}"
            where = place(row["location"], otherwise=otherwise)
            check = f"{row['rule']} {row['slug']}"
            found = _degradation(check, severity, text, fingerprint=name, file=where.file, line=where.line)
            yield encoded(found)


def _degradation(name: str, severity: str, text: str, *, fingerprint: str, file: str, line: int = 1) -> dict[str, Any]:
    return {
        "type": "issue",
        "check_name": name,
        "description": text,
        "categories": ["Bug Risk"],
        "severity": severity,
        "fingerprint": fingerprint,
        "location": {"path": visible(file, limit=4096), "lines": {"begin": line}},
    }


def _unseen(audit: Audit, otherwise: str) -> Iterator[tuple[str, str, str, str]]:
    for problem in audit.problems:
        yield "input-not-read", "critical", relative(problem.file or otherwise), visible(str(problem), limit=1000)
    for each in audit.inputs:
        if not each["format"] or each["unreadable"]:
            told = f"{counted(each['unreadable'], 'record')} could not be read" if each["format"] else "Not recognised"
            yield "input-not-read", "major", relative(each["path"].partition("!")[0]), told
    if (strange := strange_files(audit)) is not None:
        yield "input-left-out", "info", otherwise, f"{strange}."
    for reason, count in sorted(audit.summary["verdicts"]["unverifiable"].items()):
        yield "unverifiable", "info", otherwise, unjudged(reason, count)
    for rules, reason in idle_rules(audit.summary):
        yield "rule-not-run", "info", otherwise, f"{rules} did not run: {visible(reason)}."
