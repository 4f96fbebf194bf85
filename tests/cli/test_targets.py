"""Where commands write: never over what they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import main
from tests.batch.nights import log, story


@pytest.mark.parametrize(
    "asked",
    [
        ("audit", "-o", "text={log}"),
        ("audit", "-o", "{link}"),
        ("audit", "--write-baseline", "{log}"),
        ("audit", "--contracts", "{contracts}", "-o", "{contracts}"),
        ("batch", "--store", "{store}", "-o", "{log}"),
        ("batch", "--store", "{store}", "-o", "{store}/runs.parquet"),
        ("gate", "-o", "{log}"),
        ("show", "-o", "{log}"),
        ("query", "-o", "{log}", "$..call_id"),
    ],
)
@pytest.mark.parametrize("folder", [False, True])
def test_what_is_read_is_not_written_over(tmp_path: Path, *, asked: tuple[str, ...], folder: bool) -> None:
    logs = tmp_path / "logs"
    file = log(logs, "a.ndjson", story("s1", {"id": 7}))
    (contracts := logs / "contracts.json").write_text('{"get": {"type": "object"}}')
    (link := tmp_path / "link.ndjson").symlink_to(file)
    before = file.read_bytes(), contracts.read_bytes()
    names = {"log": file, "link": link, "contracts": contracts, "store": tmp_path / "store"}
    command, *rest = (each.format(**names) for each in asked)
    assert main([command, *rest, str(logs if folder else file)]) == 2
    assert (file.read_bytes(), contracts.read_bytes()) == before


def test_a_report_among_the_logs_is_written_again(tmp_path: Path) -> None:
    log(tmp_path, "a.ndjson", story("s1", {"id": 7}))
    for _ in range(2):
        assert main(["audit", str(tmp_path), "-o", str(tmp_path / "report.json")]) == 1


def test_one_file_by_two_names_is_one_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = log(tmp_path, "a.ndjson", story("s1", {"id": 7}))
    assert main(["audit", str(file), "-o", f"{tmp_path}/x.json", "-o", f"sarif={tmp_path}/./x.json"]) == 2
    assert "two reports" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("audit", "-o", "{tmp}/nowhere/a.sarif"), "nowhere is not there"),
        (("audit", "-o", "{tmp}"), "it is a folder"),
        (("audit", "-o", "{file}/a.sarif"), "is no folder"),
        (("audit", "--write-baseline", "{tmp}/nowhere/known.json"), "nowhere is not there"),
        (("audit", "--save", "{file}"), "is no folder"),
        (("batch", "--store", "{tmp}/store", "-o", "{tmp}/nowhere/a.html"), "nowhere is not there"),
        (("gate", "-o", "{tmp}/nowhere/gate.jsonl"), "nowhere is not there"),
        (("audit", "-o", "sariff={tmp}/a.sarif"), "no format 'sariff'; did you mean 'sarif'?"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_audit(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked: tuple[str, ...],
    said: str,
) -> None:
    def too_late(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("analyzer.auditing.audit", too_late)
    monkeypatch.setattr("analyzer.batch.nightly", too_late)
    (file := tmp_path / "a.txt").write_text("")
    log_file = log(tmp_path / "logs", "a.ndjson", story("s1", {"id": 7}))
    command, *rest = (each.format(tmp=tmp_path, file=file) for each in asked)
    assert main([command, *rest, str(log_file)]) == 2
    assert said in capsys.readouterr().err


def test_a_report_that_cannot_be_written_takes_no_other_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is full")
    file = log(tmp_path, "a.ndjson", story("s1", {"id": 7}))
    (tmp_path / "out").mkdir()
    assert main(["audit", str(file), "-o", "sarif=/dev/full", "-o", f"{tmp_path}/out/a.json", "-o", "-"]) == 2
    out, err = capsys.readouterr()
    assert (tmp_path / "out" / "a.json").exists()
    assert "1 error" in out or "no findings" in out or "errors" in out
    assert "/dev/full: cannot write: No space left on device" in err
