"""Suppressions mark what is borne, and do not outlive their reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analyzer.cli import main

SAMPLE = str(Path(__file__).parents[2] / "sample_traces" / "3-incident.envelopes.ndjson")


def _audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *suppressions: str
) -> tuple[int, list[dict[str, object]], str]:
    config = tmp_path / "analyzer.toml"
    config.write_text("".join(f"[[suppressions]]\n{text}\n" for text in suppressions))
    status = main(["audit", "--config", str(config), "--output-format", "json", SAMPLE])
    told = capsys.readouterr()
    return status, json.loads(told.out)["findings"], told.err


def test_what_is_suppressed_is_marked_and_does_not_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, plain, _ = _audit(tmp_path, capsys)
    assert status == 1
    errors = {str(finding["rule"]) for finding in plain if finding["severity"] == "error"}
    rules = [f'rule = "{rule}"\nreason = "known"\nuntil = 2999-01-31' for rule in sorted(errors)]
    status, borne, told = _audit(tmp_path, capsys, *rules)
    assert (status, told) == (0, "")
    assert len(borne) == len(plain)
    assert {str(finding["rule"]) for finding in borne if finding["suppressed"]} == errors
    assert {"reason": "known", "until": "2999-01-31"} in [finding["suppressed"] for finding in borne]


def test_all_that_is_named_must_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found, _ = _audit(tmp_path, capsys, 'rule = "ARG001"\ntool = "get_order"\nreason = "r"\nuntil = 2999-01-31')
    assert {(finding["rule"], finding["tool"]) for finding in found if finding["suppressed"]} == {
        ("ARG001", "get_order")
    }


def test_one_that_expired_suppresses_nothing_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found, told = _audit(tmp_path, capsys, 'rule = "ARG001"\nreason = "r"\nuntil = 2020-01-31')
    assert status == 1
    assert not [finding for finding in found if finding["suppressed"]]
    assert "expired on 2020-01-31" in told


def test_one_that_suppresses_nothing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, told = _audit(tmp_path, capsys, 'rule = "RUN007"\nreason = "r"\nuntil = 2999-01-31')
    nothing = r"analyzer\.toml:\d+: the suppression of rule RUN007 suppressed nothing here: "
    assert re.search(nothing + "take it out if this is all that it is for$", told, re.MULTILINE), told


def test_nobody_is_told_to_take_out_one_whose_rule_did_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, told = _audit(tmp_path, capsys, 'rule = "output-schema-mismatch"\nreason = "r"\nuntil = 2999-01-31')
    assert "suppressed nothing here: its rule did not run\n" in told


def test_a_rule_that_does_not_exist_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "analyzer.toml"
    config.write_text('[[suppressions]]\nrule = "ARG0001"\nreason = "r"\nuntil = 2999-01-31\n')
    assert main(["audit", "--config", str(config), SAMPLE]) == 2
    assert "analyzer.toml:1: no rule 'ARG0001'; did you mean " in capsys.readouterr().err
