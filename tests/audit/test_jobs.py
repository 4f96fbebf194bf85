"""What several processes read and audit is reported byte for byte as what one does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import polars as pl
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


@pytest.mark.parametrize("jobs", [3, pytest.param(2, marks=pytest.mark.long)])
def test_reports_are_byte_identical_whatever_the_jobs(jobs: int, mixed: tuple[Path, ...]) -> None:
    assert _report(*mixed, jobs=jobs) == _report(*mixed, jobs=1)
    assert not list(Path(tempfile.gettempdir()).iterdir()), "and nothing is left behind"


def _numbered(path: Path, *, of_file: bool, lost: range = range(0)) -> Path:
    """Six sessions whose events lie between each other's, numbered by the file or each by itself."""
    sample = (SAMPLES / "1-morning.ndjson").read_text(encoding="utf-8").splitlines()
    rows, count = [], 0
    for number, line in enumerate(sample):
        for nth in range(6):
            event = json.loads(line.replace("sess_1117_0803", f"sess_{nth}"))
            row = {"session_id": f"sess_{nth}", "sequence_number": count if of_file else number, "event": event}
            if count not in lost:
                rows.append(json.dumps(row) + "\n")
            count += 1
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("jobs", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("of_file", "lost", "told"),
    [
        *((False, range(0), 0), (True, range(100, 107), 6)),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((True, range(0), 0), (False, range(100, 101), 1))),
    ],
)
def test_gaps_in_numbers_do_not_depend_on_the_sessions_beside(
    tmp_path: Path, jobs: int, of_file: bool, lost: range, told: int
) -> None:
    found = audit(str(_numbered(tmp_path / "log.ndjson", of_file=of_file, lost=lost)), jobs=jobs).findings
    assert found.filter(rule="LOG007").height == told


def test_rows_of_a_lake_may_lie_in_any_order(tmp_path: Path) -> None:
    rows = _numbered(tmp_path / "log.ndjson", of_file=False).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "log.ndjson").unlink()
    for part in range(3):
        held = [row for place, row in enumerate(rows) if (place // 6 + place) % 3 == part]
        (tmp_path / f"part-{part}.ndjson").write_text("".join(reversed(held)), encoding="utf-8")
    assert audit(str(tmp_path)).findings.filter(pl.col("rule").is_in(["LOG006", "LOG007"])).is_empty()
