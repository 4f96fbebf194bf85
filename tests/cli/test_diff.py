"""`analyzer diff`: calls and sessions side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import main
from tests.samples.wire import Call, Recording, ndjson

Caught = pytest.CaptureFixture[str]
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "count": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}


def run(caught: Caught, *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["diff", *(str(argument) for argument in arguments)])
    out, err = caught.readouterr()
    return status, out, err


def told(caught: Caught, *arguments: str | Path) -> dict[str, Any]:
    status, out, _ = run(caught, "--output-format", "json", *arguments)
    assert status == 0
    found: dict[str, Any] = json.loads(out)
    return found


def recorded(start: str, *calls: Call, schema: Any = SCHEMA, ask: str = "Find.") -> Recording:
    log = Recording(start, [{"type": "function", "name": "find", "description": "", "parameters": schema}])
    log.ask(ask)
    for call in calls:
        log.run(call)
    log.end("Done.")
    return log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two sessions that part at their third call."""
    first = [Call("find", {"id": "a", "count": 1}, "{}"), Call("find", {"id": "b", "count": 2}, "{}")]
    one = recorded("09:00:00", *first, Call("find", {"id": "b", "count": "2"}, "{}"), Call("find", {"id": "z"}, "{}"))
    other = recorded("10:00:00", *(call._replace(arguments=dict(reversed(call.arguments.items()))) for call in first))
    file = tmp_path / "log.ndjson"
    file.write_bytes(ndjson([*one.entries, *other.entries]))
    return file


def test_the_nearest_passing_call_is_found(capsys: Caught, log: Path) -> None:
    found = told(capsys, "--call", "call_0900_03", log)
    assert (found["a"]["call_id"], found["b"]["call_id"]) == ("call_0900_03", "call_0900_02")
    assert [(each["pointer"], each["old"], each["new"]) for each in found["arguments"]] == [("/count", "2", 2)]
    assert [each["keyword"] for each in found["a"]["failures"]] == ["type"]
    assert found["same_schema"]
    assert told(capsys, log)["a"]["call_id"] == "call_0900_03"  # the first that failed, unasked


def test_two_calls_as_named_and_on_paper(capsys: Caught, log: Path) -> None:
    status, out, _ = run(capsys, "--call", "call_0900_04", "--with", "call_1000_01", log)
    assert status == 0
    assert 'differs at /id  "z" -> "a"' in out
    assert "only in B /count  1" in out


def test_sessions_part_where_they_differ_and_not_in_order_of_members(capsys: Caught, log: Path) -> None:
    found = told(capsys, "--session", "sess_1117_0900", "--with", "sess_1117_1000", log)
    assert found["tools"] == []
    assert found["common"] == 5  # the question, two calls with their results
    assert found["reason"] == "a call against a message"
    assert found["at"][0]["value"] == {"count": "2", "id": "b"}
    same = told(capsys, "--session", "sess_1117_0900", "--with", "sess_1117_0900", log)
    assert same["reason"] is None


def test_other_tool_tables_are_flagged(capsys: Caught, tmp_path: Path) -> None:
    call = Call("find", {"id": "a"}, "{}")
    one = recorded("09:00:00", call)
    other = recorded("10:00:00", call, schema={**SCHEMA, "required": []})
    file = tmp_path / "log.ndjson"
    file.write_bytes(ndjson([*one.entries, *other.entries]))
    arguments = ("--session", "sess_1117_0900", "--with", "sess_1117_1000", file)
    [tool] = told(capsys, *arguments)["tools"]
    assert (tool["tool"], tool["role"]) == ("find", "arguments")
    assert tool["a"] != tool["b"]
    assert "their tool tables differ" in run(capsys, *arguments)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--call", "call_0900_0"), "did you mean 'call_0900_0"),
        (("--session", "sess", "--with", "sess_1117_1000"), "no session 'sess'"),
        (
            (
                "--session",
                "sess_1117_1000",
            ),
            "no call has invalid arguments",
        ),
    ],
)
def test_what_is_not_there_is_said(capsys: Caught, log: Path, arguments: tuple[str, ...], said: str) -> None:
    status, _, err = run(capsys, *arguments, log)
    assert status == 2
    assert said in err


def test_a_call_whose_tool_never_passed(capsys: Caught, tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    file.write_bytes(ndjson(recorded("09:00:00", Call("find", {}, "{}")).entries))
    status, _, err = run(capsys, file)
    assert status == 2
    assert "name another one by --with" in err


def test_help_has_examples(capsys: Caught) -> None:
    assert "analyzer diff --call" in run(capsys, "--help")[1].partition("Examples:")[2]


def test_a_credential_is_hidden_by_the_names_around_it(capsys: Caught, tmp_path: Path) -> None:
    held = {
        "id": "a",
        "password": "sesame street",
        "login": {"passphrase": "correct horse", "keys": {"api_key": ["first of two"]}},
        "headers": [{"name": "Cookie", "value": "sid of one"}],
    }
    log = recorded("09:00:00", Call("find", held, "{}"), Call("find", {"id": "b", "password": "open now"}, "{}"))
    (tmp_path / "log.ndjson").write_bytes(ndjson(log.entries))
    arguments = ("--call", "call_0900_01", "--with", "call_0900_02", tmp_path / "log.ndjson")
    _, paper, _ = run(capsys, *arguments)
    _, record, _ = run(capsys, "--output-format", "json", *arguments)
    for secret in ("sesame", "correct horse", "first of", "sid of", "open now"):
        assert secret not in paper + record
    assert '/id  "a" -> "b"' in paper
    assert "/password" in paper
