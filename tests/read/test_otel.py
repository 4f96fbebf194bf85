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


# --- odd spans --------------------------------------------------------------------------------------------------------


def said_event(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "attributes": attributes(more)}


CHOSEN = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"at":3}'}}]}
MADE = [{"role": "assistant", "parts": [call("c1", at=3)], "finish_reason": "tool_call"}]
IN_EVENTS: list[list[dict[str, Any]]] = [
    [said_event("gen_ai.user.message", content="go"), said_event("gen_ai.choice", index=0, message=CHOSEN)],
    [said_event("gen_ai.choice", **{"gen_ai.event.content": {"index": 0, "message": CHOSEN}})],
    [said_event("gen_ai.client.inference.operation.details", **{"gen_ai.output.messages": MADE})],
    [said_event("gen_ai.choice", message=[{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": 3}}}])],
]


@pytest.mark.parametrize("events", IN_EVENTS)
def test_messages_in_events_of_a_span_are_read(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    pairs = {"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": DEFINITIONS}
    found = audited(tmp_path, batch(span(1, pairs, events=events)))
    (made,) = found.frames["calls"].to_dicts()
    assert (made["call_id"], json.loads(made["text"])) == ("c1", {"at": 3})
    assert errors(found) == {"args-schema-mismatch"}
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    to = finding["location"]["pointer"]
    assert to == f"/resourceSpans/0/scopeSpans/0/spans/0/events/{len(events) - 1}/attributes"


FLAT = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go"}
GOOGLE = {"parameters": {"type": "OBJECT", "properties": {"at": {"type": "STRING"}}}, "name": "look"}
ADK = {
    "contents": [{"role": "user", "parts": [{"text": "go"}]}],
    "config": {"tools": [{"function_declarations": [GOOGLE]}]},
}
OTHERS: list[dict[str, Any]] = [
    {
        **FLAT,
        "gen_ai.completion.0.function_call.name": "look",
        "gen_ai.completion.0.function_call.arguments": '{"at":3}',
        "gen_ai.tool.definitions": DEFINITIONS,
    },
    {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.function_call_name": "look",
        "llm.output_messages.0.message.function_call_arguments_json": '{"at":3}',
        "llm.tools.0.tool.json_schema": json.dumps({"name": "look", "parameters": LOOK}),
    },
    {
        "gcp.vertex.agent.llm_request": ADK,
        "gcp.vertex.agent.llm_response": {
            "content": {"role": "model", "parts": [{"function_call": {"name": "look", "args": {"at": 3}}}]}
        },
    },
    {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}],
        "ai.prompt.tools": [json.dumps({"type": "function", "name": "look", "inputSchema": LOOK})],
        "ai.response.toolCalls": [{"toolCallId": "c1", "toolName": "look", "input": {"at": 3}}],
    },
]


@pytest.mark.parametrize("pairs", OTHERS)
def test_calls_in_the_attributes_of_other_tracers_are_read(tmp_path: Path, pairs: dict[str, Any]) -> None:
    found = audited(tmp_path, batch(span(1, pairs)))
    assert [json.loads(text) for text in found.frames["calls"]["text"]] == [{"at": 3}]
    assert errors(found) == {"args-schema-mismatch"}


def test_the_span_around_the_steps_of_a_model_tells_nothing_twice(tmp_path: Path) -> None:
    around = {"ai.operationId": "ai.generateText", "ai.response.toolCalls": OTHERS[3]["ai.response.toolCalls"]}
    found = audited(tmp_path, batch(span(1, OTHERS[3], parentSpanId=f"{2:016x}"), span(2, around)))
    assert found.frames["calls"].height == 1


def test_what_was_not_captured_is_not_judged(tmp_path: Path) -> None:
    bare = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    silent = {"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": DEFINITIONS}
    found = audited(tmp_path, *map(batch, [span(1, silent), span(2, bare), span(3, silent)]))
    assert found.frames["calls"].select("container", "result").rows() == [("absent", 0)]
    assert set(found.frames["verdicts"]["reason"]) == {"payload_redacted"}
    assert errors(found) == set()
    promise = tmp_path / "contracts.json"
    promise.write_text(json.dumps({"look": {"output": {"type": "object", "required": ["door"]}}}))
    found = audited(tmp_path, *map(batch, [span(1, silent), span(2, bare)]), contracts=[str(promise)])
    assert found.frames["verdicts"].filter(role="output")["reason"].to_list() == ["payload_redacted"]


def test_a_call_whose_arguments_only_the_span_of_its_tool_holds_is_judged_by_those(tmp_path: Path) -> None:
    named = {"type": "tool_call", "id": "c1", "name": "look"}
    found = audited(tmp_path, batch(chat(1, [USER], named)), batch(ran(2, "c1", {"at": 3}, "seen")))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


def test_a_run_over_mcp_inside_of_a_tool_is_the_same_run(tmp_path: Path) -> None:
    whole = {"content": [{"type": "text", "text": "seen"}]}
    inner = [ran(number, None, {"at": "x"}, whole, parentSpanId=f"{number + 1:016x}") for number in (2, 3)]
    for each in inner:
        each["attributes"] += attributes({"mcp.method.name": "tools/call"})
    log = [chat(1, [USER], call("c1", at="x")), *inner, ran(4, None, {"at": "x"}, "seen")]
    found = audited(tmp_path, *map(batch, log))
    assert found.frames["calls"].select("call_id", "result").rows() == [("c1", 0)]
    assert found.frames["results"]["text"].to_list() == ["seen"]
    assert errors(found) == set()


def test_a_model_span_inside_of_another_tells_the_same_reply(tmp_path: Path) -> None:
    log = [chat(1, [USER], call("c1", at="x"), parentSpanId=f"{2:016x}"), chat(2, [USER], call("c1", at="x"))]
    log += [chat(3, [USER], call("c1", at="y"))]
    found = audited(tmp_path, *map(batch, log))
    assert found.frames["calls"]["text"].to_list() == ['{"at":"x"}', '{"at":"y"}']


def test_what_a_tracer_put_around_the_arguments_is_no_change_of_them(tmp_path: Path) -> None:
    pairs = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "seen"}
    tool = span(2, {**pairs, "input.value": {"args": [], "kwargs": {"at": "x"}}})
    found = audited(tmp_path, batch(chat(1, [USER], call("c1", at="x"))), batch(tool))
    assert found.frames["calls"].height == 1
    assert errors(found) == set()


def test_other_choices_of_a_model_owe_no_result(tmp_path: Path) -> None:
    first = chat(1, [USER])
    choices = [{"role": "assistant", "parts": [call(name, at="x")]} for name in ("c1", "c2")]
    first["attributes"][-1] = attributes({"gen_ai.output.messages": choices})[0]
    found = audited(tmp_path, batch(first), batch(ran(2, "c2", {"at": "x"}, "seen")))
    assert found.frames["calls"]["result"].null_count() == 1
    assert errors(found) == set()


def test_calls_of_the_providers_own_tools_are_its_own(tmp_path: Path) -> None:
    asked = {"type": "server_tool_call", "id": "s1", "name": "web_search", "server_tool_call": {"query": "door"}}
    gave = {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"found": 1}}
    found = audited(tmp_path, batch(chat(1, [USER], asked, gave)))
    assert found.frames["calls"].select("kind", "owed_by", "text", "result").rows() == [
        ("hosted", "server", '{"query":"door"}', 0)
    ]
    assert errors(found) == set()


def test_the_recorded_spans_have_the_counts_that_are_known() -> None:
    truth("mcp-stdio")  # the folder is there
    found = audit([str(SHARED / "otlp" / "pydantic_ai_v4.otlp.jsonl")])
    counts = counted(found)
    assert (counts["sessions"], counts["calls"], counts["results"], counts["args_schema_fail"]) == (1, 6, 6, 3)
    assert found.frames["calls"]["outcome"].to_list().count("error") == 4
    found = audit([str(SHARED / "otlp" / "sample-1_VSGitHubCopilot_traces.jsonl")])
    assert [counted(found)[name] for name in ("sessions", "calls", "results", "args_checked")] == [1, 3, 3, 0]


def agent(number: int, name: str, *said: Any) -> dict[str, Any]:
    told = chat(number, [USER], *said)
    told["attributes"] += attributes({"gen_ai.agent.name": name})
    return told


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 1, 2, 3), (0, 1, 3, 2)])
def test_agents_of_one_trace_may_use_the_same_call_ids(tmp_path: Path, order: tuple[int, ...]) -> None:
    told = [agent(1, "a", call("call_0", at="door")), agent(2, "b", call("call_0", at="window"))]
    told += [ran(3, "call_0", {"at": "door"}, "seen"), ran(4, "call_0", {"at": "window"}, "seen")]
    found = audited(tmp_path, *(batch(told[place]) for place in order))
    texts = [json.loads(text) for text in found.frames["calls"]["text"]]
    assert texts == [{"at": "door"}, {"at": "window"}]
    assert found.frames["results"]["call"].n_unique() == 2
    assert errors(found) == set()
