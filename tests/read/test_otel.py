"""OpenTelemetry: three showings of a call, ids in two spellings, flattened messages, trace pages; broken spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import SHARED, audited, counted, errors, truth

NAME = "otlp"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
LOOK = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
DEFINITIONS = json.dumps([{"type": "function", "name": "look", "parameters": LOOK}])


def attributes(pairs: dict[str, Any]) -> list[dict[str, Any]]:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in pairs.items()}
    return [{"key": name, "value": {"stringValue": text}} for name, text in texts.items()]


def span(number: int, pairs: dict[str, Any], *, trace: str = "ab" * 16, **more: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(number * 1000), "endTimeUnixNano": str(number * 1000 + 500)}
    head = {"traceId": trace, "spanId": f"{number:016x}", "name": "s", **times}
    return {**head, "attributes": attributes(pairs), **more}


def batch(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def chat(number: int, sent: list[Any], *said: Any, **more: Any) -> dict[str, Any]:
    pairs = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": sent, "gen_ai.tool.definitions": DEFINITIONS}
    return span(number, {**pairs, "gen_ai.output.messages": [{"role": "assistant", "parts": list(said)}]}, **more)


def ran(number: int, call_id: str | None, arguments: Any, result: Any, **more: Any) -> dict[str, Any]:
    pairs = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    pairs |= {} if call_id is None else {"gen_ai.tool.call.id": call_id}
    return span(number, {**pairs, "gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": result}, **more)


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": "look", "arguments": arguments}


USER = {"role": "user", "parts": [{"type": "text", "content": "go"}]}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_one_call_is_seen_as_written_as_run_and_as_given_back(tmp_path: Path) -> None:
    asked = {"role": "assistant", "parts": [call("c1", at="door")]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]}
    log = [chat(1, [USER], call("c1", at="door")), ran(2, "c1", {"at": "window"}, "seen"), chat(3, [USER, asked, back])]
    found = audited(tmp_path, *map(batch, log))
    assert found.frames["calls"].select("call_id", "sightings", "copies").rows() == [("c1", 3, 2)]
    assert found.frames["results"].height == 1
    stages = found.frames["sightings"].filter(pl.col("what") == "call")["stage"].to_list()
    assert stages == ["item", "executor", "history"]
    assert "args-altered" in set(found.findings["slug"])


def test_spans_of_one_record_are_taken_as_they_ended(tmp_path: Path) -> None:
    found = audited(tmp_path, batch(ran(2, "c1", {"at": "door"}, "seen"), chat(1, [USER], call("c1", at="door"))))
    assert found.frames["calls"].select("sightings", "outcome").rows() == [(2, "unknown")]
    assert errors(found) == set()


def test_a_tool_without_a_call_id_ran_the_first_open_call_of_its_name(tmp_path: Path) -> None:
    log = [chat(1, [USER], call("c1", at="a"), call("c2", at="b")), ran(2, None, {"at": "a"}, "A")]
    log += [ran(3, None, {"at": "b"}, "B"), ran(4, None, {"at": "c"}, "C")]
    found = audited(tmp_path, *map(batch, log))
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("call_id", "text_of").rows() == [("c1", "A"), ("c2", "B"), (None, "C")]


def test_a_failed_span_says_why(tmp_path: Path) -> None:
    event = {"name": "exception", "attributes": attributes({"exception.message": "door is stuck"})}
    failed = ran(1, "c1", {"at": "door"}, "", status={"code": "STATUS_CODE_ERROR"}, events=[event])
    found = audited(tmp_path, batch(failed))
    assert found.frames["results"].select("success", "error").rows() == [(False, "door is stuck")]


@pytest.mark.parametrize("trace", ["cd" * 16, "zc3Nzc3Nzc3Nzc3Nzc3NzQ==", "0x" + "CD" * 16])
def test_ids_are_the_same_in_every_spelling(tmp_path: Path, trace: str) -> None:
    log = [
        batch(chat(1, [USER], call("c1", at="a"), trace="cd" * 16)),
        batch(ran(2, "c1", {"at": "a"}, "A", trace=trace)),
    ]
    assert audited(tmp_path, *log).frames["sessions"]["session"].to_list() == ["cd" * 16]


def test_a_span_that_was_exported_twice_is_one(tmp_path: Path) -> None:
    found = audited(tmp_path, *[batch(ran(1, "c1", {"at": "a"}, "A"))] * 2)
    assert found.frames["results"].height == 1


def test_a_child_without_the_conversations_name_is_of_its_traces_conversation(tmp_path: Path) -> None:
    parent = span(2, {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk"})
    found = audited(tmp_path, batch(ran(1, "c1", {"at": "a"}, "A")), batch(parent))
    assert found.frames["sessions"]["session"].to_list() == ["talk"]


def test_flattened_messages_are_put_together(tmp_path: Path) -> None:
    to = "llm.output_messages.0.message"
    pairs = {
        "openinference.span.kind": "LLM",
        f"{to}.role": "assistant",
        f"{to}.tool_calls.0.tool_call.id": "c1",
        f"{to}.tool_calls.0.tool_call.function.name": "look",
        f"{to}.tool_calls.0.tool_call.function.arguments": {"at": 3},
        "llm.tools.0.tool.json_schema": {"type": "function", "function": {"name": "look", "parameters": LOOK}},
    }
    found = audited(tmp_path, batch(span(1, pairs)))
    assert found.frames["verdicts"].select("tool", "verdict_is").rows() == [("function::look", "invalid")]


def test_a_trace_page_shows_the_calls_of_its_session_again(tmp_path: Path) -> None:
    shared = {"session_id": "s1", "turn_id": "t1"}
    item: dict[str, Any] = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "look",
        "arguments": {"at": "a"},
    }
    output = {"type": "function_call_output", "id": "fo_1", "call_id": "c1", "output": "A", "turn_id": "t1"}
    done = "agent.session.turn.item.done"
    trace: dict[str, Any] = {"id": "t1", "object": "agent.session.trace", "session_id": "s1", "created_at": 1}
    page = {"object": "list", "data": [{**trace, "otlp": batch(ran(1, "c1", {"at": "b"}, "A"))}], "has_more": False}
    log: list[Any] = [
        {"type": done, "event_id": f"e{number}", **shared, "item": {**each, "turn_id": "t1", "status": "completed"}}
        for number, each in enumerate((item, output))
    ]
    found = audited(tmp_path, *log, page)
    assert found.inputs[0]["format"] == "openai-agents-api,otlp"
    assert found.frames["calls"].select("call_id", "sightings", "copies").rows() == [("c1", 2, 2)]
    assert found.frames["results"].height == 1


def test_the_recorded_spans_have_the_counts_that_are_known() -> None:
    truth("mcp-stdio")  # the folder is there
    found = audit([str(SHARED / "otlp" / "pydantic_ai_v4.otlp.jsonl")])
    counts = counted(found)
    assert (counts["sessions"], counts["calls"], counts["results"], counts["args_schema_fail"]) == (1, 6, 6, 3)
    assert found.frames["calls"]["outcome"].to_list().count("error") == 4
    found = audit([str(SHARED / "otlp" / "sample-1_VSGitHubCopilot_traces.jsonl")])
    assert [counted(found)[name] for name in ("sessions", "calls", "results", "args_checked")] == [1, 3, 3, 0]
