"""Records of loggers that keep what was sent and what came back under names of their own, around a body of any wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.read.adapters import lines, recorded
from tests.read.truths import audited, errors

SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
Record = dict[str, Any]
USER = {"role": "user", "content": "where?"}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 3}'}}
CHAT_TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
CHAT_REPLY = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
BODIES: dict[str, tuple[Record, Record]] = {
    "openai-chat": (
        {"model": "m", "messages": [USER], "tools": CHAT_TOOLS},
        {"id": "r1", "object": "chat.completion", "choices": [{"index": 0, "message": CHAT_REPLY}]},
    ),
    "anthropic-messages": (
        {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [{"name": "look", "input_schema": SCHEMA}]},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 3}}],
        },
    ),
    "openai-responses": (
        {"model": "m", "input": [USER], "tools": [{"type": "function", "name": "look", "parameters": SCHEMA}]},
        {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "output": [{"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 3}'}],
        },
    ),
    "gemini": (
        {
            "contents": [{"role": "user", "parts": [{"text": "where?"}]}],
            "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]}],
        },
        {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": 3}}}]},
                    "finishReason": "STOP",
                }
            ]
        },
    ),
    "bedrock": (
        {
            "messages": [{"role": "user", "content": [{"text": "where?"}]}],
            "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}]},
        },
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": 3}}}],
                }
            },
            "stopReason": "tool_use",
        },
    ),
}
PAIRS = [
    ("input", "output"),
    ("inputs", "outputs"),
    ("req", "res"),
    ("request_body", "response_body"),
    ("requestBody", "responseBody"),
    ("req_payload", "resp_payload"),
    ("request", "response"),
]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("name", BODIES)
def test_a_body_of_a_known_wire_is_read_as_such(tmp_path: Path, name: str, pair: tuple[str, str]) -> None:
    record = {"id": "log-1", "ts": 1, "tags": {}, **dict(zip(pair, BODIES[name], strict=True))}
    found = audited(tmp_path, record)
    assert found.inputs[0]["format"] == name
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["location"]["pointer"].startswith(f"/{pair[1]}/")
    assert mismatch["contract"]["pointer"].startswith(f"/{pair[0]}/")


@pytest.mark.parametrize("name", BODIES)
def test_so_is_one_that_was_kept_as_text(tmp_path: Path, name: str) -> None:
    asked, told = map(json.dumps, BODIES[name])
    found = audited(tmp_path, {"input": asked, "output": told})
    assert found.inputs[0]["format"] == name
    assert errors(found) == {"args-schema-mismatch"}


def test_a_strange_output_is_told(tmp_path: Path) -> None:
    found = audited(tmp_path, {"input": BODIES["openai-chat"][0], "output": {"strange": True}})
    assert "response" in found.findings.filter(rule="LOG003")["message"][0]


CALLED = {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}]}
LISTS: list[Record] = [
    {"input": [USER], "output": CHAT_REPLY, "metadata": {"tools": CHAT_TOOLS}},
    {"input": [USER], "output": [{"index": 0, "message": CHAT_REPLY}], "metadata": {"tools": CHAT_TOOLS}},
    {"inputs": {"messages": [USER], "tools": CHAT_TOOLS}, "outputs": {"message": CHAT_REPLY}},
    {"input": json.dumps([USER]), "output": json.dumps(CHAT_REPLY), "metadata": json.dumps({"tools": CHAT_TOOLS})},
    {"input": {"messages": [USER], "tools": CHAT_TOOLS}, "output": [CALLED]},
]


@pytest.mark.parametrize("record", LISTS, ids=json.dumps)
def test_messages_without_a_body_around_them_are_read(tmp_path: Path, record: Record) -> None:
    found = audited(tmp_path, {"id": "1", "created": "2026-11-30T10:00:00Z", **record})
    assert found.frames["calls"].select("call_id", "name").rows() == [("c1", "look")]
    assert errors(found) == {"args-schema-mismatch"}


def test_the_next_record_goes_on_with_the_conversation(tmp_path: Path) -> None:
    told = {"role": "tool", "tool_call_id": "c1", "content": "there"}
    found = audited(
        tmp_path,
        {"input": [USER], "output": CHAT_REPLY},
        {"input": [USER, CHAT_REPLY, told], "output": {"role": "assistant", "content": "There."}},
    )
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "unknown")]
    assert found.frames["results"].height == 1


@pytest.mark.parametrize(
    "record", [{"input": "two and two", "output": "four"}, {"input": {"x": 1}, "output": {"y": 2}}, {"input": [1, 2]}]
)
def test_what_holds_no_messages_is_not_taken(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record) + "\n")
    from analyzer import audit

    assert [each["format"] for each in audit([str(path)], lenient=True).inputs] in ([], [""])


@pytest.mark.parametrize("name", ["openai-chat", "anthropic-messages", "openai-responses", "gemini"])
def test_a_response_alone_is_read_as_batches_hold_it(tmp_path: Path, name: str) -> None:
    told = BODIES[name][1]
    envelopes: list[tuple[str, Record]] = [
        ("/response", {"key": "a", "response": told}),
        ("/response/body", {"custom_id": "a", "response": {"status_code": 200, "body": told}, "error": None}),
    ]
    if name == "anthropic-messages":
        envelopes.append(("/result/message", {"custom_id": "a", "result": {"type": "succeeded", "message": told}}))
    for to, record in envelopes:
        found = audited(tmp_path, record)
        assert found.inputs[0]["format"] == name
        (call,) = found.frames["calls"].to_dicts()
        assert call["name"] == "look"
        pointer = found.frames["events"].filter(event=call["event"])["pointer"][0] + call["pointer"]
        assert pointer.startswith(to)


ASKED = BODIES["openai-chat"][0]
BESIDE: list[Record] = [
    {**ASKED, "output": CHAT_REPLY},
    {**ASKED, "completion": {"choices": [{"index": 0, "message": CHAT_REPLY}]}},
    {**ASKED, "output": [{"index": 0, "message": CHAT_REPLY}]},
    {"input": ASKED, "output": {"message": CHAT_REPLY}},
    {"input": ASKED, "output": [{"index": 0, "message": CHAT_REPLY}]},
]


@pytest.mark.parametrize("record", BESIDE, ids=json.dumps)
def test_a_reply_beside_its_request_is_read_in_whatever_frame(tmp_path: Path, record: Record) -> None:
    found = audited(tmp_path, record)
    assert found.frames["calls"]["call_id"].to_list() == ["c1"]
    assert errors(found) == {"args-schema-mismatch"}
    assert found.frames["faults"].is_empty()


@pytest.mark.parametrize("member", ["response", "output", "completion"])
def test_calls_in_a_text_beside_a_request_are_told(tmp_path: Path, member: str) -> None:
    found = audited(tmp_path, {**ASKED, member: "content='' tool_calls=[f()]"}, {**ASKED, member: "It rains."})
    assert found.frames["faults"]["fault"].to_list() == ["unknown_item"]


@pytest.mark.parametrize("member", ["response", "output"])
@pytest.mark.parametrize("name", BODIES)
def test_what_came_back_may_stand_beside_the_members_of_the_request(tmp_path: Path, name: str, member: str) -> None:
    asked, told = BODIES[name]
    if member == "output" and name in ("openai-responses", "bedrock"):
        told = told["output"]  # the name of the wire's own member
    found = audited(tmp_path, {**asked, member: told})
    assert found.inputs[0]["format"] == name
    assert found.frames["calls"]["name"].to_list() == ["look"]
    assert errors(found) == {"args-schema-mismatch"}
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["location"]["pointer"].startswith(f"/{member}/")


@pytest.mark.parametrize("name", [name for name in BODIES if name != "openai-responses"])
def test_where_it_is_strange_it_is_told(tmp_path: Path, name: str) -> None:
    found = audited(tmp_path, {**BODIES[name][0], "response": {"strange": True}})
    assert found.frames["faults"].select("fault", "pointer").rows() == [("unknown_item", "/response")]


@pytest.mark.parametrize("name", ["recorded_at", "timestamp", "ts", "time", "@timestamp", "start_time", "logged_at"])
@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("2026-11-30T03:00:00Z", "03:00:00"),
        (1796007600, "03:00:00"),
        (1796007600123, "03:00:00"),
        (250, None),  # a duration
        ("soon", None),
    ],
)
def test_the_time_beside_an_exchange_is_when_it_was(name: str, when: Any, told: str | None) -> None:
    if name == "recorded_at" and when == 250:
        return  # it says what it is
    message = {"role": "user", "content": "go"}
    reply = {"id": "r", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant"}}]}
    record = {name: when, "request": {"model": "m", "messages": [message]}, "response": reply}
    _, frames = recorded(lines(record))
    times = frames["events"]["time"].dt.to_string("%H:%M:%S").to_list()
    assert set(times) == {told}
