"""Bedrock Converse: results that are JSON, statuses, streams, invocation logs; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import audited, errors

NAME = "bedrock"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
LOOK = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
USER = {"role": "user", "content": [{"text": "go"}]}


def asked(*messages: Any) -> dict[str, Any]:
    tools = [{"toolSpec": {"name": "look", "inputSchema": {"json": LOOK}}}]
    return {"modelId": "m", "messages": list(messages), "toolConfig": {"tools": tools}}


def use(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": "look", "input": arguments}}


def replied(*blocks: Any) -> dict[str, Any]:
    return {"output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": "tool_use"}


def back(call_id: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"toolResult": {"toolUseId": call_id, "content": list(content), **more}}]}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_a_result_may_be_a_value(tmp_path: Path) -> None:
    turn = said(use("c1", at="door"))
    log = [asked(USER), replied(*turn["content"]), asked(USER, turn, back("c1", {"json": {"open": True}}))]
    found = audited(tmp_path, *log)
    assert found.frames["results"].select("text", "container").rows() == [('{"open": true}', "object")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid"]
    assert errors(found) == set()


def test_the_status_says_how_it_went(tmp_path: Path) -> None:
    turn = said(use("c1", at="a"), use("c2", at="b"), use("c3", at="c"))
    results = {"role": "user", "content": []}
    for name, status in (("c1", "error"), ("c2", "success"), ("c3", None)):
        more = {} if status is None else {"status": status}
        results["content"] += back(name, {"text": "x"}, **more)["content"]
    found = audited(tmp_path, asked(USER), replied(*turn["content"]), asked(USER, turn, results))
    assert found.frames["calls"]["outcome"].to_list() == ["error", "ok", "unknown"]


def test_pieces_of_a_stream_add_up(tmp_path: Path) -> None:
    start = {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c1", "name": "look"}}}}
    pieces = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}}}
        for text in ('{"at":', "3}")
    ]
    log = [
        asked(USER),
        {"messageStart": {"role": "assistant"}},
        start,
        *pieces,
        {"messageStop": {"stopReason": "tool_use"}},
    ]
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["text"].to_list() == ['{"at":3}']
    assert errors(found) == {"args-schema-mismatch"}


def test_a_stream_that_breaks_off_is_cut(tmp_path: Path) -> None:
    start = {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c1", "name": "look"}}}}
    piece = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"at":'}}}}
    found = audited(tmp_path, asked(USER), {"messageStart": {"role": "assistant"}}, start, piece)
    assert found.frames["verdicts"]["reason"].to_list() == ["payload_truncated"]


def test_tools_that_the_provider_ran_are_calls_of_its_own(tmp_path: Path) -> None:
    made = {"toolUse": {"toolUseId": "s1", "name": "grounding", "type": "server_tool_use", "input": {}}}
    gave = {"toolResult": {"toolUseId": "s1", "content": [{"text": "found"}]}}
    found = audited(tmp_path, asked(USER), replied(made, gave))
    assert found.frames["calls"].select("kind", "owed_by", "result").rows() == [("hosted", "server", 0)]
    assert errors(found) == set()


def test_the_events_of_a_clients_stream_are_a_response(tmp_path: Path) -> None:
    began = {"toolUse": {"toolUseId": "c1", "name": "look"}}
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    events.append({"contentBlockStart": {"contentBlockIndex": 0, "start": began}})
    events.append({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"at":3}'}}}})
    events += [{"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {"stopReason": "tool_use"}}]
    found = audited(tmp_path, {"request": asked(USER), "response": {"ResponseMetadata": {}, "stream": events}})
    assert errors(found) == {"args-schema-mismatch"}


CLAUDE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "tools": [{"name": "look", "input_schema": LOOK}]}
GO = {"role": "user", "content": "go"}


def invoked(asks: dict[str, Any], answers: Any, operation: str = "InvokeModel", **more: Any) -> dict[str, Any]:
    log: dict[str, Any] = {"schemaType": "ModelInvocationLog", "operation": operation, "modelId": "m"}
    halves = {"input": {"inputBodyJson": asks}, "output": {"outputBodyJson": answers}}
    return {**log, "timestamp": "2026-11-30T07:00:00Z", **halves, **more}


def test_invocations_of_other_apis_are_told_as_not_read(tmp_path: Path) -> None:
    found = audited(tmp_path, invoked({"inputText": "go"}, {"results": [{"outputText": "no"}]})).findings
    assert ["InvokeModel" in each for each in found.filter(rule="LOG003")["message"]] == [True]


def test_invocations_with_the_bodies_of_messages_are_read_as_those(tmp_path: Path) -> None:
    made = [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 3}}]
    reply = {"type": "message", "id": "msg_1", "role": "assistant", "content": made, "stop_reason": "tool_use"}
    gave = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "shut"}]}
    pieces: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "msg_2", "role": "assistant"}}]
    pieces.append(
        {"type": "content_block_start", "index": 0, "content_block": {**made[0], "id": "toolu_2", "input": {}}}
    )
    pieces.append(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"at":"x"}'}}
    )
    pieces += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    pieces.append({"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3}})
    messages = [GO, {"role": "assistant", "content": made}, gave]
    log = [invoked({**CLAUDE, "messages": [GO]}, reply)]
    log += [invoked({**CLAUDE, "messages": messages}, pieces, "InvokeModelWithResponseStream")]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("wire", "call_id", "text", "result").rows() == [
        ("anthropic-messages", "toolu_1", '{"at": 3}', 0),
        ("anthropic-messages", "toolu_2", '{"at":"x"}', None),
    ]
    assert found.frames["sessions"].height == 1
    assert errors(found) == {"args-schema-mismatch", "executed-despite-mismatch"}
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert finding["location"]["pointer"] == "/output/outputBodyJson/content/0/input"
    assert recorded(lines(*log))[1]["session_states"]["model"].to_list() == ["m"]


def test_invocations_with_the_bodies_of_converse_are_read_as_those(tmp_path: Path) -> None:
    found = audited(tmp_path, invoked({"schemaVersion": "messages-v1", **asked(USER)}, replied(use("c1", at=1))))
    assert errors(found) == {"args-schema-mismatch"}


def test_bodies_outside_of_the_log_are_told(tmp_path: Path) -> None:
    record = invoked({}, {}, "Converse") | {
        "input": {"inputBodyS3Path": "s3://b/i"},
        "output": {"outputBodyS3Path": "s3://b/o"},
    }
    told = audited(tmp_path, record).findings.filter(rule="LOG003")["message"].to_list()
    assert len(told) == 1
    assert "kept outside of the log" in told[0]


def test_an_invocation_that_failed_has_no_reply() -> None:
    log = [invoked({**CLAUDE, "messages": [GO]}, None, errorCode="ThrottlingException")]
    log += [invoked(asked(USER), None, "Converse", errorCode="ThrottlingException")]
    kinds = recorded(lines(*log))[1]["events"]["kind"].to_list()
    assert kinds == ["request", "item", "error"] * 2


@pytest.mark.parametrize(
    "url", ["/model/anthropic.x/invoke", "/v1/projects/p/publishers/anthropic/models/x:rawPredict"]
)
def test_exchanges_with_the_bodies_of_messages_are_read_as_those(tmp_path: Path, url: str) -> None:
    made = [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 3}}]
    reply = {"type": "message", "id": "msg_1", "role": "assistant", "content": made, "stop_reason": "tool_use"}
    request = {"method": "POST", "url": f"https://cloud.example{url}", "body": {**CLAUDE, "messages": [GO]}}
    found = audited(tmp_path, {"request": request, "response": {"status": 200, "body": reply}})
    assert errors(found) == {"args-schema-mismatch"}


def test_invocation_logs_hold_both_halves(tmp_path: Path) -> None:
    record: dict[str, Any] = {"schemaType": "ModelInvocationLog", "timestamp": "2026-11-30T07:00:00Z", "modelId": "m"}
    record |= {"input": {"inputBodyJson": asked(USER)}, "output": {"outputBodyJson": replied(use("c1", at=1))}}
    found = audited(tmp_path, record)
    pointer = found.findings.filter(found.findings["slug"] == "args-schema-mismatch")["location"][0]["pointer"]
    assert pointer == "/output/outputBodyJson/output/message/content/0/toolUse/input"
