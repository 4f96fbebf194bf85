"""What the shell completes."""

from __future__ import annotations

import pytest

from analyzer.cli import main


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("analyzer aud", {"audit"}),
        ("analyzer audit --output-format s", {"sarif"}),
        ("analyzer audit --select RUN00", {f"RUN00{number}" for number in range(1, 10)}),
        ("analyzer rules args-sch", {"args-schema-mismatch"}),
    ],
)
def test_words(line: str, words: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_ANALYZER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    assert {told.partition(",")[2] for told in capsys.readouterr().out.splitlines()} == words
