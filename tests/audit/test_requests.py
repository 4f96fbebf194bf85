"""Requests that break the published shape, as far as nothing says that the server took them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.audit import wire
from tests.audit.wire import exchange, run, session, told

ENVIRONMENT = {"type": "self_hosted"}
AGENT = {"model": "m", "tools": list(wire.TOOLS)}
GOOD = {"environment": ENVIRONMENT, "agent": AGENT, "input": "hello"}
REFUSED = {"error": {"message": "bad request", "type": "invalid_request_error"}}


def messages(folder: Path, body: Any, answer: Any = None, status: int = 400) -> list[str]:
    found = run(folder, [exchange("POST", "", body, REFUSED if answer is None else answer, status)])
    return found.findings.filter(rule="LOG010", severity="error")["message"].to_list()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({**GOOD, "environment": None}, "/http/body/environment is missing"),
        ({"agent": AGENT, "input": "hello"}, "/http/body/environment is missing"),
        ({**GOOD, "environment": "none"}, "/http/body/environment has another type"),
        ({**GOOD, "agent": {"tools": []}}, "/http/body/agent/model is missing"),
        ({"environment": ENVIRONMENT, "input": "hello"}, "/http/body/agent/model is missing"),
        ({**GOOD, "agent": [], "agent_id": "agent_a"}, "/http/body/agent has another type"),
        ({**GOOD, "metadata": {"a": 1}}, "/http/body/metadata has another type"),
        ({**GOOD, "input": 7}, "/http/body/input has another type"),
        ({**GOOD, "environment": {"type": "none"}, "input": None}, "/http/body/input is missing"),
        ({**GOOD, "vault_ids": "v"}, "/http/body/vault_ids has another type"),
    ],
)
def test_a_create_request_is_held_to_its_shape(tmp_path: Path, body: Any, said: str) -> None:
    (message,) = messages(tmp_path, body)
    assert said in message


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        {"environment": ENVIRONMENT, "agent_id": "agent_a"},
        {**GOOD, "input": [{"type": "message", "role": "user", "content": []}], "metadata": {"a": "b"}},
        {**GOOD, "metadata": None, "vault_ids": None, "new_in_a_beta": 1},
    ],
)
def test_the_published_shape_is_none_to_speak_of(tmp_path: Path, body: Any) -> None:
    assert messages(tmp_path, body) == []


def test_what_the_server_took_is_not_called_broken(tmp_path: Path) -> None:
    assert messages(tmp_path, {"agent": AGENT}, session(), 200) == []


def test_an_update_need_not_say_what_a_create_has_to(tmp_path: Path) -> None:
    found = run(tmp_path, [exchange("POST", f"/{wire.SESSION}", {"agent": {"tools": []}}, REFUSED, 400)])
    assert told(found, "LOG010") == []


def _keyed(key: str, *events: Any) -> dict[str, Any]:
    request = exchange("POST", f"/{wire.SESSION}/events", {"events": list(events)}, None, 202)
    request["http"]["headers"] = {"Idempotency-Key": key}
    return request


def _message(text: str) -> dict[str, Any]:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"type": "agent.session.input.message", "input": [said]}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (_message("hello"), wire.post(), "for a message and for c1"),
        (_message("hello"), _message("hello again"), "for a message and for a message"),
        (_message("hello"), _message("hello"), None),
    ],
)
def test_the_key_of_a_message_is_for_no_other_body(tmp_path: Path, first: Any, second: Any, said: str | None) -> None:
    events = [*wire.begun(), _keyed("k1", first), wire.added(wire.called()), _keyed("k1", second), *wire.ended()]
    messages = run(tmp_path, events).findings.filter(rule="CALL017")["message"].to_list()
    assert [said in each for each in messages] == ([True] if said else [])


def test_one_item_id_on_two_calls_of_a_request_is_one_fault(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [{"role": "user", "content": "x"}]
    call = {"type": "function_call", "id": "fc_1", "name": "get", "arguments": "{}"}
    said += [{**call, "call_id": name} for name in ("c1", "c2")]
    said += [{"type": "function_call_output", "call_id": name, "output": "{}"} for name in ("c1", "c2")]
    found = run(tmp_path, [{"model": "m", "input": said, "tools": [], "store": False}])
    assert found.findings.filter(rule="CALL002")["message"].to_list() == ["The item fc_1 stands twice in one request."]
