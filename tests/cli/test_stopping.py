"""A terminated audit leaves nothing behind in the folder of temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hostile.wire import session

_SLOW_AUDIT = """
import sys, time
from analyzer.read import recording
recording.LIMIT = recording.Recording.BLOCK = 20
flush = recording.Recording.flush
recording.Recording.flush = lambda self: (flush(self), time.sleep(0.3))
from analyzer.cli import main
sys.exit(main(["audit", *sys.argv[1:]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to send")
def test_a_terminated_audit_removes_its_private_folder(tmp_path: Path, root: Path) -> None:
    log, folder = tmp_path / "log.ndjson", tmp_path / "temporary"
    folder.mkdir()
    log.write_bytes(session({"type": "object"}, "{}", more=[(f"c{number}", "{}") for number in range(4_000)]))
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, "-c", _SLOW_AUDIT, str(log)], env=environment) as audit:
        try:
            while not list(folder.glob("analyzer-*/*")) and audit.poll() is None:
                time.sleep(0.05)
            assert list(folder.glob("analyzer-*/*"))
            audit.send_signal(signal.SIGTERM)
            assert audit.wait(60) == 143
        finally:
            audit.kill()
    assert list(folder.glob("analyzer-*")) == []
