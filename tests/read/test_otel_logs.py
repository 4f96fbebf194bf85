"""OpenTelemetry: messages in log records beside spans, of both conventions; tools as OpenLLMetry writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from tests.read.adapters import lines
from tests.read.test_otel import LOOK, batch, call, ran, span
from tests.read.truths import audited, errors

Record = dict[str, Any]
TRACE = "ab" * 16
USER = {"role": "user", "parts": [{"type": "text", "content": "go"}]}


def value_of(value: Any) -> Record:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": name, "value": value_of(each)} for name, each in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": list(map(value_of, value))}}
    return {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}


def log(name: str, number: int = 1, *, body: Any = None, trace: str | None = TRACE, **attributes: Any) -> Record:
    pairs = [{"key": key.replace("__", "."), "value": value_of(each)} for key, each in attributes.items()]
    ids = {} if trace is None else {"traceId": trace, "spanId": f"{number:016x}"}
    held = {} if body is None else {"body": value_of(body)}
    return {"timeUnixNano": str(number * 1000), "eventName": name, "attributes": pairs, **ids, **held}


def logs(*records: Record) -> Record:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def choice(number: int, at: Any, **more: Any) -> Record:
    function = {"name": "look", "arguments": json.dumps({"at": at})}
    message = {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
    return log("gen_ai.choice", number, body={"index": 0, "finish_reason": "tool_calls", "message": message}, **more)


def test_the_event_with_all_messages_is_read(tmp_path: Path) -> None:
    said = [{"role": "assistant", "parts": [call("c1", at=3)]}]
    tools = [{"type": "function", "name": "look", "parameters": LOOK}]
    details: Record = {
        "gen_ai__input__messages": [USER],
        "gen_ai__output__messages": said,
        "gen_ai__tool__definitions": tools,
    }
    record = logs(log("gen_ai.client.inference.operation.details", gen_ai__operation__name="chat", **details))
    found = audited(tmp_path, record, batch(ran(2, "c1", {"at": 3}, "seen")))
    assert found.frames["calls"].select("call_id", "sightings").rows() == [("c1", 2)]
    assert found.frames["results"]["call"].null_count() == 0
    assert errors(found) == {"args-schema-mismatch"}


@pytest.mark.parametrize("exports", [1, 2])
def test_one_event_for_each_message_is_read(tmp_path: Path, exports: int) -> None:
    user = log("gen_ai.user.message", 1, body={"content": "go"})
    chat = span(1, {"gen_ai.operation.name": "chat"})
    records = [logs(user, choice(1, 3))] if exports == 1 else [logs(user), logs(choice(1, 3))]
    found = audited(tmp_path, *records, batch(chat), batch(ran(2, "c1", {"at": 3}, "seen")))
    assert found.frames["calls"].select("call_id", "text").rows() == [("c1", '{"at": 3}')]


def test_records_of_no_trace_are_read_one_request_after_the_other(tmp_path: Path) -> None:
    user = log("gen_ai.user.message", 1, body={"content": "go"}, trace=None)
    found = audited(tmp_path, logs(user, choice(1, "A", trace=None), user, choice(2, "B", trace=None)))
    assert found.frames["calls"].select("call_id", "status").rows() == [("c1", None), ("c2", None)]


def test_other_logs_are_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(logs(log("http.request", url="x"))))
    assert [each["format"] for each in audit([str(path)], lenient=True).inputs] in ([], [""])


@pytest.mark.parametrize(
    ("given", "gave", "text"),
    [
        ({"args": [], "kwargs": {"at": 3}}, "seen", "seen"),
        ({"inputs": {"at": 3}, "input_str": "{'at': 3}", "kwargs": {}}, {"output": "seen", "kwargs": {}}, "seen"),
        ({"args": [], "kwargs": {"at": 3}}, {"t": 1}, '{"t":1}'),
    ],
)
def test_a_tool_of_openllmetry_was_run(tmp_path: Path, given: Record, gave: Any, text: str) -> None:
    made = {"id": "c1", "name": "look", "arguments": '{"at": 3}'}
    pairs = {f"gen_ai.completion.0.tool_calls.0.{name}": each for name, each in made.items()}
    tools = {"llm.request.functions.0.name": "look", "llm.request.functions.0.parameters": json.dumps(LOOK)}
    chat = {"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go"}
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.name": "look"}
    tool |= {"traceloop.entity.input": json.dumps(given), "traceloop.entity.output": json.dumps(gave)}
    said = {"gen_ai.completion.0.role": "assistant"}
    found = audited(tmp_path, batch(span(1, {**chat, **said, **pairs, **tools}), span(2, tool)))
    assert found.frames["calls"].select("call_id", "copies").rows() == [("c1", 2)]
    assert found.frames["results"]["text"].to_list() == [text]
    assert errors(found) == {"args-schema-mismatch"}
