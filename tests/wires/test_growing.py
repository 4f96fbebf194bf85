"""A log that grows: what was an error when it was shorter is one when it is whole."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from analyzer import audit
from tests.wires.every import WIRES, some
from tests.wires.script import CONTRACTS, planted, renamed

KINDS = ("missing", "narrowed", "withdrawn", "unanswered")


@pytest.mark.parametrize("wire", some(WIRES, 3))
def test_no_error_of_a_call_is_taken_back(wire: str, tmp_path: Path) -> None:
    logs, whole = tmp_path / "logs", {}
    logs.mkdir()
    for kind in KINDS:
        whole[kind] = length = len(list(WIRES[wire](planted(kind).session)))
        for cut in range(1, length + 1):
            mark = f"{kind}{cut}-"
            records = list(WIRES[wire](renamed(planted(kind).session, mark)))[:cut]
            (logs / f"{mark}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    (tmp_path / "contracts.json").write_text(json.dumps(CONTRACTS), encoding="utf-8")
    made = audit([str(logs)], contracts=[str(tmp_path / "contracts.json")])
    errors: dict[str, set[tuple[str, str]]] = defaultdict(set)
    found = made.findings.filter(severity="error").drop_nulls("call_id")
    for call, slug in found.select("call_id", "slug").iter_rows():
        mark, _, name = call.partition("-")
        errors[mark].add((name, slug))
    for kind, length in whole.items():
        for cut in range(1, length):
            assert errors[f"{kind}{cut}"] <= errors[f"{kind}{length}"], (kind, cut)
