"""Small mistakes on the command line, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import main

Caught = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}\n'
    Path("log.jsonl").write_text(call, encoding="utf-8")
    return "log.jsonl"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("strict = true\nx = [\n", "analyzer.toml:2: not TOML"),
        ('strict = true\nexecuted = "a:b"\n', "analyzer.toml:2: 'executed' is for the command line only"),
    ],
)
def test_a_configuration_is_refused_with_its_line(text: str, says: str, log: str, capsys: Caught) -> None:
    Path("analyzer.toml").write_text(text, encoding="utf-8")
    assert main(["audit", log]) == 2
    assert says in capsys.readouterr().err


def test_a_name_like_no_rule_gets_no_offer(capsys: Caught) -> None:
    assert main(["rules", "NOPE"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert main(["rules", "args-schema-mismach"]) == 2
    assert "did you mean 'args-schema-mismatch'?" in capsys.readouterr().err


def test_a_query_without_a_match_names_the_members(log: str, capsys: Caught) -> None:
    assert main(["query", "[].bogus", log]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "nothing matches in 1 calls" in err
    assert "call_id" in err


def test_an_ending_that_names_no_format_is_told_once(log: str, capsys: Caught) -> None:
    main(["audit", "-o", "x.docx", log])
    assert capsys.readouterr().err.count(".docx names no format, text is written") == 1
    main(["audit", "-o", "text=y.docx", log])
    assert "names no format" not in capsys.readouterr().err


def test_a_log_that_is_not_recognised_is_not_called_read(tmp_path: Path, capsys: Caught) -> None:
    (tmp_path / "own.jsonl").write_text('{"foo": 1}\n', encoding="utf-8")
    assert main(["audit", str(tmp_path / "own.jsonl")]) == 3
    out, err = capsys.readouterr()
    assert "none read  not recognised" in out
    assert "mapping" in err


def test_the_next_command_takes_no_log_for_an_option(log: str, capsys: Caught) -> None:
    Path(log).rename("-v.jsonl")
    main(["audit", "--", "-v.jsonl"])
    following = capsys.readouterr().out.splitlines()[-1].split()
    assert (following[0], following[-2:]) == ("analyzer", ["--", "-v.jsonl"])
    assert main(following[1:]) == 0


def test_a_file_named_like_a_format_is_told(log: str, capsys: Caught) -> None:
    main(["audit", "-o", "html", log])
    assert "names no format, text is written; say FORMAT=FILE" in capsys.readouterr().err
    main(["audit", "-o", "report", "-o", "html=html", log])
    assert "names no format" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("gate",), "--final-schema"),
        (("replay", "--against", "x.json"), "--final-schema"),
        (("diff",), "--final-schema"),
        (("contracts", "list"), "--final-schema"),
        (("contracts", "tighten"), "--final-schema"),
        (("contracts", "diff", "a", "b"), "--final-schema"),
        *((("contracts", each), name) for each in ("lint", "pin") for name in ("--contracts", "--executed")),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    command: tuple[str, ...], option: str, log: str, capsys: Caught
) -> None:
    assert main([*command, option, "x.json", log]) == 2
    told = capsys.readouterr().err
    assert told.startswith("analyzer: No such option")
    assert option in told
    assert ".;" not in told


def test_settings_may_hold_what_a_command_has_no_use_for(log: str, tmp_path: Path, capsys: Caught) -> None:
    settings = tmp_path / "analyzer.toml"
    settings.write_text('final_schema = "final.json"\nassert_formats = true\n', encoding="utf-8")
    for command in (["gate"], ["contracts", "list"], ["contracts", "lint"]):
        assert main([*command, "--config", str(settings), log]) != 2
    assert "final.json" not in capsys.readouterr().err
