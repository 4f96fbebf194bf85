"""Gemini: calls without ids, three spellings of schemas, streams; what a log cannot break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import SHARED, audited, counted, errors, truth

NAME = "gemini"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
OBJECT = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "look", *, at: Any = "door", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"at": at}, **more}}


def gives(response: Any, name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def asked(*contents: Any, tools: Any = None) -> dict[str, Any]:
    declared = [{"functionDeclarations": [{"name": "look", "parameters": OBJECT}]}]
    return {"contents": list(contents), "tools": declared if tools is None else tools}


def replied(name: str, *parts: Any, stop: str | None = "STOP") -> dict[str, Any]:
    return {"responseId": name, "candidates": [{"content": model(*parts), "finishReason": stop, "index": 0}]}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_results_without_ids_go_to_the_calls_of_their_name_in_order(tmp_path: Path) -> None:
    start, reply = user({"text": "go"}), model(call(at="a"), call("find"), call(at="b"))
    back = user(gives({"said": "A"}), gives({"said": "F"}, "find"), gives({"said": "B"}))
    log = [asked(start), replied("r1", *reply["parts"]), asked(start, reply, back)]
    found = audited(tmp_path, *log)
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("name", "text", "text_of").rows() == [
        ("look", '{"at": "a"}', '{"said": "A"}'),
        ("find", '{"at": "door"}', '{"said": "F"}'),
        ("look", '{"at": "b"}', '{"said": "B"}'),
    ]
    assert found.frames["sessions"].height == 1


def test_ids_settle_what_order_would_get_wrong(tmp_path: Path) -> None:
    start, reply = user({"text": "go"}), model(call(at="a", id="1"), call(at="b", id="2"))
    back = user(gives({"said": "B"}, id="2"), gives({"said": "A"}, id="1"))
    found = audited(tmp_path, asked(start), replied("r1", *reply["parts"]), asked(start, reply, back))
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("text", "text_of").rows() == [
        ('{"at": "a"}', '{"said": "A"}'),
        ('{"at": "b"}', '{"said": "B"}'),
    ]


@pytest.mark.parametrize(
    "declared",
    [
        {"parameters": {"type": "OBJECT", "properties": {"at": {"type": "STRING"}}, "required": ["at"]}},
        {"parameters": {"type": 6, "properties": {"at": {"type": 1}}, "required": ["at"]}},
        {"parametersJsonSchema": OBJECT},
        {"parameters_json_schema": OBJECT},
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_each_spelling_of_a_schema_judges(tmp_path: Path, declared: dict[str, Any], listed: bool) -> None:
    tools: Any = {"functionDeclarations": [{"name": "look", **declared}]}
    log = [asked(user({"text": "go"}), tools=[tools] if listed else tools), replied("r1", call(at=3), call(at="x"))]
    found = audited(tmp_path, *log)
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid", "valid"]
    assert errors(found) == {"args-schema-mismatch"}


def test_an_error_member_says_that_the_tool_failed(tmp_path: Path) -> None:
    start = user({"text": "go"})
    log = [asked(start), replied("r1", call()), asked(start, model(call()), user(gives({"error": "no such door"})))]
    assert audited(tmp_path, *log).frames["calls"]["outcome"].to_list() == ["error"]


def test_the_names_of_the_protocol_buffers_are_read(tmp_path: Path) -> None:
    start = user({"text": "go"})
    made = model({"function_call": {"name": "open_door", "args": {"at": 3}}})
    gave = user({"function_response": {"name": "open_door", "response": {"ok": True}}})
    end = {"candidates": [{"content": made, "finish_reason": "STOP"}]}
    found = audited(tmp_path, asked(start), end, asked(start, made, gave))
    assert found.frames["calls"].select("name", "pointer").rows() == [
        ("open_door", "/candidates/0/content/parts/0/function_call/args")
    ]
    assert found.frames["results"].select("call", "pointer").rows() == [
        (0, "/contents/2/parts/0/function_response/response")
    ]


def test_pieces_of_a_stream_are_one_reply(tmp_path: Path) -> None:
    start = user({"text": "go"})
    log = [asked(start), replied("r1", call(at="a"), stop=None), replied("r1", call(at="b"))]
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["text"].to_list() == ['{"at": "a"}', '{"at": "b"}']
    assert found.frames["calls"]["reply"].n_unique() == 1


def test_the_recorded_exchanges_have_the_counts_that_are_known() -> None:
    known = truth("http-gemini")
    found = audit([str(SHARED / "http-gemini" / "exchanges.jsonl")])
    counts, calls = counted(found), found.frames["calls"]
    hosted = calls.filter(pl.col("kind") == "hosted")
    resent = calls.filter(pl.col("call_id") == "search_call_1")
    # Two runs of code on the provider's side and their results, and a call that only resent contents show.
    assert (hosted.height, hosted["result"].count(), resent.height) == (2, 2, 1)
    assert counts["calls"] == known["calls"] + 3
    # Of the results of code the count knows one, and none of those under the names of the protocol buffers.
    assert counts["results"] == known["results"] + 1 + 19
    # One file of the recorder's holds four conversations.
    assert counts["sessions"] == known["sessions"] + 3
    # By ids most calls and many results are alone; by order and name every result has its call.
    assert counts["orphan_results"] == 0
    assert calls["call_id"].null_count() == known["calls_without_id"] + 2
    assert counts["args_schema_fail"] == known["args_schema_fail"]
    # The three without a schema name tools that no request offers. The call in the resent contents is checked too.
    assert counts["args_checked"] == known["args_checked"] + 1
    assert errors(found) == {"args-schema-mismatch", "tool-not-advertised"}
