"""Spans of tracers that have names of their own for messages, tools and runs, and ids of their own for calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.read.test_otel import LOOK, USER, batch, call, chat, span
from tests.read.truths import audited

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": LOOK}}]
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "logfire.msg": "a request"}


def asks(call_id: str, arguments: Any) -> dict[str, Any]:
    function = {"name": "look", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def gives(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def called(found: Any) -> list[tuple[Any, ...]]:
    return list(found.frames["calls"].select("call_id", "text", "result", "status").rows())


def events(index: int, name: str, **pairs: Any) -> dict[str, Any]:
    texts = {member: value if isinstance(value, str) else json.dumps(value) for member, value in pairs.items()}
    listed = [{"key": member, "value": {"stringValue": text}} for member, text in texts.items()]
    return {"name": name, "timeUnixNano": str(index), "attributes": listed}


def test_requests_and_replies_as_the_client_has_them_are_read(tmp_path: Path) -> None:
    go = {"role": "user", "content": "go"}
    first = {**MODEL, "request_data": {"messages": [go], "tools": TOOLS}, "response_data": {"message": asks("c1", {})}}
    history = [go, asks("c1", {}), gives("c1", "seen")]
    then = {**MODEL, "request_data": {"messages": history, "tools": TOOLS}}
    then["response_data"] = {"message": {"role": "assistant", "content": "done"}}
    found = audited(tmp_path, batch(span(1, first)), batch(span(2, then)))
    assert called(found) == [("c1", "{}", 0, None)]
    assert found.summary["verdicts"]["invalid"] == 1


def test_the_arguments_of_messages_are_taken_out_of_what_stands_around_them(tmp_path: Path) -> None:
    reply = {"message": asks("c1", {"input": {"at": "door"}})}
    sent = {"messages": [{"role": "user", "content": "go"}], "tools": [{"name": "look", "input_schema": LOOK}]}
    found = audited(
        tmp_path,
        batch(span(1, {**MODEL, "gen_ai.system": "anthropic", "request_data": sent, "response_data": reply})),
    )
    assert called(found) == [("c1", '{"at":"door"}', None, None)]
    assert found.summary["verdicts"]["valid"] == 1


def test_events_in_one_attribute_end_with_what_the_model_said(tmp_path: Path) -> None:
    user = {"event.name": "gen_ai.user.message", "role": "user", "content": "go"}
    one = {"event.name": "gen_ai.assistant.message", **asks("c1", {"at": "door"})}
    two = {"event.name": "gen_ai.assistant.message", **asks("c2", {"at": "wall"})}
    back = {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c1", "content": "seen"}
    end = {"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": "done"}}
    table = {"gen_ai.tool.definitions": TOOLS}
    found = audited(
        tmp_path,
        batch(span(1, {**MODEL, **table, "events": [user, one, two]})),
        batch(span(2, {**MODEL, **table, "events": [user, one, two, back, end]})),
    )
    assert called(found) == [("c1", '{"at": "door"}', 0, None), ("c2", '{"at": "wall"}', None, None)]
    assert "call-unanswered" in set(found.findings["slug"])


def test_runs_of_the_agents_sdk_are_read_with_their_failures(tmp_path: Path) -> None:
    said = {"model_config": {}, "input": [{"role": "user", "content": "go"}], "output": [asks("c1", {"at": "door"})]}
    failure = {"message": "it broke", "data": {}}
    ran = {"logfire.msg": "Function: look", "name": "look", "mcp_data": "null", "input": '{"at": "door"}'}
    ran |= {"output": "sorry", "error": json.dumps(failure)}
    found = audited(tmp_path, batch(span(1, {"logfire.msg": "m", "gen_ai.system": "x", **said}), span(2, ran)))
    assert called(found) == [("c1", '{"at": "door"}', 0, None)]
    assert found.frames["calls"]["outcome"].to_list() == ["error"]
    assert found.frames["results"].select("text", "error").rows() == [("sorry", "it broke")]


def test_what_a_tool_was_given_and_gave_may_stand_in_the_events_of_its_span(tmp_path: Path) -> None:
    pairs = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    told = [events(1, "gen_ai.tool.message", content={"at": "door"}), events(2, "gen_ai.choice", message="seen")]
    found = audited(tmp_path, batch(span(1, pairs, events=told)))
    assert called(found) == [("c1", '{"at": "door"}', 0, None)]
    assert found.frames["results"]["text"].to_list() == ["seen"]
    assert found.frames["calls"]["pointer"].to_list() == ["/events/0/attributes"]


def test_the_tools_of_an_agent_are_those_of_the_calls_inside_of_its_span(tmp_path: Path) -> None:
    table = [{"name": "look", "description": "d", "inputSchema": {"json": LOOK}}]
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.definitions": table}
    said = [{"role": "assistant", "parts": [call("c1")]}]
    model = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": [USER], "gen_ai.output.messages": said}
    inner = span(2, model, parentSpanId=f"{3:016x}")
    around = span(3, {"a": "step"}, parentSpanId=f"{9:016x}")
    found = audited(tmp_path, batch(inner), batch(around), batch(span(9, agent)))
    assert found.findings.filter(severity="error")["rule"].to_list() == ["ARG001"]
    assert found.frames["offers"]["tool"].unique().to_list() == ["function::look"]


def test_the_items_of_one_reply_are_no_alternatives_and_choices_are(tmp_path: Path) -> None:
    one, two = ({"role": "assistant", "parts": [call(name, at="door")]} for name in ("c1", "c2"))
    pairs = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": [USER]}
    items = audited(tmp_path, batch(span(1, {**pairs, "gen_ai.output.messages": [one, two]})))
    assert [row[3] for row in called(items)] == [None, None]
    choices = [{**each, "finish_reason": "tool_call"} for each in (one, two)]
    found = audited(tmp_path, batch(span(1, {**pairs, "gen_ai.output.messages": choices})))
    assert [row[3] for row in called(found)] == ["abandoned", "abandoned"]
    whole: dict[str, Any] = {"output.value": {"choices": [{}, {}]}}
    found = audited(tmp_path, batch(span(1, {**pairs, "gen_ai.output.messages": [one, two], **whole})))
    assert [row[3] for row in called(found)] == ["abandoned", "abandoned"]


def test_calls_named_by_their_items_are_answered_by_results_that_name_the_calls(tmp_path: Path) -> None:
    made = [{"role": "assistant", "parts": [call("fc_1", at="door"), call("fc_2", at="wall")]}]
    back = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": name, "response": text}]}
        for name, text in (("call_1", "a door"), ("call_2", "a wall"))
    ]
    end = {"type": "text", "content": "done"}
    log = [
        chat(1, [USER], call("fc_1", at="door"), call("fc_2", at="wall")),
        chat(2, [USER, *made, *back], end),
        chat(3, [back[0], back[1], USER], call("fc_3", at="roof")),
        chat(
            4, [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_3", "response": "a roof"}]}], end
        ),
    ]
    found = audited(tmp_path, *map(batch, log))
    texts = found.frames["results"]["text"].to_list()
    paired = found.frames["calls"].select("call_id", "result").rows()
    assert [(name, texts[result]) for name, result in paired if result is not None] == [
        ("fc_1", "a door"),
        ("fc_2", "a wall"),
        ("fc_3", "a roof"),
    ]
    assert not {"call-unanswered", "result-orphan"} & set(found.findings["slug"])


def test_results_of_other_ids_and_of_another_number_than_the_calls_stay_what_they_are(tmp_path: Path) -> None:
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_9", "response": "?"}]}
    made = {"role": "assistant", "parts": [call("fc_1", at="door"), call("fc_2", at="wall")]}
    log = [chat(1, [USER], call("fc_1", at="door"), call("fc_2", at="wall")), chat(2, [USER, made, back])]
    found = audited(tmp_path, *map(batch, log))
    assert "result-orphan" in set(found.findings["slug"])


def test_replies_that_ended_with_calls_which_were_not_captured_are_told(tmp_path: Path) -> None:
    ended = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"]}
    found = audited(tmp_path, batch(span(1, ended)), batch(span(2, ended)))
    missing = found.findings.filter(rule="LOG007")
    assert missing["message"].to_list() == ["2 replies ended with calls of tools, and the log holds none of them."]
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    found = audited(tmp_path, batch(span(1, ended)), batch(span(2, ran)))
    assert found.findings.filter(rule="LOG007").is_empty()
