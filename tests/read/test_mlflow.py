"""MLflow: traces of both versions, spans of models and tools; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

NAME = "mlflow"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
USER = {"role": "user", "content": "go"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":3}'}}
SAID = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def attributes(kind: str, given: Any, came: Any, **more: Any) -> dict[str, str]:
    told = {"mlflow.spanType": kind, "mlflow.spanInputs": given, "mlflow.spanOutputs": came, **more}
    return {name: json.dumps(value) for name, value in told.items()}


def new(number: int, kind: str, given: Any, came: Any, *, failed: bool = False, **more: Any) -> dict[str, Any]:
    status = {"code": "STATUS_CODE_ERROR", "message": "dark"} if failed else {"code": "STATUS_CODE_OK", "message": ""}
    own = {"trace_id": "dDE=", "span_id": f"s{number}", "name": "look", "status": status, "events": []}
    return {**own, "start_time_unix_nano": number * 10**9, "attributes": attributes(kind, given, came, **more)}


def old(number: int, kind: str, given: Any, came: Any, *, failed: bool = False, **more: Any) -> dict[str, Any]:
    own = {"name": "look", "context": {"span_id": f"s{number}", "trace_id": "dDE="}, "start_time": number * 10**9}
    status = {"status_code": "ERROR" if failed else "OK", "status_message": "dark" if failed else ""}
    return {**own, **status, "attributes": attributes(kind, given, came, **more)}


def trace(made: Any, *, failed: bool = False) -> list[dict[str, Any]]:
    reply = {"id": "r1", "object": "chat.completion", "choices": [{"index": 0, "message": SAID}]}
    tools = {"mlflow.chat.tools": TOOLS}
    came = None if failed else {"seen": 1}
    return [
        made(3, "TOOL", {"at": 3}, came, failed=failed),
        made(1, "AGENT", {"q": "go"}, "done"),
        made(2, "CHAT_MODEL", {"messages": [USER]}, reply, **tools),
    ]


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize("made", [new, old], ids=["version 3", "version 2"])
@pytest.mark.parametrize("whole", ["trace", "artifact", "spans"])
def test_a_call_is_seen_as_made_and_as_run(tmp_path: Path, made: Any, whole: str) -> None:
    spans = trace(made)
    forms: dict[str, list[Any]] = {
        "trace": [{"info": {"trace_id": "tr-1"}, "data": {"spans": spans}}],
        "artifact": [{"spans": spans}],
        "spans": sorted(spans, key=lambda span: span.get("start_time") or span["start_time_unix_nano"]),
    }
    found = audited(tmp_path, *forms[whole])
    assert found.frames["sessions"]["session"].to_list() == ["tr-1" if whole == "trace" else "dDE="]
    assert found.frames["calls"].select("call_id", "sightings", "copies").rows() == [("c1", 2, 1)]
    assert found.frames["results"].select("text", "success", "call").rows() == [('{"seen": 1}', None, 0)]
    assert "args-schema-mismatch" in errors(found)


@pytest.mark.parametrize("made", [new, old], ids=["version 3", "version 2"])
def test_a_tool_that_failed_says_why(tmp_path: Path, made: Any) -> None:
    found = audited(tmp_path, {"spans": trace(made, failed=True)})
    assert found.frames["results"].select("success", "error").rows() == [(False, "dark")]


def test_a_trace_of_a_session_is_of_that_session(tmp_path: Path) -> None:
    info = {"trace_id": "tr-1", "trace_metadata": {"mlflow.trace.session": "chat-7"}}
    found = audited(tmp_path, {"info": info, "data": {"spans": trace(new)}})
    assert found.frames["sessions"]["session"].to_list() == ["chat-7"]
