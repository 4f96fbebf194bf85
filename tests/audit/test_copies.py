"""Files that are no logs of their own: copies of others, packed or not, and archives; and names that last."""

from __future__ import annotations

import gzip
import shutil
import tarfile
from pathlib import Path

import pytest
import zstandard

from analyzer import audit
from analyzer.auditing.outcome import Audit
from tests.batch.nights import run

LOGS = ("openai-chat.jsonl", "anthropic-messages.jsonl", "mcp-jsonrpc.jsonl", "managed-agents.jsonl")


def told(found: Audit) -> list[tuple[object, ...]]:
    return found.findings.select("rule", "session", "call_id", "message").rows()


@pytest.mark.parametrize("name", LOGS)
def test_a_copy_is_read_once_and_named(tmp_path: Path, root: Path, name: str) -> None:
    log = tmp_path / name
    shutil.copy(root / "sample_traces" / "formats" / name, log)
    alone = audit(tmp_path)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(log.read_bytes()))
    (tmp_path / f"{name}.zst").write_bytes(zstandard.compress(log.read_bytes()))
    shutil.copy(log, tmp_path / "z.jsonl")
    found = audit(tmp_path)
    assert told(found) == told(alone)
    assert found.summary == alone.summary
    assert found.inputs == alone.inputs
    assert found.notes == [
        f"{tmp_path / copy} holds the same bytes as {log}: read once"
        for copy in (f"{name}.gz", f"{name}.zst", "z.jsonl")
    ]


def test_two_packed_copies_are_one_log(tmp_path: Path, root: Path) -> None:
    data = (root / "sample_traces" / "formats" / LOGS[0]).read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data, 1))
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(data))
    (note,) = audit(tmp_path).notes
    assert "a.jsonl.zst holds the same bytes" in note


def test_what_only_begins_alike_is_a_log_of_its_own(tmp_path: Path, root: Path) -> None:
    data = (root / "sample_traces" / "formats" / "openai-responses.jsonl").read_bytes()
    assert len(data) > 8192
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl").write_bytes(data[:-2].replace(b"plot Z9", b"plot Z8") + data[-2:])
    found = audit(tmp_path)
    assert found.notes == []
    assert [Path(each["path"]).name for each in found.inputs] == ["a.jsonl", "b.jsonl"]


def test_empty_files_are_no_copies(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).touch()
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b""))
    found = audit(tmp_path, lenient=True)
    assert found.notes == []
    assert len(found.inputs) == 4


def test_a_copy_that_comes_the_night_after_changes_nothing(tmp_path: Path, root: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in LOGS:
        shutil.copy(root / "sample_traces" / "formats" / name, logs / name)
    first = run(tmp_path / "store", logs)
    for name in LOGS:
        shutil.copy(logs / name, logs / f"copy of {name}")
    second = run(tmp_path / "store", logs)
    assert told(second.audit) == told(first.audit)
    assert second.audit.summary == first.audit.summary
    assert len(second.audit.notes) == len(LOGS)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_archive_is_refused_by_name(tmp_path: Path, root: Path, mode: str) -> None:
    log = root / "sample_traces" / "formats" / LOGS[0]
    with tarfile.open(tmp_path / "b.tar.x", mode) as archive:  # type: ignore[call-overload]
        archive.add(log, arcname="chat.jsonl")
    shutil.copy(log, tmp_path / "a.jsonl")
    found = audit(tmp_path)
    (problem,) = found.problems
    assert str(problem) == f"{tmp_path / 'b.tar.x'}: a tar archive is not opened"
    assert problem.advice == "unpack it, or make a zip of it"
    assert [Path(each["path"]).name for each in found.inputs] == ["a.jsonl"]


def test_a_session_without_a_name_has_one_that_other_inputs_do_not_change(tmp_path: Path, root: Path) -> None:
    data = (root / "sample_traces" / "formats" / "mcp-jsonrpc.jsonl").read_bytes()
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "notes.jsonl").write_bytes(data)
    alone = audit(tmp_path).frames["sessions"]["session"].to_list()
    assert alone == ["mcp-m/notes.1", "mcp-m/notes.2"]
    (tmp_path / "a.jsonl").write_bytes(data.replace(b"greenhouse", b"glasshouse"))
    (tmp_path / "m" / "notes-2.jsonl").write_bytes(data.replace(b"greenhouse", b"winter house"))
    (tmp_path / "m" / "notes.ndjson").write_bytes(data.replace(b"greenhouse", b"summer house"))
    more = audit(tmp_path).frames["sessions"]["session"].to_list()
    assert len(set(more)) == 8
    assert set(alone) < set(more)
