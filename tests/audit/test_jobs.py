"""What several processes read and audit is reported byte for byte as what one does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from analyzer import audit
from analyzer.read import shares
from analyzer.report import json as report
from tests.batch.nights import story

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def _report(*paths: Path, jobs: int) -> bytes:
    done = audit(list(paths), contracts=[str(SAMPLES / "contracts.json")], jobs=jobs)
    assert done.summary["calls"]
    return b"".join(report.pieces(done))


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ...]:
    """A long file that is read in ranges, with what is odd in it, and beside it every format."""
    monkeypatch.setattr(shares, "LEAST", 60_000)
    (tmp_path / "private").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "private"))
    stories = [story(f"s{number}", {"id": number if number % 3 else "x"}) for number in range(400)]
    lines = [json.dumps(event).encode() + b"\n" for step in zip(*stories, strict=True) for event in step]
    lines[700] = lines[700][:90] + b"\n"
    lines[1500] = lines[1500].rstrip(b"\n")
    long = tmp_path / "long.ndjson"
    long.write_bytes(b"\xef\xbb\xbf" + b"".join(lines)[:-9])
    return SAMPLES, long


@pytest.mark.parametrize("jobs", [2, 3])
def test_reports_are_byte_identical_whatever_the_jobs(jobs: int, mixed: tuple[Path, ...]) -> None:
    assert _report(*mixed, jobs=jobs) == _report(*mixed, jobs=1)
    assert not list(Path(tempfile.gettempdir()).iterdir()), "and nothing is left behind"
