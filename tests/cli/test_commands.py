"""The commands on logs: the sample incident, and everything that is no log."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzer.cli import main

Caught = pytest.CaptureFixture[str]
INCIDENT = "3-incident.envelopes.ndjson"
GUILTY = ("--session", "sess_1117_1042", "--call", "call_1042_05")


def run(caught: Caught, *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = caught.readouterr()
    return status, out, err


@pytest.fixture
def traces(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root)
    return Path("sample_traces")


def test_the_incident_is_told_and_the_last_line_can_be_typed(capsys: Caught, traces: Path) -> None:
    status, out, err = run(capsys, "audit", traces)
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[lines.index("") + 1] == "Where to look first"
    command = shlex.split(lines[-1])
    assert command[0] == "analyzer"
    status, out, err = run(capsys, *command[1:])
    assert (status, err) == (0, "")
    assert out.startswith("Call ")


def test_the_json_report_keeps_to_its_schema(capsys: Caught, traces: Path) -> None:
    schema = json.loads(files("analyzer.report").joinpath("audit-v1.schema.json").read_bytes())
    status, out, _ = run(capsys, "audit", "--output-format", "json", "--contracts", traces / "contracts.json", traces)
    report = json.loads(out)
    jsonschema.Draft202012Validator(schema).validate(report)
    assert status == 1
    assert report["summary"]["findings"]["error"] == sum(each["severity"] == "error" for each in report["findings"])


def test_what_is_left_out_is_not_counted_and_does_not_decide(capsys: Caught, traces: Path) -> None:
    log = traces / "4-approvals.ndjson"
    status, out, _ = run(
        capsys, "audit", "--output-format", "json", "--min-severity", "error", "--fail-on", "info", log
    )
    report = json.loads(out)
    assert status == 1
    assert {each["severity"] for each in report["findings"]} == {"error"}
    assert report["summary"]["findings"]["warning"] == report["summary"]["findings"]["info"] == 0


def test_select_and_ignore_choose_rules(capsys: Caught, traces: Path) -> None:
    status, out, _ = run(
        capsys, "audit", "--select", "arg", "--ignore", "args-schema-mismatch", traces / INCIDENT, "--statistics"
    )
    assert status == 0
    assert "error     ARG001" not in out
    assert "ARG001, CALL, DRIFT, FINAL, LOG, OUT, RUN, SAFE, TOOL: it was not selected" in out


def test_output_goes_to_a_file_and_frames_are_kept(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    from analyzer.auditing import open_audit

    kept, file = tmp_path / "kept", tmp_path / "report.txt"
    status, out, _ = run(capsys, "audit", "-o", file, "--save", kept, traces / INCIDENT)
    assert (status, out) == (1, "")
    _, printed, _ = run(capsys, "audit", traces / INCIDENT)
    assert file.read_text(encoding="utf-8") == printed
    assert not open_audit(str(kept)).frames["calls"].is_empty()


def test_settings_of_the_file_are_the_defaults_of_the_flags(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    config = tmp_path / "analyzer.toml"
    config.write_text("fail_on = 'never'\nselect = ['ARG001']\noutput_format = 'json'\n", encoding="utf-8")
    status, out, _ = run(capsys, "audit", "--config", config, traces / INCIDENT)
    assert status == 0
    assert {each["rule"] for each in json.loads(out)["findings"]} == {"ARG001"}
    status, _, _ = run(capsys, "audit", "--config", config, "--fail-on", "error", traces / INCIDENT)
    assert status == 1


def test_a_call_is_shown_beside_its_schema(capsys: Caught, traces: Path) -> None:
    status, out, _ = run(capsys, "show", *GUILTY, traces)
    assert status == 0
    for part in (
        "Call call_1042_05  get_order",
        f"{traces}/{INCIDENT}:1 /event/session/agent/tools/1/parameters",
        '>   "refund": true',
        '>   "additionalProperties": false',
        '> /order_id  pattern "^ord_[0-9]{6}$", and there is "ord_204418 and all open"',
        "outcome   success",
        '"execute":false',
        "error RUN001 executed-despite-mismatch",
    ):
        assert part in out


def test_a_session_is_shown_event_by_event(capsys: Caught, traces: Path) -> None:
    status, out, _ = run(capsys, "show", "--session", "sess_1117_1042", traces)
    assert status == 0
    numbers = [int(line.split()[0]) for line in out.splitlines() if line[:5].strip().isdigit()]
    assert numbers == list(range(48))
    assert "call call_1042_05 get_order invalid" in out
    assert "Hops" in out


def test_a_turn_is_shown_alone(capsys: Caught, traces: Path) -> None:
    status, out, _ = run(capsys, "show", "--turn", "turn_1042_1", traces)
    assert status == 0
    assert "call_1042_01" in out
    assert "call_1042_05" not in out


def test_several_sessions_are_listed(capsys: Caught, traces: Path) -> None:
    status, out, _ = run(capsys, "show", traces)
    assert status == 0
    assert out.splitlines()[1].split()[0] == "sess_1117_1042", "the worst first"
    assert {f"sess_1117_{clock}" for clock in ("0803", "0920", "1130", "1305", "1531", "1610", "1611")} <= set(
        out.split()
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--call", "call_1042_5"), "no call 'call_1042_5' in the log; did you mean 'call_1042_05'?"),
        (("--turn", "turn_1042_"), "no turn 'turn_1042_' in the log; did you mean"),
        (("--session", "sess_9"), "no session 'sess_9' in the log"),
    ],
)
def test_what_is_not_in_the_log_is_not_shown(capsys: Caught, traces: Path, arguments: Any, said: str) -> None:
    status, out, err = run(capsys, "show", *arguments, traces / INCIDENT)
    assert (status, out) == (2, "")
    assert err.startswith(f"analyzer: {said}")


@pytest.mark.parametrize("command", [("audit",), ("gate",), ("contracts", "list"), ("query", "[]")])
def test_a_session_that_is_not_in_the_log_is_a_mistake_and_no_clean_audit(
    capsys: Caught, traces: Path, command: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, *command, "--session", "sess_9", traces / INCIDENT)
    assert (status, out) == (2, "")
    assert err.startswith("analyzer: no session 'sess_9' in the log")


def gates(caught: Caught, *arguments: str | Path) -> dict[str, dict[str, Any]]:
    status, out, _ = run(caught, "gate", *arguments)
    assert status == 0
    return {record["call_id"]: record for record in map(json.loads, out.splitlines())}


def test_a_gate_record_names_what_passes_and_what_fails(capsys: Caught, traces: Path) -> None:
    records = gates(capsys, traces)
    assert records["call_1042_06"] == {
        "check": "refund_order",
        "schema": "parameters",
        "pass": ["order_id", "amount_cents", "reason"],
        "fail": [{"path": "/refund", "reason": "additionalProperties"}],
        "execute": False,
        "session": "sess_1117_1042",
        "turn": "turn_1042_2",
        "call_id": "call_1042_06",
    }
    assert records["call_1130_08"]["fail"] == [{"path": "/approval_ref", "reason": "required"}]
    clean = records["call_0803_01"]
    assert (clean["pass"], clean["fail"], clean["execute"]) == (["order_id", "view"], [], True)


def test_no_gate_record_lets_pass_what_it_refuses(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    log = tmp_path / "extra.ndjson"
    text = (traces / INCIDENT).read_text(encoding="utf-8")
    log.write_text(text.replace('"refund":true', '"refund":true,"also":1,"a/b":2'), encoding="utf-8")
    record = gates(capsys, log)["call_1042_05"]
    assert [each["path"] for each in record["fail"]] == ["/a~1b", "/also", "/refund", "/order_id"]
    assert record["pass"] == ["view"]
    many = ",".join(f'"m{number}":1' for number in range(99))
    log.write_text(text.replace('"refund":true', f'"refund":true,{many}'), encoding="utf-8")
    record = gates(capsys, log)["call_1042_05"]
    assert (len(record["fail"]), record["pass"]) == (50, [])


def test_a_gate_record_says_why_what_is_no_json_must_not_run(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    log = tmp_path / "broken.ndjson"
    text = (traces / INCIDENT).read_text(encoding="utf-8")
    log.write_text(text.replace('{"customer_id":"c418417@example.com"}', '"{no"'), encoding="utf-8")
    record = gates(capsys, log)["call_1042_01"]
    assert (record["fail"], record["execute"]) == ([{"path": "", "reason": "not_json"}], False)


def test_what_cannot_be_judged_must_not_run(capsys: Caught, traces: Path) -> None:
    record = gates(capsys, traces)["call_1130_07"]
    assert (record["execute"], record["pass"]) == (False, [])
    assert record["fail"] == [{"path": "", "reason": "unverifiable"}]


def test_standard_input_is_read_like_a_file(root: Path, traces: Path) -> None:
    log = traces / INCIDENT
    command = [sys.executable, "-m", "analyzer", "gate"]
    piped = subprocess.run([*command, "-"], cwd=root, input=log.read_bytes(), capture_output=True, check=True)
    assert piped.stdout == subprocess.run([*command, log], cwd=root, capture_output=True, check=True).stdout


def test_the_next_command_says_that_standard_input_is_to_be_given_again(root: Path, traces: Path) -> None:
    command = [sys.executable, "-m", "analyzer", "audit", "-"]
    out = subprocess.run(
        command, cwd=root, input=(traces / INCIDENT).read_bytes(), capture_output=True, check=False
    ).stdout
    assert out.decode().endswith("analyzer show --session sess_1117_1042 --call call_1042_05 - < LOG\n")


# --- what is no log


def test_an_empty_log(capsys: Caught, tmp_path: Path) -> None:
    log = tmp_path / "empty.ndjson"
    log.touch()
    status, out, err = run(capsys, "audit", log)
    assert status == 3
    assert err.splitlines() == [f"analyzer: {log}: empty; `analyzer formats` lists what is read"]
    assert out.splitlines()[-1] == "  analyzer formats"


def test_a_log_of_another_format(capsys: Caught, tmp_path: Path) -> None:
    log = tmp_path / "other.log"
    log.write_text("2026-01-01 something happened\n", encoding="utf-8")
    status, _, err = run(capsys, "audit", log)
    assert status == 3
    assert err.startswith(f"analyzer: {log}: not recognised as any format; ")


def test_a_saved_audit_is_no_log_and_the_workspace_opens_it(capsys: Caught, tmp_path: Path) -> None:
    run(capsys, "audit", "--save", tmp_path / "saved", "sample_traces/1-morning.ndjson")
    status, _, err = run(capsys, "show", tmp_path / "saved")
    assert status == 3
    assert "no log found; `analyzer tui` opens a saved audit" in err


def test_a_query_that_cannot_be_read_is_said_plainly(capsys: Caught) -> None:
    status, _, err = run(capsys, "query", "foo(", "sample_traces/1-morning.ndjson")
    assert (status, err) == (2, "analyzer: not a JMESPath: Incomplete expression\n")


def test_a_folder_without_logs(capsys: Caught, tmp_path: Path) -> None:
    (tmp_path / "README").write_text("nothing", encoding="utf-8")
    status, out, err = run(capsys, "audit", tmp_path)
    assert status == 3
    assert err.startswith(f"analyzer: {tmp_path}: no log found; ")
    assert f"no log, left out: {tmp_path}/README" in out


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("house.jsonl", b'{"at": 1}\n{"at": 2}\n'),
        ("house.ndjson.gz", gzip.compress(b'{"at": 1}\n', mtime=0)),
        ("noise.sse", bytes(range(256))),
        ("EMPTY.NDJSON", b""),
    ],
)
def test_what_is_named_like_a_log_is_never_left_out(
    capsys: Caught, tmp_path: Path, traces: Path, name: str, data: bytes
) -> None:
    (tmp_path / "1.ndjson").write_bytes((traces / "1-morning.ndjson").read_bytes())
    assert run(capsys, "audit", tmp_path)[0] == 0
    (tmp_path / name).write_bytes(data)
    status, out, err = run(capsys, "audit", tmp_path)
    assert status == 3
    assert f"{tmp_path / name}: {'not recognised as any format' if data else 'empty'}; " in err
    assert "no log, left out" not in out
    assert re.search(rf"(not recognised|empty) +{re.escape(str(tmp_path / name))}", out)


def test_a_status_of_three_has_its_reason_on_standard_error(
    capsys: pytest.CaptureFixture[str], traces: Path, tmp_path: Path
) -> None:
    log = tmp_path / "cut.ndjson"
    log.write_bytes((traces / "1-morning.ndjson").read_bytes() + b'{"type": oh}\n')
    for command in (["gate"], ["query", "[].name"], ["contracts", "list"], ["show"], ["contracts", "lint"]):
        assert main([*command, str(log)]) == 3
        assert f"{log}: 1 of 64 records cannot be read; `analyzer audit`" in capsys.readouterr().err


def test_of_many_unread_files_the_first_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.jsonl").write_text(f'{{"at": {number}}}\n')
    assert main(["gate", str(tmp_path)]) == 3
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 21
    assert told[-1] == ("analyzer: and 10 more that could not be read or recognised; `analyzer audit` lists them")


def _chat(arguments: str, schema: object) -> str:
    """A chat request that resends one call and its answer."""
    call = {"id": "c1", "type": "function", "function": {"name": "send", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    tool = {"type": "function", "function": {"name": "send", "parameters": schema}}
    return json.dumps({"model": "m", "messages": messages, "tools": [tool]}) + "\n"


def test_arguments_that_break_off_are_shown_to_their_end(capsys: Caught, tmp_path: Path) -> None:
    log = tmp_path / "chat.jsonl"
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    log.write_text(_chat('{"text": "' + "and so on " * 30 + "until here", schema))
    out = run(capsys, "show", "--call", "c1", log)[1]
    assert "and so on until here The schema in force" in " ".join(out.split())
    log.write_text(_chat('{"text": "begun' + "x" * 100_000 + "ended", schema))
    out = run(capsys, "show", "--call", "c1", log)[1]
    assert len(out) < 10_000
    assert '{"text": "begun' in out
    assert "xended\n" in out


def test_a_result_without_a_call_is_shown_as_the_report_says(capsys: Caught, tmp_path: Path) -> None:
    log = tmp_path / "chat.jsonl"
    log.write_text(_chat("{}", {"type": "object"}).replace('"tool_call_id": "c1"', '"tool_call_id": "c9"'))
    out = run(capsys, "audit", "--select", "CALL005", log)[1]
    command = out.splitlines()[-1].split()
    assert command[:2] + command[4:6] == ["analyzer", "show", "--call", "c9"]
    status, out, _ = run(capsys, *command[1:])
    assert status == 0
    assert out.startswith("c9  no call of the log has this id\n")
    assert "CALL005" in out
    assert "done" in out
    assert run(capsys, "show", "--call", "c8", log)[0] == 2


def test_the_next_command_works_where_a_finding_names_a_call_that_is_not_there(capsys: Caught, traces: Path) -> None:
    out = run(capsys, "audit", traces / "formats" / "gate-records.jsonl")[1]
    status, out, _ = run(capsys, *out.splitlines()[-1].split()[1:])
    assert (status, "DRIFT007" in out) == (0, True)


def test_no_line_of_a_schema_is_cut_beside_the_arguments(capsys: Caught, tmp_path: Path) -> None:
    log = tmp_path / "chat.jsonl"
    words = [f"a_rather_long_value_{number}" for number in range(2)]
    schema = {"type": "object", "properties": {"to": {"enum": words}, "why": {"description": "because " * 20}}}
    log.write_text(_chat(json.dumps({"to": "somebody else " * 8, "why": "no reason"}), schema))
    out = run(capsys, "show", "--call", "c1", log)[1]
    beside = out.split("beside the schema in force")[1].split("\n  > /to")[0]
    assert "…" not in beside
    assert max(map(len, beside.splitlines())) <= 80
    assert beside.count("because") == 20
    assert beside.count("somebody") == 8


@pytest.mark.parametrize("command", [["audit", "--fail-on", "never"], ["batch", "--fail-on", "never"]])
def test_reports_among_the_logs_are_no_logs(capsys: Caught, traces: Path, tmp_path: Path, command: list[str]) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.ndjson").write_bytes((traces / "1-morning.ndjson").read_bytes())
    more: list[str | Path] = ["--store", tmp_path / "store"] if command[0] == "batch" else []
    for _ in range(2):
        status, out, err = run(capsys, *command, *more, "-o", "-", "-o", logs / "r.jsonl", "-o", logs / "r.json", logs)
        assert (status, err) == (0, "")
    assert "r.jsonl" in out, "it is listed among what was left out"
    assert run(capsys, "audit", "--strict", logs)[::2] == (0, "")
    status, _, err = run(capsys, "gate", logs / "r.jsonl")
    assert status == 3, "who names it means it"
    assert "not recognised" in err


def test_other_files_of_a_folder_are_listed_and_with_strict_those_that_hold_json_count(
    capsys: Caught, tmp_path: Path, traces: Path
) -> None:
    (tmp_path / "1.ndjson").write_bytes((traces / "1-morning.ndjson").read_bytes())
    (tmp_path / "notes.md").write_text('# Notes\n{"no": "log"}\n', encoding="utf-8")
    (tmp_path / "tools.toml").write_text("[tools]\nx = 1\n", encoding="utf-8")
    assert run(capsys, "audit", "--strict", tmp_path)[::2] == (0, "")
    contracts = tmp_path / "tools.json"
    contracts.write_text('{"x": {"arguments": {"type": "object"}}}', encoding="utf-8")
    status, _, err = run(capsys, "audit", "--strict", "--contracts", contracts, tmp_path)
    assert (status, err) == (
        0,
        "analyzer: contracts: 1 of 1 tools have no call in these logs under any usual spelling: x\n",
    )
    for _ in range(2):  # its own report of the night before
        assert run(capsys, "audit", "--strict", "--contracts", contracts, tmp_path, "-o", tmp_path / "r.json")[0] == 0
    (tmp_path / "r.json").unlink()
    status, out, err = run(capsys, "audit", "--strict", tmp_path)
    assert (status, err) == (3, f"analyzer: {contracts}: holds JSON, and no format is recognised (--strict)\n")
    for name in ("notes.md", "tools.toml", "tools.json"):
        assert str(tmp_path / name) in out.partition("no log, left out: ")[2]
    assert run(capsys, "audit", tmp_path)[::2] == (0, "")


def test_a_path_that_does_not_exist(capsys: Caught, traces: Path) -> None:
    status, out, err = run(capsys, "audit", "--fail-on", "never", "none.ndjson", traces / "1-morning.ndjson")
    assert status == 3
    assert err.startswith("analyzer: none.ndjson: cannot read: No such file or directory; check the path")
    assert "1-morning.ndjson" in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_without_permission(capsys: Caught, tmp_path: Path) -> None:
    log = tmp_path / "locked.ndjson"
    log.touch(mode=0)
    status, _, err = run(capsys, "audit", log)
    assert status == 3
    assert err.startswith(f"analyzer: {log}: cannot read: Permission denied; ")


def test_a_contract_file_that_is_none_loses_nothing(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    file = tmp_path / "contracts.json"
    file.write_text('{"get_order": 3}', encoding="utf-8")
    status, out, err = run(capsys, "audit", "--fail-on", "never", "--contracts", file, traces / "2-stream.sse")
    assert status == 3
    assert err.count("\n") == 1
    assert err.startswith("analyzer: ")
    assert str(file) in err
    assert "2-stream.sse" in out


def test_a_cut_stream_is_said(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    log = tmp_path / "cut.ndjson.gz"
    log.write_bytes(gzip.compress((traces / INCIDENT).read_bytes())[:-2_000])
    status, _, err = run(capsys, "audit", "--fail-on", "never", log)
    assert status == 3
    assert "the compressed stream is cut" in err


# --- what a log may hold


def test_no_command_lets_text_of_a_log_act_on_the_terminal(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    log = tmp_path / "hostile.ndjson"
    text = (traces / INCIDENT).read_text(encoding="utf-8")
    for harmless in ("ord_204418 and all open", "get_order", "call_1042_05", "Parcel", "lost"):
        text = text.replace(harmless, harmless + r"\u001b[2J\u202e\u009b31m[red]\u2028")
    log.write_text(text, encoding="utf-8")
    for arguments in (("audit",), ("audit", "--output-format", "json"), ("gate",), ("show",)):
        _, out, err = run(capsys, *arguments, log)
        assert r"[2J" in out
        assert all(char.isprintable() or char == "\n" for char in out + err)
    for record in gates(capsys, log).values():
        _, out, _ = run(capsys, "show", "--call", record["call_id"], log)
        assert all(char.isprintable() or char == "\n" for char in out)


def test_a_credential_in_a_result_is_shown_by_no_report(capsys: Caught, traces: Path, tmp_path: Path) -> None:
    secret = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
    log = tmp_path / "leak.ndjson"
    text = (traces / INCIDENT).read_text(encoding="utf-8")
    log.write_text(text.replace("ord_204418 and all open", secret).replace("FH-734", secret), encoding="utf-8")
    for arguments in (("audit",), ("audit", "--output-format", "json"), ("show",), ("show", "--call", "call_1042_05")):
        _, out, err = run(capsys, *arguments, log)
        assert secret not in out + err
