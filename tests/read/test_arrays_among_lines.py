"""Lines that hold an array of records where the others hold one."""

from __future__ import annotations

import json

from tests.read.adapters import lines, recorded


def test_an_array_of_records_on_a_line_among_objects_is_read_where_its_elements_stand() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "water", "arguments": "{}"}}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    replies = [{"id": f"r{n}", "object": "chat.completion", "choices": [choice]} for n in range(4)]
    data = lines(replies[0], json.dumps([replies[1], replies[2]]), replies[3], "[1, {}]", '[{"odd": 1}]')
    recording, frames = recorded(data)
    assert recording.sources[0]["records"] == 6
    places = frames["events"].select("line", "offset", "length").unique(maintain_order=True)
    assert [json.loads(data[offset : offset + size]) for _, offset, size in places.rows()][:4] == replies
    assert places["line"].to_list() == [1, 2, 2, 3, 4, 5]
    assert frames["call_sightings"].height == 4
