"""Cassettes as they are recorded: bodies that came compressed or in a binary framing, and both layouts of the file."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
import zstandard

from analyzer.auditing import Audit, audit
from analyzer.read.sources.bodies import text_of

_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {
            "type": "object",
            "properties": {"at": {"type": "string"}},
            "required": ["at"],
            "additionalProperties": False,
        },
    },
}
_ASKED = {"model": "m", "messages": [{"role": "user", "content": "Look."}], "tools": [_TOOL]}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":7}'}}
_TOLD = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            "finish_reason": "tool_calls",
        }
    ],
}
_CHUNK = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": 0, **_CALL}]}}],
}
_TEXT = json.dumps(_TOLD).encode()
_STREAM = f"data: {json.dumps(_CHUNK)}\n\n".encode()
_CHAT = "https://models.example/v1/chat/completions"


def interaction(asked: Any, told: bytes, uri: str = _CHAT) -> dict[str, Any]:
    request = {"body": json.dumps(asked), "headers": {}, "method": "POST", "uri": uri}
    return {
        "request": request,
        "response": {"body": {"string": told}, "headers": {}, "status": {"code": 200, "message": "OK"}},
    }


def audited(tmp_path: Path, whole: Any, name: str = "log.yaml", *, cut: int | None = None) -> Audit:
    path = tmp_path / name
    text = whole if isinstance(whole, str) else yaml.safe_dump(whole)
    packed = text[:cut].encode()
    path.write_bytes(gzip.compress(packed) if name.endswith(".gz") else packed)
    return audit([str(path)])


def broken(found: Audit) -> list[tuple[str, str]]:
    rows = found.findings.filter(pl.col("severity") == "error").sort("call_id", "rule")
    return list(rows.select("call_id", "rule").iter_rows())


def lost(found: Audit) -> list[str]:
    """What could not be read."""
    return found.findings.filter(pl.col("rule") == "LOG001")["message"].to_list()


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, zlib.compress, zstandard.compress, lambda body: gzip.compress(body)[:-8], bytes],
    ids=["gzip", "deflate", "zstd", "gzip without its end", "plain"],
)
@pytest.mark.parametrize("body", [_TEXT, _STREAM], ids=["body", "stream"])
def test_a_body_is_read_as_it_came(tmp_path: Path, pack: Callable[[bytes], bytes], body: bytes) -> None:
    found = audited(tmp_path, {"interactions": [interaction(_ASKED, pack(body))], "version": 1})
    assert broken(found) == [("call_1", "ARG001")]
    assert lost(found) == []


def test_a_packed_body_in_a_har_file_is_read(tmp_path: Path) -> None:
    content = {"encoding": "base64", "text": base64.b64encode(gzip.compress(_TEXT)).decode()}
    request = {"method": "POST", "url": _CHAT, "postData": {"text": json.dumps(_ASKED)}}
    entry = {"request": request, "response": {"status": 200, "content": content}}
    found = audited(tmp_path, json.dumps({"log": {"version": "1.2", "entries": [entry]}}), "log.har")
    assert broken(found) == [("call_1", "ARG001")]


@pytest.mark.parametrize("body", [b"\x1f\x8b\x08\x00broken", b"\x8b\x05\x80\xff\xfe{"], ids=["gzip", "unknown"])
def test_a_body_that_cannot_be_unpacked_is_told(tmp_path: Path, body: bytes) -> None:
    found = audited(tmp_path, {"interactions": [interaction(_ASKED, body)], "version": 1})
    assert len(lost(found)) == 1


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, zstandard.compress], ids=["gzip", "deflate", "zstd"])
def test_a_body_that_unpacks_to_no_end_is_cut(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    body = pack(b'{"choices":"' + b"x" * (1 << 25) + b'"}')
    assert len(text_of(body)) < 1 << 22
    found = audited(tmp_path, {"interactions": [interaction(_ASKED, body)], "version": 1})
    assert len(lost(found)) == 1


@pytest.mark.parametrize("depth", [490, 600, 900, 5_000])
@pytest.mark.parametrize("opened", ["[]", "{}"])
def test_an_interaction_that_is_too_deep_is_lost_alone(tmp_path: Path, opened: str, depth: int) -> None:
    inner = "[" * depth + "]" * depth if opened == "[]" else "{a: " * depth + "1" + "}" * depth
    sound = yaml.safe_dump({"interactions": [interaction(_ASKED, _TEXT)]})
    found = audited(tmp_path, f"{sound}- {inner}\nversion: 1\n")
    assert found.summary["calls"] == 1
    assert len(lost(found)) == 1


def told_as(wire: str) -> tuple[Any, bytes]:
    """A request of a wire, and the stream that answers it with one call of a tool."""
    schema = _TOOL["function"]["parameters"]
    if wire == "chat":
        return _ASKED, _STREAM
    if wire == "responses":
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"at":7}'}
        response = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": [item]}
        told: list[dict[str, Any]] = [
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        asked: dict[str, Any] = {
            "model": "m",
            "input": "Look.",
            "tools": [{"type": "function", "name": "look", "parameters": schema}],
        }
    else:
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
        block = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
        piece = {"type": "input_json_delta", "partial_json": '{"at":7}'}
        told = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": piece},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ]
        tool = {"name": "look", "input_schema": schema}
        asked = {"max_tokens": 9, "model": "claude-m", "messages": _ASKED["messages"], "tools": [tool]}
    return asked, "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in told).encode()


@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
@pytest.mark.parametrize("uri", ["**REDACTED**", "https://gateway.example/llm/v2/ask"])
def test_what_came_back_is_read_where_the_address_says_nothing(tmp_path: Path, wire: str, uri: str) -> None:
    asked, told = told_as(wire)
    found = audited(tmp_path, {"interactions": [interaction(asked, told, uri)], "version": 1})
    assert broken(found) == [("call_1", "ARG001")]


# --- binary event streams ---------------------------------------------------------------------------------------------


def frame(headers: dict[str, str], payload: Any) -> bytes:
    named = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 12 + len(named) + len(body) + 4, len(named))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + named + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def events(*told: tuple[str, Any]) -> bytes:
    return b"".join(frame({":event-type": name, ":message-type": "event"}, payload) for name, payload in told)


_CONVERSE = {
    "messages": [{"role": "user", "content": [{"text": "Look."}]}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": _TOOL["function"]["parameters"]}}}]},
}
_MODEL = "https://bedrock.example/model/m/"


def test_a_binary_converse_stream_is_read(tmp_path: Path) -> None:
    start = {"start": {"toolUse": {"toolUseId": "tooluse_1", "name": "look"}}, "contentBlockIndex": 0}
    stream = events(
        ("messageStart", {"role": "assistant"}),
        ("contentBlockStart", start),
        ("contentBlockDelta", {"delta": {"toolUse": {"input": '{"at":'}}, "contentBlockIndex": 0}),
        ("contentBlockDelta", {"delta": {"toolUse": {"input": "7}"}}, "contentBlockIndex": 0}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "tool_use"}),
    )
    one = interaction(_CONVERSE, stream, _MODEL + "converse-stream")
    found = audited(tmp_path, {"interactions": [one], "version": 1})
    assert broken(found) == [("tooluse_1", "ARG001")]
    assert lost(found) == []


def test_a_binary_stream_of_a_models_own_events_is_read(tmp_path: Path) -> None:
    asked, told = told_as("messages")
    sent = [line[6:] for line in told.split(b"\n") if line.startswith(b"data: ")]
    chunks = [("chunk", {"bytes": base64.b64encode(event).decode()}) for event in sent]
    one = interaction(
        {**asked, "anthropic_version": "bedrock-2023-05-31"}, events(*chunks), _MODEL + "invoke-with-response-stream"
    )
    found = audited(tmp_path, {"interactions": [one], "version": 1})
    assert broken(found) == [("call_1", "ARG001")]


# --- requests and responses in lists of their own ---------------------------------------------------------------------


def two_lists(count: int, *, uri: str = _CHAT) -> dict[str, Any]:
    both = []
    for number in range(count):
        asked = {**_ASKED, "messages": [{"role": "user", "content": f"Look {number}."}]}
        told = json.dumps(_TOLD).replace("call_1", f"call_{number}").encode()
        both.append(interaction(asked, told, uri))
    return {"requests": [each["request"] for each in both], "responses": [each["response"] for each in both]}


@pytest.mark.parametrize("uri", [_CHAT, "**REDACTED**"])
@pytest.mark.parametrize("name", ["log.yaml", "log.yaml.gz"])
def test_a_cassette_of_two_lists_is_read(tmp_path: Path, uri: str, name: str) -> None:
    found = audited(tmp_path, two_lists(3, uri=uri), name)
    assert [each["format"] for each in found.inputs] == ["openai-chat"]
    assert broken(found) == [(f"call_{number}", "ARG001") for number in range(3)]
    assert lost(found) == []


@pytest.mark.parametrize("missing", [1, 40, 90, 400])
def test_of_a_cut_cassette_of_two_lists_what_is_whole_is_read_and_the_cut_told(tmp_path: Path, missing: int) -> None:
    whole = yaml.safe_dump(two_lists(3))
    found = audited(tmp_path, whole, cut=len(whole) - missing)
    rows = {call for call, rule in broken(found) if rule == "ARG001"}
    assert rows >= {"call_0", "call_1"}
    assert lost(found) or rows == {"call_0", "call_1", "call_2"}


def test_a_cassette_without_what_came_back_still_shows_what_was_asked(tmp_path: Path) -> None:
    found = audited(tmp_path, {"requests": two_lists(2)["requests"], "responses": []})
    assert found.frames["offers"].height == 2
    assert lost(found) != []


# --- other services ---------------------------------------------------------------------------------------------------


def test_the_messages_of_a_thread_are_no_messages_of_ours(tmp_path: Path) -> None:
    thread = "https://models.example/v1/threads/thread_1"
    message = {"id": "msg_1", "object": "thread.message", "role": "user", "content": [{"type": "text", "text": {}}]}
    run = b'event: thread.run.created\ndata: {"id":"run_1","object":"thread.run","status":"requires_action"}\n\n'
    exchanges = [
        interaction({"role": "user", "content": "Look."}, json.dumps(message).encode(), f"{thread}/messages"),
        interaction({"assistant_id": "asst_1", "stream": True}, run, f"{thread}/runs"),
    ]
    found = audited(tmp_path, {"interactions": exchanges, "version": 1})
    assert [each["format"] for each in found.inputs] == [""]


@pytest.mark.parametrize("uri", [_CHAT, "https://models.example/v2/chat"])
def test_calls_in_a_stream_that_nobody_knows_are_told_as_lost(tmp_path: Path, uri: str) -> None:
    begun = {"type": "message-start", "delta": {"message": {"role": "assistant", "tool_calls": []}}}
    function = {"name": "look", "arguments": ""}
    call = {
        "type": "tool-call-start",
        "index": 0,
        "delta": {"message": {"tool_calls": {"id": "c", "function": function}}},
    }
    for told, count in (((begun,), 0), ((begun, call), 1)):
        stream = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in told).encode()
        found = audited(tmp_path, {"interactions": [interaction(_ASKED, stream, uri)], "version": 1})
        assert len(lost(found)) == count


def test_counting_the_tokens_of_a_request_asks_nothing(tmp_path: Path) -> None:
    asked, told = told_as("responses")
    counted = json.dumps({"object": "response.input_tokens", "input_tokens": 15}).encode()
    uri = "https://models.example/v1/responses"
    both = [interaction(asked, counted, f"{uri}/input_tokens"), interaction(asked, told, uri)]
    found = audited(tmp_path, {"interactions": both, "version": 1})
    assert broken(found) == [("call_1", "ARG001")]
    assert found.summary["sessions"] == 1


def test_letters_that_a_recorder_lost_make_no_body_unreadable(tmp_path: Path) -> None:
    asked = {**_ASKED, "messages": [{"role": "user", "content": "\ufffd\ufffd\ufffd"}]}
    exchange = interaction(asked, _TEXT.replace(b'"chatcmpl-1"', '"\ufffd"'.encode()))
    exchange["request"]["body"] = json.dumps({"messages": asked["messages"], **asked}, ensure_ascii=False)
    found = audited(tmp_path, {"interactions": [exchange], "version": 1})
    assert (broken(found), lost(found)) == ([("call_1", "ARG001")], [])
