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
