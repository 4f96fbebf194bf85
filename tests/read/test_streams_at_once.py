"""Streams that were recorded at once into one log, without an envelope that says whose an event is."""

from __future__ import annotations

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


def test_a_reply_that_broke_off_before_the_next_is_not_mixed(tmp_path: Path) -> None:
    found = audited(tmp_path, [*message(1)[:3], *message(2), *message(3)])
    assert found.findings.filter(rule="LOG003").is_empty()
    assert found.frames["calls"].select("call_id", "status").rows() == [
        ("toolu_1", "in_progress"),
        ("toolu_2", None),
        ("toolu_3", None),
    ]
