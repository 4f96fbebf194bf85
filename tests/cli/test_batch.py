"""The batch command: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.cli import main
from tests.batch.nights import log, story


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Give a folder with one good session and a bad one."""
    log(tmp_path / "logs", "a.ndjson", story("s1", {"id": 7}))
    log(tmp_path / "logs", "b.ndjson", story("s2", {"id": "x"}))
    return tmp_path / "logs"


def test_two_nights(tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["batch", "--store", str(tmp_path / "store"), str(logs)]
    assert main(command) == 1
    first = capsys.readouterr().out
    assert "run 1: 2 inputs, 2 audited, 0 from the store" in first
    assert "ARG001" in first
    assert main([*command, "--fail-on-new", "error"]) == 0, "nothing is new"
    second = capsys.readouterr().out
    assert "0 audited, 2 from the store" in second
    log(logs, "c.ndjson", story("s3", {}))
    assert main([*command, "--fail-on-new", "error"]) == 1
    assert "/id is missing" in capsys.readouterr().out


def test_what_grew_decides_as_what_is_new(tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["batch", "--store", str(tmp_path / "store"), "--fail-on-new", "error", str(logs)]
    main(command)
    log(logs, "c.ndjson", *(story(f"more{at}", {"id": 7}) for at in range(20)))
    capsys.readouterr()
    assert main(command) == 1
    grew = capsys.readouterr().out.split("\nGrew\n")[1].split("\n\n")[0]
    assert "error ARG001 args-schema-mismatch  get  21x (was 1)" in grew
    assert "c.ndjson" in grew, "where the latest is, which nobody has seen"
    assert main(command) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_what_is_new_stays_new_until_it_was_told(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["batch", "--store", str(tmp_path / "store"), "--fail-on-new", "error", str(logs)]
    beside = tmp_path / "night.json"
    assert main([*command, "-o", "sarif=/dev/full", "-o", str(beside)]) == 2
    out, err = capsys.readouterr()
    assert ("ARG001 args-schema-mismatch" in out, beside.exists()) == (True, True), "one report takes no other along"
    assert "/dev/full: cannot write: No space left on device" in err
    assert main(command) == 1, "nobody may have seen it"
    assert "run 1: 2 inputs, 0 audited" in capsys.readouterr().out
    assert main(command) == 0


def test_fewer_inputs_than_last_time_are_told(tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["batch", "--store", str(tmp_path / "store"), str(logs)]
    main(command)
    (logs / "a.ndjson").unlink()
    main(command)
    assert "run 2: 1 input (2 in the last run), " in " ".join(capsys.readouterr().out.split())


def test_what_is_new_says_what_is_wrong_where_and_what_to_type(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["batch", "--store", str(tmp_path / "store"), str(logs)]
    main(command)
    capsys.readouterr()
    worse = log(logs, "c.ndjson", story("s3", {"id": "x", "force": True}))
    assert main(command) == 1
    new, recurring = capsys.readouterr().out.split("\nNew\n")[1].split("\nRecurring\n")
    assert "The arguments break the schema in force: /force is not in the schema." in new
    assert f"at {worse}:2 /item/arguments" in new
    assert "/force is not" not in recurring, "what is known is told in a line"
    assert "…" not in recurring, "nothing of it is cut"
    assert recurring.splitlines()[-1] == f"  analyzer show --session s3 --call c1 {logs}"
    main(command)
    assert f"  analyzer show --session s1 --call c1 {logs}" in capsys.readouterr().out, (
        "nothing new: the worst there is"
    )


def test_the_trend_as_json_and_a_report_beside_it(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "night.json"
    command = ["batch", "--store", str(tmp_path / "store"), "--output-format", "json", "-o", str(report), str(logs)]
    assert main(command) == 1
    trend = json.loads(capsys.readouterr().out)
    assert trend["schema"] == "analyzer.trend/v1"
    assert {change["change"] for change in trend["changes"]} == {"new"}
    assert len(json.loads(report.read_text())["findings"]) == sum(change["count"] for change in trend["changes"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--session", "s1"], "--session"),
        (["--since", "soon"], "2026-11-30"),
        (["--since", "2026-11-30", "--until", "2026-11-29"], "--until 2026-11-29 is not after --since 2026-11-30"),
        (["--select", "ARG999"], "no rule 'ARG999'"),
    ],
)
def test_what_makes_no_sense(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert main(["batch", "--store", str(tmp_path / "store"), *more, str(logs)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_time_in_which_no_log_was_written_is_told(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["batch", "--store", str(tmp_path / "store"), "--since", "2999-01-01", str(logs)]) == 3
    assert f"{logs}: no log was written since 2999-01-01\n" in capsys.readouterr().err


def test_standard_input_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "--store", str(tmp_path / "store"), "-"]) == 2
    assert "standard input" in capsys.readouterr().err


def test_a_baseline_is_heeded_from_the_command_line_and_the_configuration(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, command = tmp_path / "known.json", ["batch", "--store", str(tmp_path / "store"), str(logs)]
    main(["audit", "--write-baseline", str(known), str(logs)])
    assert main([*command, "--baseline", str(known)]) == 0
    (tmp_path / "analyzer.toml").write_text('baseline = "known.json"\n')
    monkeypatch.chdir(tmp_path)
    assert main(command) == 0
    log(logs, "c.ndjson", story("s3", {}))
    capsys.readouterr()
    assert main(command) == 1
    told = capsys.readouterr().out
    assert "/id is missing" in told.split("\nNew\n")[1]
    assert " 0 suppressed, 0 known" not in " ".join(told.split())
    assert "\nKnown, for the baseline holds them\n" in told, "every night, not the first one alone"
    known.write_text("{}")
    assert main(command) == 2


def test_a_setting_that_a_night_does_not_heed_is_an_error(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "analyzer.toml").write_text('min_severity = "error"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["batch", "--store", str(tmp_path / "store"), str(logs)]) == 2
    assert "batch does not heed 'min_severity'" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_night_without_its_contracts_is_not_green(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contracts = tmp_path / "contracts.json"
    contracts.write_text('{"get": {"output": {"type": "object", "required": ["done"]}}}')
    log(tmp_path / "logs", "a.ndjson", story("s1", {"id": "x"}))
    command = ["batch", "--store", str(tmp_path / "store"), "--output-format", "json", str(tmp_path / "logs")]
    assert main([*command, "--contracts", str(contracts)]) == 1
    capsys.readouterr()
    assert main(command) == 3
    printed = capsys.readouterr()
    trend = json.loads(printed.out)
    assert [(each["change"], each["why"]) for each in trend["changes"] if each["rule"] == "OUT004"] == [
        ("not looked at", "the rule did not run")
    ]
    assert "OUT004" in trend["notes"][0]
    assert "OUT004" in printed.err
    assert main(command) == 0, "told once"


def test_a_log_that_is_none_any_more_is_not_green(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        kept = log(tmp_path / "logs", f"{name}.ndjson", story(f"s{name}", {"id": "x"}))
    command = ["batch", "--store", str(tmp_path / "store"), str(tmp_path / "logs")]
    assert main(command) == 0
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:3]))
    capsys.readouterr()
    assert main([*command, "--ignore", "LOG"]) == 3
    assert f"{kept}: 5 records could be read in the last run, and 3 now" in capsys.readouterr().err
    kept.write_text("")
    assert main(command) == 3
    assert "1 not recognised" in capsys.readouterr().out


def test_json_that_is_no_log_counts_with_strict_only(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs / "contracts.json").write_text('{"get": {"output": {}}}')
    command = ["batch", "--store", str(tmp_path / "store"), "--fail-on", "never", str(logs)]
    given = ["--contracts", str(logs / "contracts.json")]
    assert main(command) == 0
    assert main([*command, *given, "--strict"]) == 0
    capsys.readouterr()
    (logs / "house.json").write_text('{"house": 1}')
    assert main([*command, *given, "--strict"]) == 3
    printed = capsys.readouterr()
    assert f"{logs / 'house.json'}: " in printed.err
    assert "2 left out" in printed.out
