"""The sample incident: its files are the composer's, keep to the published wire, and audit as the story says."""

from __future__ import annotations

import collections
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.samples.compose import compose

REPO = Path(__file__).resolve().parents[2]
TRACES = REPO / "sample_traces"
EXPECTED = json.loads((REPO / "tests/samples/expected.json").read_bytes())
CLEAN = {"sess_1117_0803", "sess_1117_0920"}
# Lawful besides what is expected: the answer posted twice is also a refund made twice.
MAY_FIND = {("RUN003", "sess_1117_1305")}


def stored(content: bytes, path: str) -> bytes:
    """What is compared: compressed bytes differ from one zlib to the next, what they hold does not."""
    return gzip.decompress(content) if path.endswith(".gz") else content


@pytest.mark.parametrize(("path", "content"), compose().items(), ids=list(compose()))
def test_composer_writes_the_committed_bytes(path: str, content: bytes) -> None:
    assert stored((REPO / path).read_bytes(), path) == stored(content, path)


def test_everything_together_stays_small() -> None:
    assert sum(len((REPO / path).read_bytes()) for path in compose()) < 1_500_000


# --- the wire


def events() -> Iterator[dict[str, Any]]:
    """Every recorded event of the incident without the recorder's fields."""
    for path in compose():
        if path.endswith(".json"):
            continue
        lines = stored((REPO / path).read_bytes(), path).decode().splitlines()
        if path.endswith(".sse"):
            yield from (json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: "))
            continue
        for line in lines:
            record = json.loads(line)
            if "event" in record:
                assert set(record) == {"recorded_at", "session_id", "direction", "event"}
                yield record["event"]
                continue
            del record["recorded_at"]
            if "turn_id" not in record or ".input." in record["type"]:  # else the event's own member
                del record["session_id"]
            yield record


def unpublished(model: Any, where: str = "") -> Iterator[str]:
    """Members that the published types do not know."""
    from pydantic import BaseModel

    if isinstance(model, BaseModel):
        yield from (f"{where}/{name}" for name in model.model_extra or {})
        for name in type(model).model_fields:
            yield from unpublished(getattr(model, name), f"{where}/{name}")
    elif isinstance(model, list):
        for index, element in enumerate(model):
            yield from unpublished(element, f"{where}/{index}")


def test_server_events_fit_the_published_types() -> None:
    pytest.importorskip("openai.types.beta.agent_session_event", reason="the published types are not installed")
    from openai.types.beta.agent_session_event import AgentSessionEvent
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(AgentSessionEvent)
    count = 0
    for event in events():
        if ".input." not in event["type"]:
            model = adapter.validate_json(json.dumps(event), strict=True)
            assert model.type == event["type"]
            assert not list(unpublished(model)), event
            count += 1
    assert count > 250


def test_inputs_fit_the_published_types() -> None:
    published = pytest.importorskip(
        "openai.types.beta.agent_session_input_param", reason="the published types are not installed"
    )
    kinds = {
        "agent.session.input.message": published.SessionInputParamAgentSessionInputMessage,
        "agent.session.input.tool_result": published.SessionInputParamAgentSessionInputToolResult,
    }
    seen = set()
    for event in events():
        if ".input." in event["type"]:
            kind = kinds[event["type"]]
            assert kind.__required_keys__ <= event.keys() <= kind.__annotations__.keys(), event
            seen.add(event["type"])
    assert seen == kinds.keys()


def test_event_ids_are_unique_but_for_one_redelivery() -> None:
    ids = collections.Counter(event["event_id"] for event in events() if "event_id" in event)
    assert [count for count in ids.values() if count > 1] == [2]


# --- the story


@pytest.mark.parametrize("tool", ["get_order", "refund_order"])
def test_enough_good_calls_to_learn_a_pattern_from(tool: str) -> None:
    calls = {
        item["call_id"]: item["arguments"]
        for event in events()
        if (item := event.get("item", {})).get("type") == "function_call" and item["status"] == "completed"
        if item["name"] == tool
    }
    bad = {found["call_id"] for found in EXPECTED}
    good = {call_id: arguments for call_id, arguments in calls.items() if call_id not in bad}
    assert len(good) >= 20
    assert len({call_id.split("_")[1] for call_id in good}) >= 3
    assert {len(arguments["order_id"]) for arguments in good.values()} == {len("ord_000000")}


def test_readme_names_every_expected_call() -> None:
    readme = (TRACES / "README.md").read_text(encoding="utf-8")
    for found in EXPECTED:
        rows = [row for row in readme.splitlines() if row.startswith(f"| {found['rule']} ")]
        assert any((found["call_id"] or "-") in row and found["session"] in row for row in rows), found


# --- the audit


@pytest.fixture(scope="module")
def findings() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "analyzer", "audit", "sample_traces"]
    command += ["--contracts", "sample_traces/contracts.json", "--output-format", "json"]
    run = subprocess.run(command, cwd=REPO, capture_output=True, check=False)
    assert run.returncode == 1, run.stderr.decode()
    assert run.stdout, run.stderr.decode()
    found: list[dict[str, Any]] = json.loads(run.stdout)["findings"]
    return found


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda found: f"{found['rule']}-{found['call_id']}")
def test_audit_finds_what_the_story_tells(findings: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    found = [f for f in findings if f["rule"] == expected["rule"] and f["session"] == expected["session"]]
    assert expected["call_id"] is None or expected["call_id"] in {f["call_id"] for f in found}
    assert found


def test_audit_finds_no_error_in_a_clean_session(findings: list[dict[str, Any]]) -> None:
    assert [f for f in findings if f["session"] in CLEAN and f["severity"] == "error"] == []


def test_audit_finds_no_error_that_the_story_does_not_tell(findings: list[dict[str, Any]]) -> None:
    told = {(found["rule"], found["session"], found["call_id"]) for found in EXPECTED}
    errors = [f for f in findings if f["severity"] == "error" and str(f["session"]).startswith("sess_1117_")]
    untold = [f for f in errors if (f["rule"], f["session"]) not in MAY_FIND]
    assert [f for f in untold if (f["rule"], f["session"], f["call_id"]) not in told] == []
