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


def gated(done: Audit) -> list[bytes]:
    with gate.Records() as records:
        records.add(done)
        return b"".join(records.pieces()).splitlines()


@pytest.mark.parametrize("partitions", [7, pytest.param(2, marks=pytest.mark.long)])
def test_every_frame_is_that_of_one_partition(partitions: int) -> None:
    one, several = audited(1).frames, audited(partitions).frames
    assert {name for name in SAVED if name in one and not one[name].equals(several[name])} == set()
    assert {name for name, key in KEYS.items() if several[name].select(key).is_duplicated().any()} == set()
    assert several["violations"].height > 10
    assert "final" in several["verdicts"]["role"]


@pytest.mark.parametrize("partitions", [7, pytest.param(2, marks=pytest.mark.long)])
def test_what_is_made_of_frames_is_that_of_one_partition(partitions: int) -> None:
    one, several = audited(1), audited(partitions)
    records = gated(several)
    assert records == gated(one)
    assert len(records) > 100
    with gate.Records() as each:
        going = audit(
            [str(SAMPLES)], contracts=[str(CONTRACTS)], partitions=partitions, keep_frames=False, each=each.add
        )
        assert b"".join(each.pieces()).splitlines() == records
    assert "calls" not in going.frames
    contracts = load_contracts([CONTRACTS])
    replayed = [json.dumps(flips.record(replay(each.frames, each.findings, contracts))) for each in (one, several)]
    assert replayed[0] == replayed[1]
