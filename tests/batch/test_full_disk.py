"""A disk that runs full is said as such, wherever in the night it does, and the next night goes on."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.batch.nights import log, story


def _night(store: Path, logs: Path, most: int | None, *more: str) -> subprocess.CompletedProcess[str]:
    """A night whose files may have so many bytes: what is written behind that fails as on a full disk."""

    def limited() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "analyzer", "batch", "--fail-on", "never", "--store", str(store), *more, str(logs)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, check=False)


@pytest.mark.parametrize("most", [3_000, *(pytest.param(most, marks=pytest.mark.long) for most in (1_000, 6_000))])
@pytest.mark.parametrize("more", [(), ("--jobs", "2"), ("--shuffle",)], ids=["here", "processes", "shuffle"])
def test_a_full_disk_is_no_fault_of_the_analyzer(tmp_path: Path, most: int, more: tuple[str, ...]) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    for name in "ab":
        log(logs, f"{name}.ndjson", *(story(f"{name}{number}", {}) for number in range(40)))
    full = _night(store, logs, most, *more)
    assert full.returncode == 2, full.stderr
    assert "File too large" in full.stderr
    assert "fault of the analyzer" not in full.stderr + full.stdout
    again = _night(store, logs, None)
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("run 1: 2 inputs")


def test_saving_an_audit_is_held_to_the_same(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    log(logs, "a.ndjson", *(story(f"a{number}", {}) for number in range(40)))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "analyzer", "audit", "--save", str(tmp_path / "saved"), str(logs)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, check=False)
    assert (done.returncode, "File too large" in done.stderr) == (2, True), done.stderr
