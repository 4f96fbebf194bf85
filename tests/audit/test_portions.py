"""A partition is judged in portions where findings are dense, and the report is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.auditing import Audit, portions
from analyzer.trace import Settings
from tests.hostile.wire import session

SAMPLES = str(Path(__file__).parents[2] / "sample_traces")


def _log(folder: Path, arguments: str) -> str:
    schema = {"type": "object", "required": ["x"]}
    file = folder / "log.ndjson"
    more = [(f"c{number}", arguments) for number in range(9)]
    logs = (session(schema, arguments, more=more, output=None, session_id=f"s{number}") for number in range(20))
    file.write_bytes(b"".join(logs))
    return str(file)


def _audited(path: str, **options: Any) -> tuple[Audit, int]:
    """The audit, and in how many portions it was judged."""
    done: list[str] = []
    outcome = audit(path, keep_frames=False, progress=lambda stage, *_: done.append(stage), **options)
    return outcome, done.count("audit")


def test_a_log_where_findings_are_dense_is_judged_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _log(tmp_path, "{}")
    whole, once = _audited(log)
    monkeypatch.setattr(portions, "PORTION", 50)
    cut, several = _audited(log)
    assert whole.summary["findings"]["error"] >= 60
    assert once == 1
    assert several > 3
    assert cut.findings.equals(whole.findings)
    assert cut.summary == whole.summary


def test_what_is_left_of_a_log_that_proves_sparse_is_judged_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _log(tmp_path, '{"x":1}')
    whole, _ = _audited(log, select=["ARG001"])
    monkeypatch.setattr(portions, "PORTION", 50)
    cut, several = _audited(log, select=["ARG001"])
    assert several == 2
    assert cut.findings.equals(whole.findings)
    assert cut.summary == whole.summary


@pytest.mark.parametrize("most", [20, pytest.param(500_000, marks=pytest.mark.long)])
def test_the_samples_have_one_report_however_they_are_cut(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(max_findings=most)
    whole, _ = _audited(SAMPLES, settings=settings)
    monkeypatch.setattr(portions, "PORTION", 25)
    assert _audited(SAMPLES, settings=settings)[1] == 1, "calls are few: nothing is cut"
    monkeypatch.setattr(portions, "FEW", 1 << 30)
    monkeypatch.setattr(portions.Portions, "learn", lambda *_: None)  # always as if findings were dense
    cut, several = _audited(SAMPLES, settings=settings)
    assert several > 10
    assert cut.findings.equals(whole.findings)
    assert cut.summary == whole.summary


def test_a_long_file_says_on_the_way_how_much_of_it_was_read(tmp_path: Path) -> None:
    log = Path(_log(tmp_path, "{}"))
    log.write_bytes(log.read_bytes() * 40)
    told: list[tuple[str, int, int]] = []
    audit(str(log), keep_frames=False, progress=lambda *step: told.append(step))
    read = [done for stage, done, _ in told if stage == "read"]
    assert len(read) >= 3
    assert read == sorted(read)
    assert {whole for stage, _, whole in told if stage == "read"} == {log.stat().st_size}
    assert read[-1] == log.stat().st_size
