"""JUnit XML keeps to its schema; what decides fails, and what decides nothing is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from analyzer.auditing import audit as audited
from analyzer.errors import InputError
from analyzer.report import junit
from analyzer.rules.catalogue import RULES
from tests.conftest import ROOT
from tests.report import hostile
from tests.report.made import audit, finding, source

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


def cases(made: Any, **options: Any) -> dict[str, ET.Element]:
    text = b"".join(junit.pieces(made, **options)).decode()
    SCHEMA.validate(text)
    root = ET.fromstring(text)
    for suite in root:
        found = {what: len(suite.findall(f"testcase/{what}")) for what in ("failure", "error", "skipped")}
        names = {"failure": "failures", "error": "errors", "skipped": "skipped"}
        assert {what: int(suite.get(names[what], "-1")) for what in found} == found
        assert int(suite.get("tests", "-1")) == len(suite)
    return {case.get("name", ""): case for case in root.iter("testcase")}


def test_the_sample_traces_keep_to_the_schema() -> None:
    done = audited([str(ROOT / "sample_traces")])
    found = cases(done)
    failed = {name.split()[0] for name, case in found.items() if case.find("failure") is not None}
    errors = done.findings.filter(severity="error")
    assert failed == set(errors["rule"])


def test_every_rule_is_a_case_and_passes_where_it_found_nothing() -> None:
    found = cases(audit())
    assert [f"{rule.code} {rule.slug}" for rule in RULES] == list(found)[: len(RULES)]
    assert all(len(found[f"{rule.code} {rule.slug}"]) == 0 for rule in RULES)


def test_rules_that_were_not_wanted_or_saw_nothing_do_not_pass(tmp_path: Path) -> None:
    log = ROOT / "sample_traces" / "1-morning.ndjson"
    found = cases(audited([str(log)], select=["ARG"]))
    assert found["ARG001 args-schema-mismatch"].find("skipped") is None
    skipped = found["RUN001 executed-despite-mismatch"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "did not run: it was not selected"
    house = tmp_path / "house.jsonl"
    house.write_text('{"level": 30}\n', encoding="utf-8")
    found = cases(audited([str(house)]))
    assert [rule.code for rule in RULES if found[f"{rule.code} {rule.slug}"].find("skipped") is None] == []


def test_a_failure_tells_the_member_and_both_sides() -> None:
    failure = cases(audit(finding()))["ARG001 args-schema-mismatch"].find("failure")
    assert failure is not None
    assert failure.get("message") == "1 error: get_order: /order_id is no order id."
    assert '> /order_id: expected pattern "^ord_[0-9]{6}$", actual "all of them"' in (failure.text or "")


@pytest.mark.parametrize(
    ("changed", "fail_on", "what"),
    [
        ({}, "error", "failure"),
        ({"severity": "warning"}, "error", "skipped"),
        ({"severity": "warning"}, "warning", "failure"),
        ({"confidence": "hint"}, "error", "skipped"),
        ({}, "never", "skipped"),
        ({"suppressed": {"reason": "known", "until": "2027-01-31"}}, "error", "skipped"),
    ],
)
def test_what_decides_fails_and_the_rest_is_seen(changed: dict[str, Any], fail_on: str, what: str) -> None:
    case = cases(audit(finding(**changed)), fail_on=fail_on)["ARG001 args-schema-mismatch"]
    assert [child.tag for child in case if child.tag != "system-out"] == [what]
    assert "/order_id" in "".join(case.itertext())


def test_what_was_not_read_judged_or_run_is_seen() -> None:
    found = cases(
        audit(
            verdicts={"unverifiable": {"schema_ambiguous": 2}},
            summary={"rules_not_run": [{"rule": "OUT004", "reason": "no output schema is recorded"}]},
            inputs=[source(unreadable=1), source(path="x.log", format="")],
            problems=[InputError("cannot read", file="y.log")],
            unrecognised=["logs/notes.md"],
            crashed=[("ARG001", "boom")],
        )
    )
    seen = {name: case[0].tag for name, case in found.items() if len(case)}
    assert seen == {
        "ARG001 args-schema-mismatch": "error",
        "OUT004 output-schema-mismatch": "skipped",
        "judged": "system-out",
        "unverifiable schema_ambiguous": "skipped",
        "run.ndjson": "error",
        "x.log": "error",
        "left out": "skipped",
        "y.log": "error",
    }


@pytest.mark.parametrize("text", hostile.PAYLOADS)
def test_hostile_text_stays_text(text: str) -> None:
    found = cases(audit(hostile.row(text), inputs=[source(path=text, unreadable=1)]))
    assert {child.tag for case in found.values() for child in case.iter()} <= {
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
    }


def test_of_very_many_findings_of_one_rule_some_are_told_and_the_rest_counted() -> None:
    failure = cases(audit(*(finding(fingerprint=str(n)) for n in range(60))))["ARG001 args-schema-mismatch"][0]
    assert (failure.text or "").endswith("and 10 more; the JSON report has all")
