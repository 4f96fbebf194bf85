"""A night with a session that is judged in windows: found is what `audit` finds, shuffled or not, wherever it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer import Audit, audit
from analyzer.batch import Night, Terms
from tests.audit.tangled import tangled
from tests.audit.test_windows import NEAR, parted, windows_of
from tests.batch.nights import run, told


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "log.ndjson").write_bytes(tangled(2, 50))
    return folder


def alone(logs: Path, *ignore: str) -> Audit:
    with windows_of(30):
        done = audit([str(logs)], ignore=ignore)
    assert parted(done).height
    return done


def night_of(logs: Path, store: Path, *ignore: str, **more: Any) -> Night:
    with windows_of(30):
        return run(store, logs, terms=Terms(ignore=ignore), **more)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_night_finds_what_an_audit_finds(shuffle: bool, logs: Path, tmp_path: Path) -> None:
    night = night_of(logs, tmp_path, shuffle=shuffle)
    later = night_of(logs, tmp_path, shuffle=shuffle)
    done = alone(logs)
    assert night.failed == ()
    assert told(night.audit.findings) == told(done.findings)
    assert night.audit.summary == done.summary
    assert later.trend.run["audited"] == 0
    assert told(later.audit.findings) == told(done.findings)


# Another process has windows of the full size, so that this session is one: rules that look at one see more of it.
OTHER = ("LOG001", *NEAR)


def test_processes_find_the_same(logs: Path, tmp_path: Path) -> None:
    night = night_of(logs, tmp_path, *OTHER, shuffle=True, jobs=2)
    assert told(night.audit.findings) == told(alone(logs, *OTHER).findings)


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("cluster")
def test_a_cluster_finds_the_same(logs: Path, tmp_path: Path) -> None:
    night = night_of(logs, tmp_path, *OTHER, shuffle=True, engine="ray", jobs=2)
    assert told(night.audit.findings) == told(alone(logs, *OTHER).findings)
