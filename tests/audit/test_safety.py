"""A log is hostile input: nothing in it is fetched, opened or run, and no credential is shown."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from analyzer import audit
from analyzer.cli import main


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to a socket is closed for the length of a test."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        message = "a socket was asked for"
        raise AssertionError(message)

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def _log(parameters: Any, arguments: Any) -> bytes:
    agent = {"id": "a", "model": "m", "tools": [{"type": "function", "name": "f", "parameters": parameters}]}
    session = {"id": "s", "object": "agent.session", "status": "idle", "required_actions": [], "agent": agent}
    item = {
        "type": "function_call",
        "id": "i",
        "call_id": "c",
        "name": "f",
        "arguments": arguments,
        "turn_id": "t",
        "status": "completed",
    }
    events = [
        {"type": "agent.session.created", "event_id": "1", "session": session},
        {
            "type": "agent.session.turn.created",
            "event_id": "2",
            "session_id": "s",
            "turn_id": "t",
            "turn": {"id": "t", "status": "queued"},
        },
        {"type": "agent.session.turn.item.added", "event_id": "3", "session_id": "s", "turn_id": "t", "item": item},
    ]
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/x.json",
        "https://example.test/x.json",
        "file:///etc/hostname",
        "urn:x:y",
        "//host/x",
        "other.json",
    ],
)
def test_a_reference_out_of_the_schema_is_never_followed(tmp_path: Path, reference: str) -> None:
    (tmp_path / "other.json").write_text('{"type": "integer"}')
    file = tmp_path / "log.ndjson"
    file.write_bytes(_log({"type": "object", "properties": {"x": {"$ref": reference}}}, {"x": 1}))
    done = audit([str(file)])
    assert done.summary["verdicts"]["unverifiable"] == {"schema_unresolvable": 1}
    assert done.summary["verdicts"]["valid"] == 0


def test_an_unknown_dialect_is_not_fetched(tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    file.write_bytes(_log({"$schema": "https://example.test/dialect", "type": "object"}, {"x": 1}))
    assert audit([str(file)]).summary["calls"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--contracts", "sample_traces/contracts.json", "sample_traces"],
        ["audit", "--output-format", "json", "sample_traces"],
        ["show", "--session", "sess_1117_1042", "sample_traces"],
        ["gate", "sample_traces"],
        ["rules"],
        ["formats"],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_no_command_asks_for_a_socket(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(arguments) in (0, 1)
    assert capsys.readouterr().out


def test_a_pattern_that_explodes_ends_undecided(tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(?:(?=a)a+)+$"}}}
    file.write_bytes(_log(schema, {"x": "a" * 40 + "!"}))
    assert audit([str(file)]).summary["verdicts"]["unverifiable"] == {"pattern_undecided": 1}


def test_definitions_that_double_thirty_times_end(tmp_path: Path) -> None:
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(30)}
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "$defs": {**doubling, "d30": {"type": "string"}},
    }
    file = tmp_path / "log.ndjson"
    file.write_bytes(_log(schema, {"x": "y"}))
    assert audit([str(file)]).summary["verdicts"]["unverifiable"] == {"engine_failed": 1}
