"""However a log is cut on its way through the program, it is the same log: blocks, lots of rows, partitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer import audit
from analyzer.auditing import Audit
from analyzer.read import limits
from analyzer.read.recording import Recording
from tests.wires.every import WIRES, some
from tests.wires.script import CONTRACTS, planted, renamed

KINDS = ("missing", "same_id", "narrowed", "twice_answered")


def _same(whole: Audit, parts: Audit) -> None:
    assert parts.findings.equals(whole.findings)
    assert parts.summary == whole.summary
    assert parts.hops == whole.hops
    for name, frame in whole.frames.items():
        assert parts.frames[name].equals(frame), name


@pytest.mark.parametrize("wire", some(WIRES, 3))
def test_it_is_the_same_log_in_parts_of_any_size(wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contracts = tmp_path / "contracts.json"
    contracts.write_text(json.dumps(CONTRACTS), encoding="utf-8")
    folder = tmp_path / "logs"
    folder.mkdir()
    for kind in KINDS:
        records = WIRES[wire](renamed(planted(kind).session, "w_"))
        (folder / f"{kind}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")

    def audited(*, partitions: int = 1) -> Audit:
        return audit([str(folder)], contracts=[str(contracts)], partitions=partitions)

    whole = audited()
    assert whole.findings.height >= 3
    _same(whole, audited(partitions=3))
    for block, rows in ((70, 9), (1_000, 1)):
        monkeypatch.setattr(limits, "BLOCK", block)
        monkeypatch.setattr(Recording, "BLOCK", rows)
        _same(whole, audited())
