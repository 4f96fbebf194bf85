"""Frames that were on disk until the audit was saved are those that it would have held in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.auditing import OnDisk, on_disk, open_audit
from analyzer.frames import SAVED
from tests.audit.test_windows import windows_of
from tests.hostile.wire import session

SAMPLES = Path(__file__).parents[2] / "sample_traces"
TERMS: dict[str, Any] = {"paths": [str(SAMPLES)], "contracts": [str(SAMPLES / "contracts.json")]}


def assert_same(folder: Path, **terms: Any) -> None:
    """Save an audit that holds all frames, and one that holds none, and look for a difference."""
    held, left = folder / "held", folder / "left"
    audit(**TERMS).save(held)
    with OnDisk() as frames:
        done = audit(**TERMS, **terms, keep_frames=False, on_disk=frames)
        assert "calls" not in done.frames
        done.save(left)
    assert {file.name for file in left.iterdir()} == {file.name for file in held.iterdir()}
    one, other = open_audit(held), open_audit(left)
    assert SAVED.keys() <= {*one.frames, "findings"}
    assert one.frames["calls"].height > 100
    assert {name for name, frame in one.frames.items() if not frame.equals(other.frames[name])} == set()
    assert one.findings.equals(other.findings)


@pytest.mark.parametrize("partitions", [1, 7])
def test_all_frames_are_saved_from_disk(partitions: int, tmp_path: Path) -> None:
    assert_same(tmp_path, partitions=partitions)


def test_frames_that_are_sorted_in_portions_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "TOGETHER", 5_000)
    monkeypatch.setattr(on_disk, "_PIECE", 1_000)
    assert_same(tmp_path, partitions=7)


def test_windows_of_a_session_are_saved_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "TOGETHER", 5_000)
    with windows_of(20):
        assert_same(tmp_path)


def test_credentials_are_hidden_in_what_comes_from_disk(tmp_path: Path) -> None:
    secret = "postgres://shop:Tr4nquil-Otter-92@db.example.net/orders"
    log = tmp_path / "log.ndjson"
    log.write_bytes(session({"type": "object"}, json.dumps({"text": f"with {secret}"})))
    with OnDisk() as frames:
        audit([str(log)], keep_frames=False, on_disk=frames).save(tmp_path / "saved")
    saved = open_audit(tmp_path / "saved")
    assert "with " in saved.frames["calls"]["text"][0]
    assert not [name for name, frame in saved.frames.items() if "Otter" in str(frame.to_dicts())]
