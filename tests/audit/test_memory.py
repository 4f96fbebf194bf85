"""What an audit holds is bounded, however long the payloads of a log are: a child says what it took at most."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.wire import session

_ROOT = Path(__file__).parents[2]
_CHILD = """
import re, sys
from pathlib import Path
from analyzer import audit
from analyzer.read import recording
from analyzer.read.spilled import large

def most():  # not what getrusage says: that remembers what the parent held
    return int(re.search("VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1]) >> 10

recording.LIMIT = large.WINDOW = 20_000
recording.Recording.BLOCK_BYTES = 1 << 22
audit([sys.argv[1]], keep_frames=False)
before = most()
done = audit([sys.argv[2]], keep_frames=False)
print(most() - before, done.summary["calls"], done.crashed)
"""
_SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


def _log(file: Path, size: int, sessions: int, calls: int) -> str:
    """Calls whose arguments are so many bytes."""
    with file.open("wb") as out:
        for number in range(sessions):
            texts = [json.dumps({"x": f"{number}.{each} " + "ab " * (size // 3)}) for each in range(calls)]
            more = [(f"c{each}", text) for each, text in enumerate(texts[1:])]
            out.write(session(_SCHEMA, texts[0], more=more, output=None, session_id=f"s{number}"))
    return str(file)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process held")
@pytest.mark.parametrize(
    ("sessions", "calls"),
    [pytest.param(12, 10, marks=pytest.mark.long), (1, 120)],
    ids=["in sessions", "in one session"],
)
def test_long_payloads(tmp_path: Path, sessions: int, calls: int) -> None:
    """120 MB of texts, of which 40 are the limit: as many more would be copies of them."""
    small = _log(tmp_path / "small.ndjson", 100, 2, 2)
    log = _log(tmp_path / "log.ndjson", 1_000_000, sessions, calls)
    command = [sys.executable, "-c", _CHILD, small, log]
    environment = {"PYTHONPATH": str(_ROOT), "POLARS_MAX_THREADS": "1", "_RJEM_MALLOC_CONF": "dirty_decay_ms:0"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120)
    held, told, crashed = done.stdout.split(maxsplit=2)
    assert (int(told), crashed.strip()) == (sessions * calls, b"[]")
    assert int(held) < 100
