"""Repairs in hints and on paper: the smallest edit that passes, and no guess at what was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.auditing import audit
from analyzer.cli import main
from analyzer.findings import repairs
from tests.samples.wire import Call, Recording, ndjson

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["id", "count"],
    "additionalProperties": False,
}


def log_of(folder: Path, *arguments: dict[str, Any], output: str = "{}") -> Path:
    log = Recording("09:00:00", [{"type": "function", "name": "find", "description": "", "parameters": SCHEMA}])
    log.ask("Find them.")
    for each in arguments:
        log.run(Call("find", each, output))
    log.end("Done.")
    file = folder / "log.ndjson"
    file.write_bytes(ndjson(log.entries))
    return file


def hints(file: Path, rule: str, **options: Any) -> list[str]:
    found = audit([str(file)], select=[rule], **options).findings
    return found["hint"].to_list()


def test_the_edit_and_whether_it_guesses_stand_in_the_hint(tmp_path: Path) -> None:
    file = log_of(tmp_path, {"id": "a", "count": 1, "extra": 1}, {"id": "a"}, {"id": "a", "count": 2})
    first, second = hints(file, "ARG001")
    assert first.startswith("Smallest edit that passes (no guess at what was meant): /extra: remove")
    assert "/count: add (required, placeholder 0)" in second
    assert second.endswith(
        "Validate before executing, and give the model the failing members back as the tool's error."
    )


def test_outputs_are_repaired_by_their_own_schema(tmp_path: Path) -> None:
    contract = tmp_path / "find.output.json"
    contract.write_text(json.dumps({"type": "object", "required": ["found"]}), encoding="utf-8")
    log = tmp_path / "logs"
    log.mkdir()
    [hint] = hints(log_of(log, {"id": "a", "count": 1}), "OUT004", contracts=[str(contract)])
    assert "/found: add" in hint


def test_the_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairs, "MOST", 2)
    file = log_of(tmp_path, *({"id": "a", "count": 1, f"extra_{number}": 1} for number in range(5)))
    told = hints(file, "ARG001")
    assert [hint.startswith("Smallest") for hint in told] == [True, True, False, False, False]
    same = log_of(tmp_path, *({"id": "a", "count": 1, "extra": 1} for _ in range(5)))
    assert all(hint.startswith("Smallest") for hint in hints(same, "ARG001"))


def test_show_puts_what_would_have_passed_beside_what_was_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = log_of(tmp_path, {"id": "a", "cuont": 3})
    assert main(["show", "--call", "call_0900_01", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "no guess at what the model meant" in out
    assert 'rename /cuont "cuont" -> "count"' in out
    assert '"count": 0' in out  # the smallest object, beside it
