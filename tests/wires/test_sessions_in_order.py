"""Sessions that stand one after the other in a file say the same of their calls in any order."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.rules.catalogue import RULES
from tests.wires.every import WIRES
from tests.wires.script import FAULTS, plain, planted, renamed

#: Rules that look at all sessions at once.
_OF_ALL = [rule.code for rule in RULES if rule.scope == "fleet" or rule.across]
_FAST = {"codex-rollout", "openai-responses", "claude-code-jsonl", "mcp-jsonrpc"}
_SESSIONS = (renamed(plain("clean"), "p_"), *(renamed(planted(kind).session, f"{kind}_") for kind in FAULTS))


def _told(log: Path, records: list[Any], contracts: Path) -> Counter[tuple[str, ...]]:
    log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    made = audit([str(log)], contracts=[str(contracts)], ignore=_OF_ALL)
    assert made.crashed == []
    columns = ("call_id", "slug", "severity", "confidence")
    return Counter(made.findings.select(columns).drop_nulls("call_id").iter_rows())


@pytest.mark.parametrize(
    "wire", [pytest.param(wire, marks=() if wire in _FAST else pytest.mark.long) for wire in WIRES]
)
def test_the_order_of_sessions_in_a_file_says_nothing(wire: str, contracts: Path, tmp_path: Path) -> None:
    logs = [[*WIRES[wire](session)] for session in _SESSIONS]
    found = _told(tmp_path / "log.jsonl", [record for log in logs for record in log], contracts)
    back = _told(tmp_path / "back.jsonl", [record for log in reversed(logs) for record in log], contracts)
    assert (found - back, back - found) == (Counter(), Counter())
