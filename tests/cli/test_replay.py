"""`analyzer replay`: recorded calls under other schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import main

Caught = pytest.CaptureFixture[str]


def run(caught: Caught, *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = caught.readouterr()
    return status, out, err


@pytest.fixture
def traces(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root)
    return Path("sample_traces")


@pytest.fixture
def day(traces: Path) -> list[Path]:
    """The files of the front desk's day: the folder may hold other samples."""
    return sorted(traces.glob("[1-7]-*"))


def replayed(caught: Caught, against: Path, *rest: str | Path) -> tuple[int, dict[str, Any]]:
    status, out, _ = run(caught, "replay", "--against", against, "--output-format", "json", *rest)
    return status, json.loads(out)


def test_the_tightened_contract_refuses_the_incident_and_breaks_no_good_call(
    capsys: Caught, day: list[Path], tmp_path: Path
) -> None:
    file = tmp_path / "tighter.json"
    run(capsys, "contracts", "tighten", *day, "-o", file)
    status, told = replayed(capsys, file, *day)
    counts = told["counts"]
    assert counts["broken"] <= 0.01 * counts["passed_before"]
    mine = [each for each in told["changed"] if each["call_id"] == "call_1042_06"]
    [incident] = [each for each in mine if each["role"] == "arguments"]
    failures = {(each["pointer"], each["keyword"]) for each in incident["failures"]}
    assert incident["after"] == "invalid"
    assert ("/order_id", "pattern") in failures
    assert ("/order_id", "pattern") not in {(each["pointer"], each["keyword"]) for each in incident["keywords_before"]}
    # It is the newest version that was tightened: its good calls pass, and the one without its approval does not.
    changed = {each["call_id"]: each["change"] for each in told["changed"] if each["role"] == "arguments"}
    assert changed.keys().isdisjoint({"call_1130_08", "call_1130_09", "call_1130_10", "call_1130_11"})
    assert counts["mended"] == 0
    # Calls made under the version before it are told apart, and they decide.
    others = [call for call, change in changed.items() if change == "other version"]
    assert len(others) == counts["other_version"] == 24
    assert "call_1611_07" in others
    assert status == 1
    text = " ".join(run(capsys, "replay", "--against", file, *day)[1].split())
    assert "of 27 that passed none would fail; 24 more, made under another version of the tool, would fail" in text


def test_flips_in_both_directions_by_tool_place_and_keyword(capsys: Caught, day: list[Path], tmp_path: Path) -> None:
    contracts = {
        "get_order": {"arguments": {"type": "object", "properties": {"view": {"const": "shipment"}}}},
        "list_orders": {"arguments": {"type": "object"}},
    }
    file = tmp_path / "new.json"
    file.write_text(json.dumps(contracts), encoding="utf-8")
    status, told = replayed(capsys, file, *day)
    groups = {(each["change"], each["tool"], each["pointer"], each["keyword"]): each for each in told["groups"]}
    assert status == 1
    broken = groups["broken", "get_order", "/view", "const"]
    assert broken["count"] == 24
    assert broken["samples"][0] == {"session": "sess_1117_0803", "call_id": "call_0803_01"}
    assert groups["mended", "list_orders", "", "additionalProperties"]["count"] == 1
    assert "refund_order" in told["not_covered"]
    text = run(capsys, "replay", "--against", file, *day)[1]
    assert 'wants "shipment", and there is "summary"' in text
    assert "of 24 that passed 24 would fail (100.0 %)" in " ".join(text.split())


def test_the_same_contracts_flip_nothing(capsys: Caught, traces: Path) -> None:
    log = traces / "1-morning.ndjson"
    status, told = replayed(capsys, traces / "contracts.json", log)
    assert (status, told["changed"]) == (0, [])
    assert told["counts"]["judged"] > 0


def test_results_are_replayed_too(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    file = tmp_path / "refund_order.output.json"
    file.write_text(json.dumps({"properties": {"status": {"const": "paid"}}}), encoding="utf-8")
    arguments = ("--contracts", traces / "contracts.json", traces / "1-morning.ndjson")
    status, told = replayed(capsys, file, *arguments)
    assert status == 1
    assert {(each["role"], each["change"]) for each in told["changed"]} == {("output", "broken")}


def test_what_nothing_judged_before_cannot_flip_and_is_not_green(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"Bash": {"arguments": {"required": ["nothing"]}}}), encoding="utf-8")
    log = traces / "formats" / "claude-code-jsonl.jsonl"  # holds no schema
    status, out, err = run(capsys, "replay", "--against", file, log)
    assert status == 3
    assert "none had passed before" in out
    assert "nothing that these contracts judge had a verdict before; --contracts gives" in err


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [("{}", 2, "no contract is left to replay against"), ('{"nobody": {"arguments": {"type": "object"}}}', 3, "")],
)
def test_contracts_that_judge_nothing(
    *, capsys: Caught, traces: Path, tmp_path: Path, content: str, status: int, said: str
) -> None:
    file = tmp_path / "new.json"
    file.write_text(content, encoding="utf-8")
    found, _, err = run(capsys, "replay", "--against", file, traces)
    assert (found, said in err) == (status, True)


def test_help_has_examples(capsys: Caught) -> None:
    assert "analyzer replay --against" in run(capsys, "replay", "--help")[1].partition("Examples:")[2]
