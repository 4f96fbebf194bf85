"""A baseline holds what was there before, by count, and lets nothing that was judged go unjudged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzer import audit
from analyzer.cli import main
from tests.conftest import ROOT

SAMPLES = ROOT / "sample_traces"
INCIDENT = SAMPLES / "3-incident.envelopes.ndjson"
Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*arguments: Any) -> tuple[int, Any, str]:
        status = main(["audit", "--output-format", "json", *map(str, arguments)])
        told = capsys.readouterr()
        return status, json.loads(told.out) if told.out else None, told.err

    return ran


@pytest.fixture
def known(tmp_path: Path, run: Run) -> Path:
    file = tmp_path / "known.json"
    assert run("--write-baseline", file, INCIDENT)[0] == 0
    return file


def test_what_was_there_does_not_decide_and_is_marked(run: Run, known: Path) -> None:
    assert run(INCIDENT)[0] == 1
    status, report, told = run("--baseline", known, INCIDENT)
    assert (status, told) == (0, "")
    assert {each["suppressed"]["reason"] for each in report["findings"]} == {"known: in the baseline"}
    assert report["summary"]["findings"]["error"] == 0
    assert report["summary"]["findings"]["suppressed"] == len(report["findings"])


def test_another_recording_of_it_is_known_too(run: Run, known: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.ndjson"
    text = INCIDENT.read_text()
    events = [json.loads(line)["event"] for line in text.splitlines()]
    again.write_text("".join("\n" + json.dumps(event, indent=None) + "\n" for event in events))
    assert run(again)[0] == 1
    assert run("--baseline", known, again)[0] == 0


def test_the_same_faults_in_another_session_are_known_too(run: Run, known: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ndjson"
    other.write_text(re.sub(r"\b(sess|turn|call|evt|fc|fco|msg|item)_(\d\w*)", r"\1_new\2", INCIDENT.read_text()))
    assert run("--baseline", known, other)[0] == 0


def test_one_more_of_a_kind_is_new(run: Run, known: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ndjson"
    other.write_text(re.sub(r"\b(sess|turn|call|evt|fc|fco|msg|item)_(\d\w*)", r"\1_new\2", INCIDENT.read_text()))
    status, report, _ = run("--baseline", known, INCIDENT, other)
    assert status == 1
    fresh = [each for each in report["findings"] if not each["suppressed"]]
    first = [each for each in report["findings"] if each["suppressed"]]
    assert {each["group"] for each in fresh} <= {each["group"] for each in first}
    assert {each["session"] for each in fresh if each["session"]} == {"sess_new1117_1042"}


def test_a_suppressed_finding_is_not_in_it_and_comes_back_when_that_ends(run: Run, tmp_path: Path) -> None:
    config, file = tmp_path / "analyzer.toml", tmp_path / "known.json"
    config.write_text('[[suppressions]]\nrule = "ARG001"\nreason = "r"\nuntil = 2999-01-31\n')
    assert run("--config", config, "--write-baseline", file, INCIDENT)[0] == 0
    assert run("--config", config, "--baseline", file, INCIDENT)[0] == 0
    config.write_text("")
    status, report, _ = run("--config", config, "--baseline", file, INCIDENT)
    assert status == 1
    assert {each["rule"] for each in report["findings"] if not each["suppressed"]} == {"ARG001"}


def test_less_judged_than_before_fails_although_nothing_is_new(run: Run, tmp_path: Path) -> None:
    file, contracts = tmp_path / "known.json", SAMPLES / "contracts.json"
    status, _, told = run("--contracts", contracts, "--write-baseline", file, INCIDENT)
    assert (status, f"{file}: 7 findings known from here on" in told) == (0, True), told
    status, report, told = run("--baseline", file, INCIDENT)
    assert status == 3
    assert "OUT004 ran in the baseline, and did not now: no output schema is recorded or given" in told
    assert "result: some were judged in the baseline, and now none of" in told
    assert [note for note in report["notes"] if note.startswith("less was judged than in the baseline")]


def test_a_rule_that_is_left_out_and_a_coverage_that_fell_are_told(run: Run, known: Path) -> None:
    status, _, told = run("--ignore", "ARG001", "--baseline", known, INCIDENT)
    assert (status, "ARG001 ran in the baseline, and did not now: it was not selected" in told) == (3, True)
    held = json.loads(known.read_bytes())
    known.write_text(json.dumps(held | {"coverage": 1.0}))
    log = SAMPLES / "6-afternoon.ndjson"
    full = audit([log]).summary["coverage"]
    known.write_text(json.dumps(held | {"coverage": full + 0.0001}))
    assert "the coverage was" in run("--baseline", known, log)[2]
    known.write_text(json.dumps(held | {"coverage": full}))
    assert "the coverage was" not in run("--baseline", known, log)[2]


def test_what_is_gone_is_told_so_that_it_stays_gone(run: Run, known: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean.ndjson"
    clean.write_bytes((SAMPLES / "1-morning.ndjson").read_bytes())
    assert "gone since the baseline: " in run("--baseline", known, clean)[2]


def test_it_is_small_sorted_and_the_same_every_time(run: Run, known: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    run("--write-baseline", again, INCIDENT)
    assert again.read_bytes() == known.read_bytes()
    held = json.loads(known.read_bytes())
    rows = [(each["rule"], each["tool"] or "", each["group"]) for each in held["groups"]]
    assert rows == sorted(rows)
    assert sum(each["count"] for each in held["groups"]) == audit(INCIDENT).findings.height


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "x", "groups": [], "coverage": 1, "ran": [], "hops": []}']
)
def test_what_is_no_baseline_is_refused(text: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    file.write_text(text)
    status, _, told = run("--baseline", file, INCIDENT)
    assert (status, "write one with --write-baseline" in told) == (2, True)
    assert run("--baseline", tmp_path / "absent.json", INCIDENT)[0] == 2


def test_sarif_says_what_is_new(known: Path, tmp_path: Path) -> None:
    from tests.report.test_sarif import SCHEMA

    log = tmp_path / "audit.sarif"
    main(["audit", "--baseline", str(known), "-o", str(log), str(INCIDENT), str(SAMPLES / "6-afternoon.ndjson")])
    held = json.loads(log.read_bytes())
    jsonschema.Draft4Validator(SCHEMA).validate(held)
    states = [each["baselineState"] for each in held["runs"][0]["results"]]
    assert set(states) == {"new", "unchanged"}


def test_from_python(known: Path) -> None:
    assert audit(INCIDENT, baseline=str(known)).summary["findings"]["error"] == 0
    assert audit(str(INCIDENT)).findings.filter(severity="error").height > 0
