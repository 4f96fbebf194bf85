"""Faults that people report of their agents, as the log of each would show them: the rule, the call, the member."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import Audit, audit

Record = dict[str, Any]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
OSLO = {"city": "Oslo"}
ASKED = {"role": "user", "content": "What is it like?"}


def audited(path: Path, *records: Record) -> Audit:
    log = path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    return audit(str(log))


def told(path: Path, *records: Record) -> set[tuple[str, str | None]]:
    """Errors: the rule and the call id."""
    found = audited(path, *records).findings.filter(severity="error")
    return set(found.select("rule", "call_id").iter_rows())


# --- the wires


def messages(*turns: Record) -> Record:
    tool = {"name": "weather", "input_schema": SCHEMA}
    return {"model": "claude-x", "max_tokens": 99, "tools": [tool], "messages": [ASKED, *turns]}


def use(name: str) -> Record:
    return {"type": "tool_use", "id": name, "name": "weather", "input": OSLO}


def used(*names: str) -> Record:
    return {"role": "assistant", "content": [use(name) for name in names]}


def came(name: str) -> Record:
    return {"type": "tool_result", "tool_use_id": name, "content": "12"}


def answers(*blocks: Record) -> Record:
    return {"role": "user", "content": list(blocks)}


def chat(*turns: Record) -> Record:
    tool = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
    return {"model": "gpt-x", "tools": [tool], "messages": [ASKED, *turns]}


def called(**arguments: str) -> Record:
    function = "function"
    calls = [
        {"id": name, "type": function, function: {"name": "weather", "arguments": text}}
        for name, text in arguments.items()
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def replied(message: Record, stop: str = "tool_calls", name: str = "chatcmpl-1") -> Record:
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return {"id": name, "object": "chat.completion", "created": 1, "model": "gpt-x", "choices": [choice]}


def tool(name: str) -> Record:
    return {"role": "tool", "tool_call_id": name, "content": "12"}


def converse(*turns: Record) -> Record:
    specification = {"name": "weather", "inputSchema": {"json": SCHEMA}}
    return {
        "modelId": "anthropic.claude-x",
        "messages": [{"role": "user", "content": [{"text": "?"}]}, *turns],
        "toolConfig": {"tools": [{"toolSpec": specification}]},
    }


def generate(*turns: Record) -> Record:
    declared = {"name": "weather", "parametersJsonSchema": SCHEMA}
    contents = [{"role": "user", "parts": [{"text": "?"}]}, *turns]
    return {"contents": contents, "tools": [{"functionDeclarations": [declared]}]}


def function(**more: str) -> Record:
    return {"functionCall": {"name": "weather", "args": OSLO, **more}}


def returned(**more: str) -> Record:
    return {"functionResponse": {"name": "weather", "response": {"t": 12}, **more}}


def model(*parts: Record) -> Record:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Record) -> Record:
    return {"role": "user", "parts": list(parts)}


def responses(*items: Record, **more: str) -> Record:
    return {
        "model": "gpt-x",
        "input": list(items),
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}],
        **more,
    }


def item(name: str) -> Record:
    return {"type": "function_call", "call_id": name, "name": "weather", "arguments": json.dumps(OSLO)}


def output(name: str) -> Record:
    return {"type": "function_call_output", "call_id": name, "output": "12"}


def listing(output: Record) -> tuple[Record, Record]:
    shown = {"name": "weather", "inputSchema": SCHEMA, "outputSchema": output}
    return (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [shown]}},
    )


def executed(**result: Any) -> tuple[Record, Record]:
    content = [{"type": "text", "text": "12 degrees"}]
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "weather", "arguments": OSLO}}
    return asked, {"jsonrpc": "2.0", "id": 2, "result": {"content": content, **result}}


def streamed_messages(*pieces: str) -> list[Record]:
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    block = {"type": "tool_use", "id": "a", "name": "weather", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces]
    return [
        messages(),
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def streamed_converse(*pieces: str) -> list[Record]:
    start = {"toolUse": {"toolUseId": "a", "name": "weather"}}
    return [
        converse(),
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"start": start, "contentBlockIndex": 0}},
        *({"contentBlockDelta": {"delta": {"toolUse": {"input": each}}, "contentBlockIndex": 0}} for each in pieces),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ]


def streamed_ui(*pieces: str) -> list[Record]:
    return [
        {"type": "start", "messageId": "m"},
        {"type": "tool-input-start", "toolCallId": "a", "toolName": "weather"},
        *({"type": "tool-input-delta", "toolCallId": "a", "inputTextDelta": each} for each in pieces),
        {
            "type": "tool-input-error",
            "toolCallId": "a",
            "toolName": "weather",
            "input": "".join(pieces),
            "errorText": "?",
        },
        {"type": "finish"},
    ]


# --- requests that go out with a hole


@pytest.mark.parametrize(
    ("records", "call_id"),
    [
        ([messages(used("a", "b"), answers(came("a")))], "b"),
        ([messages(used("b"))], "b"),
        ([chat(called(a='{"city":"x"}', b='{"city":"y"}'), tool("a"))], "b"),
        (
            [
                converse(
                    {
                        "role": "assistant",
                        "content": [
                            {"toolUse": {"toolUseId": each, "name": "weather", "input": OSLO}} for each in "ab"
                        ],
                    },
                    {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "12"}]}}]},
                )
            ],
            "b",
        ),
        ([generate(model(function(), function()), user(returned()))], None),
        ([responses(ASKED, item("a"), item("b"), output("a"))], "b"),
        (
            [
                responses(ASKED),
                {"id": "r1", "object": "response", "status": "completed", "output": [item("a"), item("b")]},
                responses(output("a"), previous_response_id="r1"),
            ],
            "b",
        ),
    ],
    ids=["messages", "messages-last", "chat", "bedrock", "gemini", "responses", "responses-chain"],
)
def test_a_request_without_the_result_of_a_call_is_an_error(
    tmp_path: Path, records: list[Record], call_id: str | None
) -> None:
    assert told(tmp_path, *records) == {("CALL004", call_id)}


def test_a_call_of_the_last_reply_waits_and_no_more(tmp_path: Path) -> None:
    first, second = called(a='{"city":"x"}'), called(b='{"city":"y"}')
    # A proxy gives every reply the same id.
    log = [chat(), replied(first), chat(first, tool("a")), replied(second)]
    assert told(tmp_path, *log) == set()


def test_the_rule_ran_where_a_client_owes_results(tmp_path: Path) -> None:
    asked = called(a='{"city":"x"}')
    idle = audited(tmp_path, chat(asked, tool("a"))).summary["rules_not_run"]
    assert "CALL004" not in {each["rule"] for each in idle}
    idle = audited(tmp_path, chat(), replied({"role": "assistant", "content": "No."}, "stop")).summary["rules_not_run"]
    assert {each["reason"] for each in idle if each["rule"] == "CALL004"} == {
        "no call is recorded that a client has to answer"
    }


def test_rules_without_anything_to_look_at_are_listed(tmp_path: Path) -> None:
    made = audited(tmp_path, chat(), replied({"role": "assistant", "content": "No."}, "stop"))
    idle = {each["rule"] for each in made.summary["rules_not_run"]}
    assert idle >= {"DRIFT004", "DRIFT007", "RUN002", "FINAL001", "FINAL002", "FINAL004", "RUN013"}
    gate = {"check": "f", "schema": "parameters", "pass": [], "fail": [], "execute": True}
    asked = chat() | {"response_format": {"type": "json_object"}}
    made = audited(tmp_path, asked, replied({"role": "assistant", "content": "{}"}, "stop"), gate)
    idle = {each["rule"] for each in made.summary["rules_not_run"]}
    assert not idle & {"DRIFT007", "RUN002", "FINAL002"}
    assert idle >= {"DRIFT004", "FINAL001", "FINAL004", "RUN013"}


def test_a_list_of_messages_that_grows_is_no_request(tmp_path: Path) -> None:
    calls = called(a='{"city":"x"}', b='{"city":"y"}')
    assert told(tmp_path, {"messages": [ASKED, calls, tool("a")]}) == set()


def test_what_a_user_says_before_the_results_of_a_message(tmp_path: Path) -> None:
    text = {"type": "text", "text": "And then?"}
    assert told(tmp_path, messages(used("a"), answers(text, came("a")))) == {("CALL009", "a")}
    assert told(tmp_path, messages(used("a"), answers(came("a"), text))) == set()


# --- arguments


@pytest.mark.parametrize("stream", [streamed_messages, streamed_converse, streamed_ui])
def test_pieces_that_add_up_to_no_json(tmp_path: Path, stream: Any) -> None:
    assert ("ARG003", "a") in told(tmp_path, *stream("{}", '{"city":"Oslo"}'))
    assert told(tmp_path, *stream('{"city":', '"Oslo"}')) == set()


def test_a_call_that_the_limit_of_tokens_cut_has_no_verdict(tmp_path: Path) -> None:
    found = audited(tmp_path, chat(), replied(called(a='{"city":"Os'), "length"))
    assert found.summary["verdicts"]["unverifiable"] == {"payload_truncated": 1}
    assert found.findings.filter(severity="error").is_empty()


def test_a_number_beyond_a_double_is_json(tmp_path: Path) -> None:
    assert told(tmp_path, chat(), replied(called(a='{"city":1e400}'))) == set()


def test_a_raw_line_break_in_a_text_is_named(tmp_path: Path) -> None:
    found = audited(tmp_path, chat(), replied(called(a='{"city":"Os\nlo"}'))).findings.filter(rule="ARG003")
    assert "line break" in found["message"][0]


def test_a_path_of_windows_that_nobody_escaped_is_named(tmp_path: Path) -> None:
    found = audited(tmp_path, chat(), replied(called(a=r'{"city":"C:\Users"}'))).findings.filter(rule="ARG003")
    assert "backslash" in found["message"][0]


def test_all_members_that_are_strings_are_counted(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {each: {"type": "integer"} for each in "abcde"}}
    function = {"type": "function", "function": {"name": "weather", "parameters": schema}}
    asked = {**chat(), "tools": [function]}
    text = json.dumps(dict.fromkeys("abcde", "7"))
    found = audited(tmp_path, asked, replied(called(a=text))).findings.filter(rule="ARG006")
    assert found["message"][0].endswith("so are 2 more.")


def test_a_call_without_a_name(tmp_path: Path) -> None:
    message = called(a="{}")
    message["tool_calls"][0]["function"]["name"] = ""
    found = audited(tmp_path, chat(), replied(message)).findings.filter(rule="ARG002")
    assert found["message"].to_list() == ["The call names no tool: the name is empty."]


def test_the_calls_that_chat_had_before_tools_have_no_ids(tmp_path: Path) -> None:
    old = {"name": "weather", "arguments": '{"city":"x"}'}
    message = {"role": "assistant", "content": None, "function_call": old}
    asked = {"model": "gpt-x", "functions": [{"name": "weather", "parameters": SCHEMA}], "messages": [ASKED]}
    assert told(tmp_path, asked, replied(message, "function_call")) == set()


@pytest.mark.parametrize("whole", [True, False])
def test_a_call_that_gemini_could_not_read(tmp_path: Path, *, whole: bool) -> None:
    why = "Malformed function call: print(default_api.weather(city='Oslo'))"
    end = {"content": {"role": "model", "parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": why}
    begun = {"responseId": "r", "candidates": [{"content": model({"text": "Let me see."})}]}
    log = [generate(), *([] if whole else [begun]), {"responseId": "r", "candidates": [end]}]
    found = audited(tmp_path, *log).findings.filter(severity="error")
    assert found.select("rule", "tool").rows() == [("ARG003", "weather")]


def test_the_input_that_the_sdk_could_not_read(tmp_path: Path) -> None:
    part = {
        "type": "tool-weather",
        "toolCallId": "a",
        "state": "output-error",
        "rawInput": '{"city":',
        "errorText": "?",
    }
    shown = {"id": "m", "role": "assistant", "parts": [part]}
    assert told(tmp_path, {"messages": [shown]}) == {("ARG003", "a")}


# --- results


def test_a_result_with_the_id_of_another_call_answers_none(tmp_path: Path) -> None:
    asked = model(function(id="a"), function(id="b"))
    log = generate(asked, user(returned(id="a"), returned(id="c")))
    assert told(tmp_path, log) == {("CALL004", "b"), ("CALL005", "c")}
    # An id that the client made up for a call without one is no contradiction.
    assert told(tmp_path, generate(model(function()), user(returned(id="c")))) == set()


def test_a_result_under_another_name_is_told_without_a_made_up_id(tmp_path: Path) -> None:
    other = {"functionResponse": {"name": "wether", "response": {}}}
    found = audited(tmp_path, generate(model(function()), user(other))).findings.filter(rule="CALL005")
    assert found.select("call_id", "message").rows() == [
        (None, "A result of wether answers no call: none of that tool waits for one.")
    ]


def test_a_structured_output_is_judged_and_not_the_text_beside_it(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]}
    found = audited(tmp_path, *listing(schema), *executed(structuredContent={"t": "warm"})).findings
    (row,) = found.filter(severity="error").iter_rows(named=True)
    assert (row["rule"], row["location"]["pointer"]) == ("OUT004", "/result/structuredContent")
    assert [each["pointer"] for each in row["failures"]] == ["/t"]


def test_an_output_schema_without_structured_output(tmp_path: Path) -> None:
    found = audited(tmp_path, *listing({"type": "object", "properties": {}}), *executed()).findings
    (row,) = found.filter(severity="error").iter_rows(named=True)
    assert row["rule"] == "OUT005"
    assert "no structuredContent" in row["message"]


# --- files


@pytest.mark.parametrize("begin", ["[", ": ", "{"])
def test_a_log_that_begins_inside_a_record(tmp_path: Path, begin: str) -> None:
    lines = [json.dumps(each) for each in (chat(), replied(called(a='{"city":"x"}')), chat())]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join([lines[0][lines[0].index(begin, 1) :], *lines[1:]]), encoding="utf-8")
    found = audit(str(log))
    assert found.inputs[0]["format"] == "openai-chat"
    assert found.summary["calls"] == 1
    assert found.findings.filter(rule="LOG001")["location"].struct.field("line").to_list() == [1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark(tmp_path: Path, encoding: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(f"{json.dumps(chat())}\r\n{json.dumps(replied(called(a='{}')))}\r\n".encode(encoding))
    assert audit(str(log)).summary["calls"] == 1
