"""A lake of event rows, sessions all over its files: shuffled by session, it gives what one process gives."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import polars as pl
import pytest

from analyzer.batch import segments
from analyzer.read import shares
from tests.batch.nights import at_work, log, run, story, told
from tests.read.test_lakes import rows


def lake_in(folder: Path, *, sessions: int = 12, files: int = 4) -> Path:
    """Rows as many writers at once put them into files, some Parquet and some lines: no file has a whole session."""
    stories = [story(f"s{number:02}", {"id": number if number % 3 else "x"}) for number in range(sessions)]
    found = rows(*stories)
    folder.mkdir(parents=True)
    for number in range(files):
        mine = pl.DataFrame(found[number::files])
        if number % 2:
            mine.with_columns(pl.col("recorded_at").dt.strftime("%FT%TZ")).write_ndjson(folder / f"{number}.ndjson")
        else:
            mine.write_parquet(folder / f"{number}.parquet")
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make as many shares and partitions as there can be."""
    monkeypatch.setattr(shares, "LEAST", 1)
    monkeypatch.setattr(segments, "SHUFFLED", 10)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("jobs", [2, pytest.param(1, marks=pytest.mark.long)])
def test_shuffled_it_is_what_one_process_finds(jobs: int, tmp_path: Path) -> None:
    lake = lake_in(tmp_path / "lake")
    one = run(tmp_path / "one", lake)
    many = run(tmp_path / "many", lake, shuffle=True, jobs=jobs)
    assert one.audit.findings.height
    assert told(many.audit.findings) == told(one.audit.findings)
    assert many.audit.summary == one.audit.summary
    assert not list((tmp_path / "many").rglob("spilled"))


@pytest.mark.usefixtures("small")
def test_a_night_later_only_what_is_new_and_what_goes_on_is_audited(tmp_path: Path) -> None:
    lake = lake_in(tmp_path / "lake")
    first = run(tmp_path / "store", lake, shuffle=True)
    again = run(tmp_path / "store", lake, shuffle=True)
    assert (first.trend.run["audited"], again.trend.run["audited"]) == (4, 0)
    log(lake, "9.ndjson", story("s99", {"id": 5}))
    third = run(tmp_path / "store", lake, shuffle=True)
    assert third.trend.run["audited"] == 1
    (lake / "8.ndjson").write_text((lake / "1.ndjson").read_text())
    whole = run(tmp_path / "store", lake, shuffle=True)
    assert told(whole.audit.findings) == told(run(tmp_path / "one", lake).audit.findings)


@pytest.mark.usefixtures("small")
def test_a_failure_is_told_and_what_was_audited_before_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_in(tmp_path / "lake")
    before = run(tmp_path / "store", lake, shuffle=True)
    extra = log(lake, "9.ndjson", story("s99", {"id": 5}))

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(segments, "audit_lot", fail)
    night = run(tmp_path / "store", lake, shuffle=True)
    assert night.failed == (str(extra),)
    assert told(night.audit.findings) == told(before.audit.findings)


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("small", "cluster")
def test_a_cluster_that_loses_workers_finds_the_same(tmp_path: Path) -> None:
    lake = lake_in(tmp_path / "lake", sessions=40, files=8)
    one = run(tmp_path / "one", lake)
    killed: dict[bytes, int] = {}
    over = threading.Event()

    def kill_one_of_each() -> None:
        while len(killed) < 2 and not over.is_set():
            for task, worker in at_work(b"ray::read_share", b"ray::audit_lot"):
                if task not in killed and worker not in killed.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)
                        killed[task] = worker
            time.sleep(0.005)

    killer = threading.Thread(target=kill_one_of_each)
    killer.start()
    try:
        many = run(tmp_path / "many", lake, shuffle=True, engine="ray", jobs=2)
    finally:
        over.set()
        killer.join()
    assert set(killed) == {b"ray::read_share", b"ray::audit_lot"}, "one was lost while it read, one while it audited"
    assert many.failed == ()
    assert told(many.audit.findings) == told(one.audit.findings)
    assert many.audit.summary == one.audit.summary
