"""The frames that an audit keeps are the same however the log was split, and what is made of them is."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from analyzer import audit
from analyzer.auditing import Audit
from analyzer.contracts.files import load_contracts
from analyzer.frames import SAVED
from analyzer.replay.against import replay
from analyzer.report import flips, gate

SAMPLES = Path(__file__).parents[2] / "sample_traces"
CONTRACTS = SAMPLES / "contracts.json"
KEYS = {
    "calls": ["call"],
    "results": ["result"],
    "verdicts": ["verdict"],
    "violations": ["verdict", "position"],
    "events": ["event"],
    "turns": ["session", "turn"],
}


@cache
def audited(partitions: int) -> Audit:
    with NamedTemporaryFile("w", suffix=".json") as final:
        json.dump({"type": "object"}, final)
        final.flush()
        return audit([str(SAMPLES)], contracts=[str(CONTRACTS)], final_schema=final.name, partitions=partitions)


@pytest.mark.parametrize("partitions", [2, 7])
def test_every_frame_is_that_of_one_partition(partitions: int) -> None:
    one, several = audited(1).frames, audited(partitions).frames
    assert {name for name in SAVED if name in one and not one[name].equals(several[name])} == set()
    assert {name for name, key in KEYS.items() if several[name].select(key).is_duplicated().any()} == set()
    assert several["violations"].height > 10
    assert "final" in several["verdicts"]["role"]


@pytest.mark.parametrize("partitions", [2, 7])
def test_what_is_made_of_frames_is_that_of_one_partition(partitions: int) -> None:
    one, several = audited(1), audited(partitions)
    records = list(gate.pieces(several))
    assert records == list(gate.pieces(one))
    assert len(records) > 100
    contracts = load_contracts([CONTRACTS])
    replayed = [json.dumps(flips.record(replay(each.frames, each.findings, contracts))) for each in (one, several)]
    assert replayed[0] == replayed[1]
