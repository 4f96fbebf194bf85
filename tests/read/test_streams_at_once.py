"""Streams that were recorded at once into one log, without an envelope that says whose an event is."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer import Audit, audit
from tests.read.adapters import lines, recorded

Events = list[dict[str, Any]]
ARGUMENTS = {1: '{"bed":"north","litres":4}', 2: '{"bed":"south","litres":9}', 3: '{"bed":"east","litres":2}'}


def response(number: int, *, items: int = 1, numbered: bool = True) -> Events:
    """A response that calls a tool, or several, as its stream shows it."""
    name = {"id": f"resp_{number}", "object": "response", "model": "m", "created_at": 1, "output": []}
    events: Events = [{"type": "response.created", "response": {**name, "status": "in_progress"}}]
    events.append({"type": "response.in_progress", "response": {**name, "status": "in_progress"}})
    output = []
    for index in range(items):
        call_id, whole = f"call_{number}{index}", ARGUMENTS[number]
        item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "water"}
        ours = {"item_id": item["id"], "output_index": index}
        begun, done = {**item, "arguments": "", "status": "in_progress"}, {**item, "arguments": whole}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events += [
            {"type": "response.function_call_arguments.delta", **ours, "delta": piece}
            for piece in (whole[:7], whole[7:])
        ]
        events.append({"type": "response.function_call_arguments.done", **ours, "arguments": whole})
        output.append({**done, "status": "completed"})
        events.append({"type": "response.output_item.done", "output_index": index, "item": output[-1]})
    events.append({"type": "response.completed", "response": {**name, "status": "completed", "output": output}})
    return [each | ({"sequence_number": number} if numbered else {}) for number, each in enumerate(events)]


def message(number: int) -> Events:
    """A reply of the Messages API with a call."""
    begun = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": "water", "input": {}}
    pieces = (ARGUMENTS[number][:7], ARGUMENTS[number][7:])
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def woven(*streams: Events) -> Events:
    return [each for each in chain.from_iterable(zip_longest(*streams)) if each is not None]


def audited(tmp_path: Path, events: Events) -> Audit:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(*events))
    found = audit([str(path)])
    assert found.crashed == []
    return found


def calls(events: Events) -> list[tuple[str | None, str, str | None]]:
    _, frames = recorded(lines(*events))
    shown = frames["call_sightings"].filter(pl.col("stage") != "stream")
    return sorted(set(shown.select("session", "call_id", "text").rows()))


def expected(*numbers: int, items: int = 1) -> list[tuple[str | None, str, str | None]]:
    return [(f"resp_{n}", f"call_{n}{index}", ARGUMENTS[n]) for n in numbers for index in range(items)]


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans(), st.integers(1, 2))
def test_each_call_is_of_its_own_response_however_they_are_woven(random: Any, numbered: bool, items: int) -> None:
    left = [response(number, items=items, numbered=numbered) for number in (1, 2, 3)]
    events: Events = []
    while any(left):
        events.append(random.choice([stream for stream in left if stream]).pop(0))
    assert calls(events) == expected(1, 2, 3, items=items)
    _, frames = recorded(lines(*events))
    assert frames["faults"].is_empty()
    assert frames["call_sightings"].filter(stage="stream").is_empty()


def test_responses_at_once_are_not_mixed(tmp_path: Path) -> None:
    found = audited(tmp_path, woven(response(1), response(2)))
    assert set(found.findings.filter(pl.col("severity") != "info")["rule"]) == {"LOG008"}


def test_an_item_that_no_response_lists_is_told(tmp_path: Path) -> None:
    found = audited(tmp_path, woven(response(1)[:-1], response(2)[:-1]))
    told = found.findings.filter(rule="LOG003")["message"].to_list()
    assert told == ["The reader does not know of which of several streams at once an item is; kept, 2 in this session."]


def test_a_stream_that_broke_off_takes_nothing_of_the_next(tmp_path: Path) -> None:
    assert calls([*response(1)[:3], *response(2)]) == expected(2)
    found = audited(tmp_path, [*response(1)[:3], *response(2)])
    assert found.frames["calls"].select("call_id", "status").rows() == [
        ("call_10", "in_progress"),
        ("call_20", "completed"),
    ]


@pytest.mark.parametrize(
    "events",
    [
        woven(message(1), message(2)),
        woven(message(1), message(2), message(3)),
        [*message(1)[:3], *message(2), *message(1)[3:]],
        [*message(1)[:1], *message(2)[:3], *message(1)[1:], *message(2)[3:]],
    ],
)
def test_replies_that_cannot_be_told_apart_are_told_and_never_mixed(tmp_path: Path, events: Events) -> None:
    found = audited(tmp_path, events)
    assert set(found.findings.filter(severity="error")["rule"]) == set()
    assert found.findings.filter(rule="LOG003").height
    whole = set(ARGUMENTS.values())
    for call_id, text, status in found.frames["calls"].select("call_id", "text", "status").rows():
        assert status == "in_progress" or (text in whole and text == ARGUMENTS[int(call_id[-1])])


def _request(number: int, sent: int = 3) -> dict[str, Any]:
    """The request that resends a call of a response, and its result, or fewer items."""
    call = {"type": "function_call", "call_id": f"call_{number}0", "name": "water", "arguments": ARGUMENTS[number]}
    result = {"type": "function_call_output", "call_id": f"call_{number}0", "output": "done"}
    listing = [{"role": "user", "content": f"Water {number}."}, call, result]
    return {"model": "m", "input": listing[:sent], "tools": []}


def test_the_rest_of_a_call_that_broke_off_is_in_what_is_resent(tmp_path: Path) -> None:
    found = audited(tmp_path, [_request(1, sent=1), *response(1)[:4], _request(1)])
    assert found.findings.filter(severity="error", rule="ARG003").is_empty()
    assert found.frames["calls"].select("call_id", "text").rows() == [("call_10", ARGUMENTS[1])]


def chunks(number: int, name: str | None, index: int | None) -> Events:
    """A chat completion with a call, as its stream shows it."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {**({} if name is None else {"id": name}), "object": "chat.completion.chunk", "choices": choices}

    place = {} if index is None else {"index": index}
    begun = {**place, "id": f"toolu_{number}", "type": "function", "function": {"name": "water", "arguments": ""}}
    whole = ARGUMENTS[number]
    pieces = ({**place, "function": {"arguments": piece}} for piece in (whole[:7], whole[7:16], whole[16:]))
    calls = [chunk({"tool_calls": [each]}) for each in (begun, *pieces)]
    return [chunk({"role": "assistant", "content": None}), *calls, chunk({}, "tool_calls")]


def converse(number: int) -> Events:
    """A reply of Bedrock with a call, as its stream shows it."""
    use = {"toolUseId": f"toolu_{number}", "name": "water"}
    pieces = (ARGUMENTS[number][:7], ARGUMENTS[number][7:])
    return [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": use}}},
        *({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": each}}}} for each in pieces),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"totalTokens": 9}}},
    ]


def generated(number: int) -> Events:
    """A reply of Gemini with a call, as its stream shows it."""

    def piece(part: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        content = {"role": "model", "parts": [part]}
        candidate = {"content": content, "index": 0, **({} if finish is None else {"finishReason": finish})}
        return {"candidates": [candidate], "responseId": f"r{number}", "modelVersion": "garden-1"}

    call = {"id": f"toolu_{number}", "name": "water", "args": json.loads(ARGUMENTS[number])}
    words = [piece({"text": word}) for word in (f"I water {number} ", "now, ", "and then ")]
    return [*words, piece({"functionCall": call}), piece({"text": "rest."}, "STOP")]


@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_pieces_of_responses_with_ids_are_put_together(random: Any) -> None:
    left = [generated(number) for number in (1, 2, 3)]
    events: Events = []
    while any(left):
        events.append(random.choice([stream for stream in left if stream]).pop(0))
    _, frames = recorded(lines(*events))
    said = frames["messages"].drop_nulls("text")["text"].to_list()
    assert sorted(said) == [f"I water {number} now, and then rest." for number in (1, 2, 3)]
    assert frames["events"]["event"].is_unique().all()


def page(number: int) -> Events:
    """A message with a call and its result, as a page of the AI SDK is sent it."""
    call, whole = f"toolu_{number}", ARGUMENTS[number]
    return [
        {"type": "start", "messageId": f"msg_{number}"},
        {"type": "tool-input-start", "toolCallId": call, "toolName": "water"},
        {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": whole[:7]},
        {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": whole[7:]},
        {"type": "tool-input-available", "toolCallId": call, "toolName": "water", "input": json.loads(whole)},
        {"type": "tool-output-available", "toolCallId": call, "output": "done"},
        {"type": "finish"},
    ]


@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_calls_of_messages_at_once_have_their_results(random: Any) -> None:
    left = [page(number) for number in (1, 2, 3)]
    events: Events = []
    while any(left):
        events.append(random.choice([stream for stream in left if stream]).pop(0))
    _, frames = recorded(lines(*events))
    shown = frames["call_sightings"].filter(stage="item").select("session", "call_id", "text").rows()
    assert sorted((call_id, json.loads(text or "")) for _, call_id, text in shown) == [
        (f"toolu_{number}", json.loads(whole)) for number, whole in ARGUMENTS.items()
    ]
    answered = frames["result_sightings"].select("session", "call_id").rows()
    assert sorted(answered) == sorted((session, call_id) for session, call_id, _ in shown)
    apart = all(session == f"msg_{(call_id or '')[-1]}" for session, call_id, _ in shown)
    assert apart or frames["faults"].height


NAMELESS: dict[str, Callable[[int], Events]] = {
    "chat of one id": lambda number: chunks(number, "chatcmpl-1", 0),
    "chat without ids": lambda number: chunks(number, None, 0),
    "chat without ids and indexes": lambda number: chunks(number, None, None),
    "bedrock": converse,
}


@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
@pytest.mark.parametrize("wire", NAMELESS)
def test_pieces_that_name_no_stream_are_never_mixed(random: Any, wire: str) -> None:
    left = [NAMELESS[wire](number) for number in (1, 2, 3)]
    events: Events = []
    while any(left):
        events.append(random.choice([stream for stream in left if stream]).pop(0))
    _, frames = recorded(lines(*events))
    shown = frames["call_sightings"].select("call_id", "text", "status").rows()
    assert {call_id for call_id, *_ in shown} == {"toolu_1", "toolu_2", "toolu_3"}
    cut = [status == "in_progress" for *_, status in shown]
    assert all(
        text == ARGUMENTS[int(call_id[-1])] for (call_id, text, _), lost in zip(shown, cut, strict=True) if not lost
    )
    assert not any(cut) or frames["faults"]["fault"].to_list() != []


@pytest.mark.parametrize("wire", NAMELESS)
def test_streams_one_after_the_other_are_whole(wire: str, tmp_path: Path) -> None:
    found = audited(tmp_path, [*NAMELESS[wire](1), *NAMELESS[wire](2), *NAMELESS[wire](3)])
    assert found.findings.filter(rule="LOG003").is_empty()
    assert found.frames["calls"]["text"].to_list() == list(ARGUMENTS.values())


def test_a_reply_that_broke_off_before_the_next_is_not_mixed(tmp_path: Path) -> None:
    found = audited(tmp_path, [*message(1)[:3], *message(2), *message(3)])
    assert found.findings.filter(rule="LOG003").is_empty()
    assert found.frames["calls"].select("call_id", "status").rows() == [
        ("toolu_1", "in_progress"),
        ("toolu_2", None),
        ("toolu_3", None),
    ]
