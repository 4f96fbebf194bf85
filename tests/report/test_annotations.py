"""Annotations: what a runner of GitHub reads, and GitLab's Code Quality report."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from analyzer.errors import InputError
from analyzer.findings.baseline import KNOWN
from analyzer.report import github, gitlab
from tests.report import hostile
from tests.report.made import audit, finding, source

# What GitLab documents of a Code Quality report; it publishes no schema of it.
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./)."},
                    "lines": {
                        "type": "object",
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                        "required": ["begin"],
                    },
                },
                "required": ["path", "lines"],
            },
        },
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
    },
}


def degradations(made: Any) -> Any:
    written = b"".join(gitlab.pieces(made))
    assert not written.startswith(b"\xef\xbb\xbf")
    found = json.loads(written)
    jsonschema.Draft202012Validator(CODE_QUALITY).validate(found)
    names = [each["fingerprint"] for each in found]
    assert len(names) == len(set(names))
    return found


def commands(made: Any) -> list[tuple[str, dict[str, str], str]]:
    """The lines as a runner reads them: command, properties, message."""
    found = []
    for line in b"".join(github.pieces(made)).decode().splitlines():
        match = re.fullmatch(r"::(error|warning|notice)(?: ([^:]*))?::(.*)", line)
        assert match, line
        told = dict(each.split("=", 1) for each in (match[2] or "").split(",") if each)
        found.append((match[1], {key: _undone(value) for key, value in told.items()}, _undone(match[3])))
    return found


def _undone(text: str) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, char)
    return text


def test_gitlab_has_every_finding_and_its_place() -> None:
    [only] = degradations(audit(finding()))
    assert only["check_name"] == "ARG001 args-schema-mismatch"
    assert (only["severity"], only["fingerprint"]) == ("critical", "f1")
    assert only["location"] == {"path": "run.ndjson", "lines": {"begin": 8}}


def test_gitlab_of_nothing_is_an_empty_array() -> None:
    assert degradations(audit()) == []


def test_gitlab_marks_what_is_borne_and_tells_what_was_not_seen() -> None:
    found = degradations(
        audit(
            finding(suppressed={"reason": "known", "until": "2027-01-31"}),
            finding(),
            finding(),
            verdicts={"unverifiable": {"schema_ambiguous": 2}},
            summary={"rules_not_run": [{"rule": "OUT004", "reason": "no output schema is recorded"}]},
            inputs=[source(unreadable=1), source(path="x.log", format="")],
            problems=[InputError("cannot read", file="y.log")],
            unrecognised=["logs/notes.md"],
        )
    )
    told = [(each["check_name"], each["severity"]) for each in found]
    assert told == [
        ("input-not-read", "critical"),
        ("input-not-read", "major"),
        ("input-not-read", "major"),
        ("input-left-out", "info"),
        ("unverifiable", "info"),
        ("rule-not-run", "info"),
        ("ARG001 args-schema-mismatch", "info"),
        ("ARG001 args-schema-mismatch", "critical"),
        ("ARG001 args-schema-mismatch", "critical"),
    ]
    assert "Borne until 2027-01-31 (known)" in found[6]["description"]


def test_github_annotates_each_fault_once_the_worst_first_and_sums_up() -> None:
    minor = finding(severity="warning", group="g2", message="50 % more.")
    found = commands(audit(minor, finding(), finding(fingerprint="f2")))
    assert [name for name, _, _ in found] == ["error", "warning", "notice"]
    _, told, message = found[0]
    assert told == {"file": "run.ndjson", "line": "8", "title": "ARG001 args-schema-mismatch (get_order)"}
    assert message.endswith("2 times in all.")
    assert found[1][2] == "50 % more."
    assert found[-1][2].startswith("2 errors, 1 warning, 0 info in 1 session; 100 %")


def test_github_lists_what_is_suppressed_and_counts_what_the_baseline_knows() -> None:
    borne = finding(suppressed={"reason": "ticket 17", "until": "2027-01-31"})
    found = commands(audit(borne, finding(suppressed={"reason": KNOWN, "until": None})))
    assert found[0][::2] == (
        "notice",
        "1 finding suppressed: ARG001 args-schema-mismatch, get_order, c1, ticket 17, 2027-01-31",
    )
    assert found[1][2].startswith("0 errors, 0 warnings, 0 info, 1 suppressed, 1 known in 1 session;")


def test_github_tells_what_was_not_seen() -> None:
    found = commands(
        audit(
            verdicts={"unverifiable": {"schema_ambiguous": 2}},
            summary={"rules_not_run": [{"rule": "OUT004", "reason": "no output schema is recorded"}]},
            inputs=[source(unreadable=1)],
            problems=[InputError("cannot read", file="y.log")],
            unrecognised=["logs/notes.md"],
            notes=["a suppression expired"],
            crashed=[("ARG001", "boom")],
        )
    )
    assert [name for name, _, _ in found] == ["error", "error", "warning", "notice", "warning", "notice"]
    assert found[3][2] == "1 file of a folder is no log, and left out: logs/notes.md"
    assert found[-1][2].endswith("Unverifiable: 2 schema_ambiguous. Did not run: OUT004.")


@pytest.mark.parametrize("text", hostile.PAYLOADS)
def test_hostile_text_gives_no_command_of_its_own(text: str) -> None:
    made = audit(hostile.row(text), inputs=[source(path=text, unreadable=1)])
    assert [name for name, _, _ in commands(made)] == ["warning", "error", "notice"]
    written = b"".join(github.pieces(made)).decode()
    assert all(char.isprintable() or char == "\n" for char in written)
    assert degradations(made)
