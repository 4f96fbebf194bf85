"""The JSON report keeps to its schema, holds every finding in order, and is safe to print."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzer.auditing import audit as audited
from analyzer.errors import InputError
from analyzer.masking import masked
from analyzer.report import json as report
from analyzer.report.accounts import REASONS
from tests.report.made import audit, finding, location, source

SCHEMA = json.loads(files("analyzer.report").joinpath("audit-v1.schema.json").read_bytes())


def document(made: Any) -> Any:
    whole = json.loads(b"".join(report.pieces(made)))
    jsonschema.Draft202012Validator(SCHEMA).validate(whole)
    return whole


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_an_audit_without_findings() -> None:
    whole = document(audit())
    assert list(whole) == ["schema", "version", "inputs", "problems", "left_out", "summary", "notes", "findings"]
    assert (whole["schema"], whole["findings"], whole["inputs"]) == ("analyzer.audit/v1", [], [source()])


def test_the_hops_are_those_of_the_text(tmp_path: Path) -> None:
    log = tmp_path / "chat.json"
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    answer = {"role": "tool", "tool_call_id": "c", "content": "x"}
    log.write_text(json.dumps({"model": "m", "messages": [*turns, answer]}), encoding="utf-8")
    whole = document(audited([str(log)]))
    hops = {each["hop"]: each for each in whole["hops"]}
    assert hops["model call"] == {
        "hop": "model call",
        "seen": 1,
        "judged": 0,
        "failed": 0,
        "unjudged": {"schema_unavailable": 1},
    }
    assert hops["result"]["unjudged"] == {"no_output_contract": 1}


def test_every_reason_is_in_the_schema() -> None:
    verdicts = SCHEMA["properties"]["summary"]["properties"]["verdicts"]["properties"]
    assert set(verdicts["unverifiable"]["propertyNames"]["enum"]) == set(REASONS)


def test_what_was_not_read_and_what_was_left_out_is_named() -> None:
    whole = document(audit(problems=[InputError("cannot read", file="y.log")], unrecognised=["logs/notes.md"]))
    assert (whole["problems"], whole["left_out"]) == (["y.log: cannot read"], ["logs/notes.md"])


def test_a_finding_arrives_with_every_member() -> None:
    related = [{"location": location(3), "call_id": "c0", "role": "first"}]
    row = finding(related=related, suppressed={"reason": "known", "until": "2027-01-31"})
    assert document(audit(row))["findings"] == [row]


def test_what_a_finding_lacks_is_null_or_empty() -> None:
    row = finding(contract=None, failures=None, related=None, hint=None, turn=None, call_id=None, tool=None, seq=None)
    assert document(audit(row))["findings"] == [row | {"failures": [], "related": []}]


def test_thousands_of_findings_keep_their_order() -> None:
    rows = [finding(fingerprint=f"f{number}") for number in range(4_001)]
    assert [each["fingerprint"] for each in document(audit(*rows))["findings"]] == [f"f{n}" for n in range(4_001)]


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b31m", "\u202eabc", "\x7f", "a\u200bb", "\U000e0041", "\u2028"])
def test_nothing_in_it_acts_on_a_terminal_and_nothing_is_lost(hostile: str) -> None:
    made = audit(finding(call_id=hostile, tool="näme 名"))
    text = b"".join(report.pieces(made)).decode()
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "näme 名" in text
    assert document(made)["findings"][0]["call_id"] == hostile


def test_one_finding_stands_on_one_line() -> None:
    lines = b"".join(report.pieces(audit(finding(fingerprint="a"), finding(fingerprint="b")))).splitlines()
    assert [json.loads(line.rstrip(b","))["fingerprint"] for line in lines[2:-1]] == ["a", "b"]


@pytest.mark.parametrize("name", ["password", "Token", "x-api-key", "Authorization", "PWD", "keyword", "colour"])
@pytest.mark.parametrize("quote", ['"', "'", r"\"", r"\\\""])
def test_the_look_at_all_findings_misses_none_that_the_look_at_each_hides(name: str, quote: str) -> None:
    row = finding(message=f"{quote}{name}{quote}: {quote}Xy7Zk39fjs0aQ{quote}", hint=f"{name}=Xy7Zk39fjs0aQ11Vb2")
    made = document(audit(row, finding(fingerprint="of another")))["findings"]
    assert made == [masked(row), finding(fingerprint="of another")]
    assert (row["message"] == made[0]["message"]) == (name in ("keyword", "colour"))
