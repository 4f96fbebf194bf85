"""A local Ray cluster gives what one process gives, also when a worker is lost on the way."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.batch.nights import at_work, log, run, story, told

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


def logs_in(folder: Path, files: int) -> Path:
    for number in range(files):
        log(folder, f"{number:02}.ndjson", story(f"s{number}", {"id": number if number % 3 else "x"}))
    return folder


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_what_one_process_gives(tmp_path: Path) -> None:
    logs = logs_in(tmp_path / "logs", 6)
    one = run(tmp_path / "one", logs, size=1)
    many = run(tmp_path / "many", logs, size=1, engine="ray", jobs=2)
    assert told(many.audit.findings) == told(one.audit.findings)
    assert many.audit.summary == one.audit.summary


@pytest.mark.filterwarnings("ignore")
def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    logs = logs_in(tmp_path / "logs", 8)
    one = run(tmp_path / "one", logs, size=1)
    killed: list[int] = []
    over = threading.Event()

    def kill_two() -> None:
        while len(killed) < 2 and not over.is_set():
            for _, worker in at_work(b"ray::audit_segment"):
                if worker not in killed and len(killed) < 2:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)
                        killed.append(worker)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_two)
    killer.start()
    try:
        many = run(tmp_path / "many", logs, size=1, engine="ray", jobs=2)
    finally:
        over.set()
        killer.join()
    assert len(killed) == 2, "both were lost"
    assert many.failed == ()
    assert told(many.audit.findings) == told(one.audit.findings)
    assert many.audit.summary == one.audit.summary
