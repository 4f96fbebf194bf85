"""`analyzer query`: JSONPath and JMESPath over what was recorded and found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import main
from tests.samples.wire import Call, Recording, ndjson

Caught = pytest.CaptureFixture[str]


def run(caught: Caught, *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["query", *(str(argument) for argument in arguments)])
    out, err = caught.readouterr()
    return status, out, err


@pytest.fixture
def log(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root)
    return Path("sample_traces/3-incident.envelopes.ndjson")


def values(caught: Caught, *arguments: str | Path) -> list[Any]:
    status, out, _ = run(caught, "--output-format", "json", *arguments)
    assert status == 0
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("expression", "over", "expected"),
    [
        ("$[?@.arguments.amount_cents > 100000].call_id", "calls", ["call_1042_06"]),
        ("[?arguments.amount_cents > `100000`].call_id", "calls", ["call_1042_06"]),
        ("length([?verdict=='invalid'])", "calls", [3]),
        ("$[?@.success==false].error", "results", ["customer_id: expected cus_ and six digits"]),
        ("[?output.amount_cents==`187300`].output.order_id", "results", ["ord_204418"]),
        ("[?rule=='RUN001'].call_id", "findings", ["call_1042_05", "call_1042_06"]),
        ("$[?@.kind=='session' && @.line < 4].line", "events", [1]),
        ("[0].[line, event.type]", "events", [1, "agent.session.created"]),
        ("$[?@.call_id=='no such']", "calls", []),
    ],
)
def test_matches(*, capsys: Caught, log: Path, expression: str, over: str, expected: list[Any]) -> None:
    assert values(capsys, "--over", over, expression, log) == expected


def test_text_has_paths_and_is_safe_to_print(capsys: Caught, log: Path) -> None:
    status, out, _ = run(capsys, "$[?@.call_id=='call_1042_05'].arguments.order_id", log)
    assert (status, out) == (0, "$[4]['arguments']['order_id']  \"ord_204418 and all open\"\n")


def test_credentials_are_masked_for_programs_too(capsys: Caught, tmp_path: Path) -> None:
    secret = "postgres://shop:Tr4nquil-Otter-92@db.example.net/orders"
    log = Recording("09:00:00", [{"type": "function", "name": "config", "description": "", "parameters": {}}])
    log.ask("Where?")
    log.run(Call("config", {"dsn": secret, "password": "Otter"}, secret))
    log.end("There.")
    file = tmp_path / "log.ndjson"
    file.write_bytes(ndjson(log.entries))
    for form in ("text", "json"):
        for over in ("calls", "results", "events"):
            status, out, _ = run(capsys, "--output-format", form, "--over", over, "$[*]", file)
            assert (status, "Otter" in out) == (0, False)
    main(["diff", "--call", "call_0900_01", "--with", "call_0900_01", "--output-format", "json", str(file)])
    out = capsys.readouterr().out
    assert "config" in out
    assert "Otter" not in out


@pytest.mark.parametrize("expression", ["$[", "foo(", "nope(@)", "abs('x')"])
def test_what_cannot_be_read_or_run_is_a_mistake(capsys: Caught, log: Path, expression: str) -> None:
    status, out, err = run(capsys, expression, log)
    assert (status, out) == (2, "")
    assert err.startswith("analyzer: ")


def test_help_has_examples(capsys: Caught) -> None:
    assert "analyzer query" in run(capsys, "--help")[1].partition("Examples:")[2]
