"""What holds all frames of large logs in memory says so before it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import holding, main
from tests.batch.nights import log, story


@pytest.mark.parametrize(
    ("command", "who"),
    [
        (("query", "$[0]"), "`query`"),
        (("show",), "`show`"),
        (("audit", "--fail-on", "never", "--save", "{tmp}/saved"), None),
        (("contracts", "tighten"), "`tighten`"),
        (("audit", "--fail-on", "never"), None),
        (("gate",), None),
        (("query", "$[0]", "--session", "s1"), None),
    ],
)
def test_it_is_told_where_it_is_so(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    who: str | None,
) -> None:
    folder = log(tmp_path / "logs", "a.ndjson", story("s1", {"id": 7})).parent
    arguments = [*(each.format(tmp=tmp_path) for each in command), str(folder)]
    assert main(arguments) == 0
    assert "in memory" not in capsys.readouterr().err
    monkeypatch.setattr(holding, "_LARGE", 100)
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert (f"and {who} holds all of their frames in memory" in said) if who else ("in memory" not in said)


def test_packed_logs_hold_more_than_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"x" * 200)
    monkeypatch.setattr(holding, "_LARGE", 1000)
    assert "0.0 GB" in holding.warning("it", [str(tmp_path)])
    (tmp_path / "a.jsonl.gz").rename(tmp_path / "a.jsonl")
    assert holding.warning("it", [str(tmp_path), "no/such/file"]) == ""
