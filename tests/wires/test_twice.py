"""A log that lies there twice, written in another way or shorter, is folded, or it is told that it counts twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from tests.wires.every import WIRES, some
from tests.wires.script import planted

Records = list[Any]


def _lines(records: Records, **how: Any) -> str:
    return "".join(json.dumps(record, **how) + "\n" for record in records)


def _sorted(records: Records) -> str:
    return _lines(records, sort_keys=True, separators=(" , ", " : "))


#: What lies beside the log.
BESIDE: dict[str, Callable[[Records], str]] = {
    "sorted": _sorted,
    "as it was": lambda records: _lines(records[: 2 * len(records) // 3]),
}


def _records(wire: str, kind: str) -> Records:
    text = json.dumps(list(WIRES[wire](planted(kind).session)))
    return list(json.loads(text.replace(f"{kind}_", f"call_{kind}_4nRt81yQ")))


@pytest.mark.parametrize(("wire", "name"), some(product(WIRES, ["0.jsonl", "9.jsonl"]), 4))
def test_what_lies_there_twice_is_folded_or_told(wire: str, name: str, contracts: Path, tmp_path: Path) -> None:
    records = _records(wire, "missing")
    told = {}
    for beside in ["nothing", *BESIDE]:
        folder = tmp_path / beside
        folder.mkdir()
        (folder / "5.jsonl").write_text(_lines(records), encoding="utf-8")
        if beside in BESIDE:
            (folder / name).write_text(BESIDE[beside](records), encoding="utf-8")
        made = audit([str(folder)], contracts=[str(contracts)])
        errors = Counter(made.findings.filter(severity="error").select("call_id", "slug").iter_rows())
        told[beside] = errors, made.summary["calls"], made.findings["rule"].is_in(["LOG003", "LOG004"]).any()
    errors, calls, _ = told.pop("nothing")
    assert errors
    for beside, (found, count, again) in told.items():
        assert found.keys() == errors.keys(), beside
        assert again or (found, count) == (errors, calls), beside


@pytest.mark.parametrize("before", ["log.jsonl.1", "log.jsonl-20261117", "log.jsonl.2026-11-16"])
@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "agents-sdk"])
def test_a_log_that_was_rotated_is_read_in_its_order(wire: str, before: str, contracts: Path, tmp_path: Path) -> None:
    records = _records(wire, "missing")
    middle = len(records) // 2
    told = []
    for folder, logs in (
        ("whole", {"log.jsonl": records}),
        ("cut", {"log.jsonl": records[middle:], before: records[:middle]}),
    ):
        (tmp_path / folder).mkdir()
        for name, log in logs.items():
            (tmp_path / folder / name).write_text(_lines(log), encoding="utf-8")
        made = audit([str(tmp_path / folder)], contracts=[str(contracts)])
        told.append((made.summary["calls"], made.findings.select("rule", "call_id").rows()))
    assert told[0] == told[1]


@pytest.mark.parametrize("wire", ["codex-rollout", "vercel-ai", "openai-agents-api"])
def test_a_log_that_is_written_behind_itself_has_no_more_errors(wire: str, contracts: Path, tmp_path: Path) -> None:
    records = _records(wire, "missing")
    told = []
    for name, text in (("once", _lines(records)), ("twice", _lines(records) + _sorted(records))):
        log = tmp_path / f"{name}.jsonl"
        log.write_text(text, encoding="utf-8")
        made = audit([str(log)], contracts=[str(contracts)])
        told.append(set(made.findings.filter(severity="error").select("rule", "call_id").rows()))
    assert told[0] == told[1]
    assert not made.findings.filter(rule="LOG004").is_empty()
