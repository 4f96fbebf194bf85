"""An audit that is stopped leaves nothing behind: no files in the folder of temporary ones, and no processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hostile.wire import session

# Another process imports the same: what makes it slow stands before the question who is the first.
_SLOW_AUDIT = """
import sys, time
from analyzer.read import recording, shares
shares.LEAST = 1
recording.LIMIT = recording.Recording.BLOCK = 20
flush = recording.Recording.flush
recording.Recording.flush = lambda self: (flush(self), time.sleep(0.3))
if __name__ == "__main__":
    from analyzer.cli import main
    sys.exit(main(["audit", *sys.argv[1:]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to send")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_audit_removes_its_private_folder(
    jobs: str, sent: signal.Signals, status: int, tmp_path: Path, root: Path
) -> None:
    log, folder, program = tmp_path / "log.ndjson", tmp_path / "temporary", tmp_path / "slow.py"
    folder.mkdir()
    program.write_text(_SLOW_AUDIT)
    log.write_bytes(session({"type": "object"}, "{}", more=[(f"c{number}", "{}") for number in range(4_000)]))
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(root)}
    command = [sys.executable, str(program), "--jobs", jobs, str(log)]
    with (
        (tmp_path / "said").open("wb") as said,
        subprocess.Popen(command, env=environment, start_new_session=True, stderr=said) as audit,
    ):
        try:
            while not list(folder.glob("analyzer-*/*")) and audit.poll() is None:
                time.sleep(0.05)
            assert list(folder.glob("analyzer-*/*"))
            if sent == signal.SIGINT:  # a terminal sends it to all of them
                os.killpg(audit.pid, sent)
            else:
                audit.send_signal(sent)
            assert audit.wait(60) == status
        finally:
            audit.kill()
    assert "Traceback" not in (tmp_path / "said").read_text()
    assert list(folder.glob("analyzer-*")) == []
    for _ in range(100):  # they ended before it did, or are about to
        if not _running(audit.pid):
            break
        time.sleep(0.05)
    assert _running(audit.pid) == []


def _running(group: int) -> list[str]:
    """The processes of a group that have not ended."""
    told = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in told.splitlines()]
    return [row[-1] for row in rows if row[0] == str(group) and not row[1].startswith("Z")]
