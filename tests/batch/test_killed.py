"""A batch that is killed loses nothing: the store opens, and the next run ends as if nothing had been."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyzer.batch import Store
from tests.batch.nights import log, run, story, told

CHILD = """
import sys
from tests.batch.nights import run
from pathlib import Path
print("ready", flush=True)
run(Path(sys.argv[1]), sys.argv[2], size=1)
print("done", flush=True)
"""


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_killed_at_random_moments(tmp_path: Path, root: Path, kills: int) -> None:
    logs = tmp_path / "logs"
    for number in range(30):
        arguments = {"id": "x"} if number % 3 else {"id": number}
        log(logs, f"{number:02}.ndjson", story(f"s{number}", arguments))
    undisturbed = run(tmp_path / "calm", logs, size=1)
    chance, store = random.Random(1117), tmp_path / "store"
    audited = []
    for _ in range(kills):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(store), str(logs)], stdout=subprocess.PIPE, cwd=root)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0, 0.5))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        audited.append(Store(str(store)).inputs().height)
    assert audited == sorted(audited), "what counted once counts for ever"
    night = run(store, logs, size=1)
    assert told(night.audit.findings) == told(undisturbed.audit.findings)
    assert night.audit.summary == undisturbed.audit.summary
    assert not [each for each in (store / "segments").iterdir() if each.name.startswith(".")]
    kept = {each.name for each in (store / "segments").iterdir()}
    assert kept == set(Store(str(store)).inputs()["segment"])
