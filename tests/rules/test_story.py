"""The stories are told on the real wire: what they write passes the published types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.beta import AgentSessionEvent, AgentSessionInputParam
from pydantic import TypeAdapter

from tests.rules.story import story_log, tell

WHOLE = """
server files read_tree
tool f {"type":"object"} async
hosted automations
subagents 2
instructions Be brief.
output f {"type":"object"}
user go on
turn
item c1 f {"a":1}
action c1 f {"a":1}
result c1 ok {"x":1}
call c2 f text {"a":1}
result c2 failed no
call c3 f
post c3 ok raw [{"type":"input_text","text":"x"}]
echo c3 ok raw [{"type":"input_text","text":"x"}]
done c3
mcp m1 files read_tree {"p":"/ x"} ok done it
approval r1 files read_tree {"p":"/"}
decide r1 approve
turn subagent scout
end
say All done.
end
idle
"""


def records(log: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.splitlines()]


def test_what_a_story_writes_is_of_the_published_types() -> None:
    log, contracts = story_log(WHOLE.splitlines())
    event: TypeAdapter[Any] = TypeAdapter(AgentSessionEvent)
    posted: TypeAdapter[Any] = TypeAdapter(AgentSessionInputParam)
    for record in records(log):
        (posted if record["type"].startswith("agent.session.input.") else event).validate_python(record)
    assert contracts == {"f": {"output": {"type": "object"}}}


def test_json_goes_in_letter_by_letter() -> None:
    log, _ = story_log(["turn", 'item c1 f {"n":1.0, "n":1e400}', 'post c1 ok {"a": 1}', "post c1 ok raw  7"])
    assert b'"arguments":{"n":1.0, "n":1e400},' in log
    assert records(log)[-2]["output"] == '{"a": 1}'
    assert records(log)[-1]["output"] == 7


def test_a_result_goes_to_the_turn_of_its_call_or_to_the_one_it_names() -> None:
    log, _ = story_log(["turn", "call c1 f {}", "end", "turn", "post c1 ok", "post c1@t9 ok"])
    assert [record["turn_id"] for record in records(log)[-2:]] == ["t1", "t9"]


def test_sessions_are_told_in_turn_and_lines_are_repeated_or_cut() -> None:
    log, _ = story_log(["session a", "turn", "session b", "turn", "session a", "idle", "again", "torn {"])
    lines = log.splitlines()
    assert [json.loads(line)["session"]["id"] for line in lines if b'"idle"' in line] == ["a", "b", "a", "a"]
    assert lines[-3] == lines[-2]
    assert lines[-1] == b"{"


def test_hints_and_times_are_told() -> None:
    story = tell(["writes a b", "reads c", "clock 2.5", "snapshot"])
    assert story.hints == {"writes": frozenset("ab"), "reads": frozenset("c")}
    assert records(story.log)[-1]["recorded_at"] == "2026-11-17T09:00:02.500000Z"


def test_a_line_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no such line"):
        story_log(["once upon a time"])
