"""A file's name is bytes, and need not be text: what lies in it is audited and shown like any other."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from analyzer import audit
from analyzer.cli import main
from tests.batch.nights import log, run, story

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text there")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Give a folder with a log in a folder, and a file that is none, whose names are not UTF-8."""
    inner = tmp_path / "logs" / os.fsdecode(b"d\xfe")
    log(inner, os.fsdecode(b"n\xff.ndjson"), story("s1", {"id": 7}))
    (inner / os.fsdecode(b"w\xff.txt")).write_text("no log\n")
    return tmp_path / "logs"


def test_in_every_report(logs: Path, tmp_path: Path) -> None:
    names = ("r.json", "r.sarif", "r.html", "r.md", "junit=r.xml", "gitlab=g.json", "r.jsonl", "r.txt", "r.parquet")
    outputs = [part for name in names for part in ("-o", name.replace("r.", f"{tmp_path}/r.", 1))]
    outputs = [part.replace("=g", f"={tmp_path}/g") for part in outputs]
    assert main(["audit", *outputs, "--save", f"{tmp_path}/saved", str(logs)]) == 1
    report = json.loads((tmp_path / "r.json").read_bytes())
    shown = [each["path"] for each in report["inputs"] if each["format"]]
    assert shown == [str(logs / r"d\xfe" / r"n\xff.ndjson")]


def test_named(logs: Path) -> None:
    (file,) = logs.rglob("*.ndjson")
    assert main(["formats", "--try", str(file)]) == 0
    assert main(["gate", str(file)]) == 0


def test_night_after_night(logs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first, again = run(store, logs), run(store, logs)
    assert first.audit.summary["sessions"] == 1
    assert (first.failed, again.trend.run["audited"]) == ((), 0)


def test_a_folder_that_cannot_be_read_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "a", "1.ndjson", story("s1", {"id": 7}))
    log(tmp_path / "closed", "2.ndjson", story("s2", {"id": 7}))
    log(tmp_path / "z", "3.ndjson", story("s3", {"id": 7}))
    log(tmp_path / "z", "4.ndjson", story("s4", {"id": 7}))
    scandir, is_file = os.scandir, Path.is_file

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    def hidden(path: Path) -> bool:
        if path.name == "4.ndjson":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(Path, "is_file", hidden)
    done = audit(tmp_path)
    assert done.summary["sessions"] == 2
    assert [problem.file for problem in done.problems] == [str(tmp_path / "closed"), str(tmp_path / "z" / "4.ndjson")]


def test_frames_are_saved_under_text_only(logs: Path, tmp_path: Path) -> None:
    assert main(["audit", str(logs), "--save", str(tmp_path / os.fsdecode(b"s\xff"))]) == 2
