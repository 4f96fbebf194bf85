"""Bedrock Converse: results that are JSON, statuses, streams, invocation logs; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
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


def test_invocations_of_other_apis_are_told_as_not_read(tmp_path: Path) -> None:
    record: dict[str, Any] = {"schemaType": "ModelInvocationLog", "operation": "InvokeModel", "modelId": "m"}
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": [{"role": "user", "content": "?"}]}
    record |= {"input": {"inputBodyJson": body}, "output": {"outputBodyJson": {"role": "assistant", "content": []}}}
    found = audited(tmp_path, record).findings
    assert ["InvokeModel" in each for each in found.filter(rule="LOG003")["message"]] == [True]


def test_invocation_logs_hold_both_halves(tmp_path: Path) -> None:
    record: dict[str, Any] = {"schemaType": "ModelInvocationLog", "timestamp": "2026-11-30T07:00:00Z", "modelId": "m"}
    record |= {"input": {"inputBodyJson": asked(USER)}, "output": {"outputBodyJson": replied(use("c1", at=1))}}
    found = audited(tmp_path, record)
    pointer = found.findings.filter(found.findings["slug"] == "args-schema-mismatch")["location"][0]["pointer"]
    assert pointer == "/output/outputBodyJson/output/message/content/0/toolUse/input"
