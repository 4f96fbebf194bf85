"""Which report goes where: the flag, the ending of a file, several reports of one audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.auditing import Audit
from analyzer.cli import main, reports
from analyzer.report import html

SAMPLE = str(Path(__file__).parents[2] / "sample_traces" / "3-incident.envelopes.ndjson")
FIRST = {
    "text": b"errors",
    "json": b'{"schema":"analyzer.audit/v1"',
    "jsonl": b'{"schema":"analyzer.audit-lines/v1"',
    "sarif": b'{"$schema"',
    "junit": b"<?xml",
    "github": b"::error ",
    "gitlab": b"[\n{",
    "markdown": b"# Session trace audit",
    "html": b"<!doctype html>",
    "parquet": b"PAR1",
}


def test_every_format_is_known_here() -> None:
    assert tuple(FIRST) == reports.FORMATS


@pytest.mark.parametrize("name", [name for name in reports.FORMATS if name != "parquet"])
def test_a_format_is_written_to_standard_output(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["audit", "--output-format", name, SAMPLE]) == 1
    assert FIRST[name] in capsysbinary.readouterr().out[:80]


@pytest.mark.parametrize(
    ("output", "chosen", "name"),
    [
        ("a.json", None, "json"),
        ("a.jsonl", None, "jsonl"),
        ("A.SARIF", None, "sarif"),
        ("a.sarif.json", None, "sarif"),
        ("a.xml", None, "junit"),
        ("a.md", None, "markdown"),
        ("a.html", None, "html"),
        ("a.parquet", None, "parquet"),
        ("a.log", None, "text"),
        ("a.json", "gitlab", "gitlab"),
        ("gitlab=a.json", None, "gitlab"),
        ("gitlab=a.json", "sarif", "gitlab"),
        ("./x=a.json", None, "json"),
        ("-", None, "text"),
        ("json=-", None, "json"),
    ],
)
def test_the_format_of_an_output(output: str, chosen: str | None, name: str) -> None:
    [report] = reports.asked((output,), chosen, "text")
    assert report.format == name
    assert report.file == (None if output.endswith("-") else output.removeprefix("gitlab="))


def test_one_audit_writes_several_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [tmp_path / name for name in ("a.sarif", "a.md", "a.parquet")]
    codes = f"gitlab={tmp_path / 'codequality.json'}"
    outputs = [part for each in ("-", *map(str, names), codes) for part in ("-o", each)]
    assert main(["audit", SAMPLE, *outputs]) == 1
    assert "Where to look first" in capsys.readouterr().out
    assert json.loads(names[0].read_bytes())["version"] == "2.1.0"
    assert names[1].read_text().startswith("# Session trace audit")
    assert names[2].read_bytes().startswith(b"PAR1")
    assert isinstance(json.loads((tmp_path / "codequality.json").read_bytes()), list)


def test_a_setting_is_the_usual_and_the_ending_of_a_file_still_says_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "analyzer.toml"
    config.write_text('output_format = "json"\n')
    main(["audit", "--config", str(config), SAMPLE])
    assert json.loads(capsys.readouterr().out)["schema"] == "analyzer.audit/v1"
    main(["audit", "--config", str(config), SAMPLE, "-o", str(tmp_path / "a.md")])
    assert (tmp_path / "a.md").read_text().startswith("# Session")


def test_two_reports_in_one_place_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = str(tmp_path / "a.json")
    assert main(["audit", SAMPLE, "-o", same, "-o", f"gitlab={same}"]) == 2
    assert "two reports would go to" in capsys.readouterr().err


def test_a_page_shows_calls_and_the_audit_keeps_no_more_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: set[str] = set()
    written = html.pieces

    def pieces(audit: Audit, *, next_command: str | None) -> Iterator[bytes]:
        kept.update(audit.frames)
        return written(audit, next_command=next_command)

    monkeypatch.setattr(html, "pieces", pieces)
    page = tmp_path / "a.html"
    main(["audit", SAMPLE, "-o", str(page)])
    assert '"bare":false' in page.read_text()
    assert {"told_calls", "spans", "tallies"} <= kept
    assert kept.isdisjoint({"calls", "results", "verdicts"})
