"""`--final-schema`: the last answer of each completed root turn as a gate of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.auditing import audit
from analyzer.cli import main
from tests.samples.wire import Recording, ndjson

SCHEMA = {"type": "object", "properties": {"paid": {"type": "boolean"}}, "required": ["paid"]}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    file = tmp_path / "final.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")
    return str(file)


def log_of(folder: Path, *answers: str) -> str:
    log = Recording("09:00:00", [])
    for answer in answers:
        log.ask("Well?")
        log.say('{"paid": "not yet"}', "commentary")
        log.end(answer)
    file = folder / "log.ndjson"
    file.write_bytes(ndjson(log.entries))
    return str(file)


def found(log: str, schema: str | None) -> dict[str, list[dict[str, Any]]]:
    done = audit([log], final_schema=schema, select=["FINAL"])
    assert not done.crashed
    return {rule: done.findings.filter(rule=rule).to_dicts() for rule in ("FINAL001", "FINAL002")}


def test_the_answer_is_judged_and_the_commentary_is_not(tmp_path: Path, schema: str) -> None:
    log = log_of(tmp_path, '{"paid": true}', '{"paid": "yes"}', "All is paid.", '```json\n{"paid": true}\n```')
    told = found(log, schema)
    [mismatch] = told["FINAL001"]
    assert [(each["pointer"], each["keyword"]) for each in mismatch["failures"]] == [("/paid", "type")]
    assert mismatch["contract"]["file"] == schema
    assert mismatch["turn"] == "turn_0900_2"
    prose, fenced = told["FINAL002"]
    assert prose["location"]["line"] < fenced["location"]["line"]
    assert "code fence" in fenced["message"]


def test_the_hop_counts_what_was_judged(tmp_path: Path, schema: str) -> None:
    log = log_of(tmp_path, '{"paid": true}', '{"paid": "yes"}', "All is paid.")
    [hop] = [each for each in audit([log], final_schema=schema).hops if each["hop"] == "final object"]
    assert (hop["seen"], hop["judged"], hop["failed"]) == (3, 3, 2)
    [without] = [each for each in audit([log]).hops if each["hop"] == "final object"]
    assert without["judged"] == 0
    assert without["unjudged"] == {"no_final_schema": without["seen"]}


def test_without_a_schema_nothing_is_promised(tmp_path: Path) -> None:
    assert found(log_of(tmp_path, "All is paid."), None) == {"FINAL001": [], "FINAL002": []}


def test_a_response_format_carries_its_schema(tmp_path: Path) -> None:
    file = tmp_path / "format.json"
    wrapped = {"type": "json_schema", "json_schema": {"name": "paid", "schema": SCHEMA}}
    file.write_text(json.dumps(wrapped), encoding="utf-8")
    assert len(found(log_of(tmp_path, '{"paid": "yes"}'), str(file))["FINAL001"]) == 1


@pytest.mark.parametrize("text", ["", "[1]", '{"type": "objct"}'])
def test_what_is_no_schema_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text, encoding="utf-8")
    assert main(["audit", "--final-schema", str(file), log_of(tmp_path, "x")]) == 2
    assert "broken.json" in capsys.readouterr().err
