"""The LOG family: what it must not fire on, and what it says where it does."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from analyzer import audit
from tests.rules.story import story_log
from tests.rules.told import found

WHOLE = ["tool f {}", "turn", "call c1 f {}", "result c1 ok x", "end", "idle"]


def slugs(log: bytes, folder: Path, *, name: str = "log.ndjson") -> list[str]:
    (folder / name).write_bytes(log)
    return audit([str(folder / name)]).findings["slug"].to_list()


def test_a_broken_record_is_told_with_its_line_and_byte() -> None:
    [hit] = found("record-unreadable", 'turn\nline {"type":"agent.session.idle",}\nend')
    assert hit["location"]["line"] == 4
    assert "byte" in hit["message"]


@pytest.mark.parametrize(("head", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n\r\n"), (b"\n\n", b"\n")])
def test_marks_blank_lines_and_line_ends_are_no_fault(head: bytes, end: bytes, tmp_path: Path) -> None:
    log, _ = story_log(WHOLE)
    assert not {"record-unreadable", "record-truncated"} & set(slugs(head + log.replace(b"\n", end), tmp_path))


def test_stream_comments_are_no_fault(tmp_path: Path) -> None:
    log, _ = story_log(WHOLE)
    frames = b"".join(b": still here\n\ndata: " + line + b"\n\n" for line in log.splitlines())
    assert not {"record-unreadable", "record-truncated"} & set(slugs(frames, tmp_path, name="log.sse"))


def test_a_cut_record_is_truncated_and_not_unreadable() -> None:
    story = 'turn\ntorn {"type":"agent.session.turn.completed","sess'
    assert len(found("record-truncated", story)) == 1
    assert found("record-unreadable", story) == []


def test_unknown_types_are_told_once_each_with_their_count() -> None:
    event = 'event {{"type":"agent.session.{}","event_id":"{}","session_id":"s1"}}'
    story = ["turn", event.format("fresh", "x1"), event.format("fresh", "x2"), event.format("newer", "x3"), "end"]
    first, second = found("event-unknown", "\n".join(story))
    assert "fresh" in first["message"]
    assert "2 in this session" in first["message"]
    assert "newer" in second["message"]


def test_a_message_that_was_begun_and_never_finished_is_missing_a_record() -> None:
    def event(which: str, status: str) -> str:
        item = {"type": "message", "id": "msg_9", "role": "assistant", "status": status, "content": [], "turn_id": "t1"}
        at = {"event_id": which, "session_id": "s1", "turn_id": "t1", "output_index": 0}
        return "event " + json.dumps({"type": f"agent.session.turn.item.{which}", **at, "item": item})

    added, done = event("added", "in_progress"), event("done", "completed")
    [hit] = found("record-missing", f"turn\n{added}\nend")
    assert hit["message"] == "Begun, and never shown as finished though the turn completed: msg_9."
    assert found("record-missing", f"turn\n{added}\n{done}\nend") == []
    assert found("record-missing", f"turn\n{added}\nend cancelled") == []


def test_unknown_items_are_told() -> None:
    item = '{"type":"teleport_call","id":"tp_1","turn_id":"t1","status":"completed"}'
    done = '{"type":"agent.session.turn.item.done","event_id":"x1","session_id":"s1","turn_id":"t1","item":'
    [hit] = found("event-unknown", f"turn\nevent {done}{item}}}\nend")
    assert "teleport_call" in hit["message"]


def test_padding_makes_no_other_event() -> None:
    event = (
        '{"type":"agent.session.turn.output_text.delta","event_id":"x1","session_id":"s1","turn_id":"t1","delta":"a"'
    )
    story = f'turn\nevent {event},"obfuscation":"abc"}}\nevent {event},"obfuscation":"defgh"}}\nend'
    assert found("event-id-reused", story) == []
    [hit] = found("event-redelivered", story)
    assert [each["role"] for each in hit["related"]] == ["first delivery"]


def test_redelivered_events_are_counted_once_per_session() -> None:
    [hit] = found("event-redelivered", "turn\nagain\nagain\nsay x\nagain\nend")
    assert hit["message"].startswith("3 events were")


@pytest.mark.parametrize(
    ("first", "again", "slugs"),
    [
        ("10:00:00.250Z", "10:00:00.250Z", ["event-redelivered"]),  # the collector's doing
        ("10:00:00.250Z", "10:00:00.251Z", ["result-duplicate"]),  # posted twice
        ("10:00:00Z", "10:00:00Z", ["result-duplicate"]),  # in one second, but nothing says that it is a copy
        (None, None, ["result-duplicate"]),
    ],
)
def test_records_without_ids_are_copies_by_a_fine_time(
    first: str | None, again: str | None, slugs: list[str], tmp_path: Path
) -> None:
    log = story_log(["turn", "item c1 get_order {}", "action c1 get_order {}", "end"])[0].splitlines()
    session = json.loads(log[0])["session"]["id"]
    post = {"type": "agent.session.input.tool_result", "call_id": "c1", "success": True, "output": "{}"}
    posts = [
        {"session_id": session, "event": post, **({} if when is None else {"recorded_at": f"2026-11-17T{when}"})}
        for when in (first, again)
    ]
    (tmp_path / "log.ndjson").write_bytes(
        b"\n".join([*log[:-1], *(json.dumps(each).encode() for each in posts), log[-1]])
    )
    told = audit([str(tmp_path / "log.ndjson")]).findings["slug"].to_list()
    assert [slug for slug in told if slug in {"event-redelivered", "result-duplicate"}] == slugs


def test_a_reused_id_names_both_types() -> None:
    completed = '{"type":"agent.session.turn.completed","event_id":"evt_2","session_id":"s1","turn_id":"t1"}'
    [hit] = found("event-id-reused", f"turn\nevent {completed}")
    assert "turn.created" in hit["message"]
    assert "turn.completed" in hit["message"]
    assert hit["location"]["pointer"] == "/event_id"


def test_times_may_go_back_within_the_skew() -> None:
    assert found("order-broken", "clock 10\nturn\nclock 6\nsay x\nend") == []
    [hit] = found("order-broken", "clock 10\nturn\nclock 3\nsay x\nclock 1\nend")
    assert hit["confidence"] == "certain"


def test_several_files_of_one_session_are_not_compared(tmp_path: Path) -> None:
    log, _ = story_log(WHOLE)
    lines = log.splitlines(keepends=True)
    late = [line for line in lines if b"function_call_output" in line or b"tool_result" in line]
    (tmp_path / "a.ndjson").write_bytes(b"".join(late))
    (tmp_path / "b.ndjson").write_bytes(b"".join(line for line in lines if line not in late))
    found = audit([str(tmp_path / "a.ndjson"), str(tmp_path / "b.ndjson")]).findings["slug"].to_list()
    assert "order-broken" not in found
    assert "result-late" not in found
    assert "record-missing" not in found


def test_pages_run_backwards_by_nature(tmp_path: Path) -> None:
    items = (
        '{"type":"message","id":"m1","turn_id":"t1","role":"assistant","status":"completed","content":[]}',
        '{"type":"function_call_output","id":"o1","turn_id":"t1","call_id":"c1","output":"x","error":null,"status":"completed"}',
        '{"type":"function_call","id":"f1","turn_id":"t1","call_id":"c1","name":"f","arguments":{},"status":"completed"}',
    )
    page = '{"object":"list","data":[' + ",".join(items) + '],"first_id":"m1","last_id":"f1","has_more":%s}'
    assert not {"order-broken", "result-orphan"} & set(slugs((page % "false").encode(), tmp_path))
    assert "record-missing" in slugs((page % "true").encode(), tmp_path)


def test_numbers_that_jump_are_a_gap_and_numbers_that_begin_anew_are_none(tmp_path: Path) -> None:
    event = '{"type":"agent.session.turn.output_text.delta","session_id":"s1","turn_id":"t1","sequence_number":%d}\n'
    begin, _ = story_log(["turn"])

    def told(*numbers: int) -> set[str]:
        log = begin + "".join(event % number for number in numbers).encode()
        (tmp_path / "log.ndjson").write_bytes(log)
        rows = audit([str(tmp_path / "log.ndjson")]).findings.to_dicts()
        return {row["message"] for row in rows if row["slug"] in ("record-missing", "order-broken")}

    assert told(4, 5, 6) == set()
    assert told(0, 1, 2, 0, 1) == set()
    assert told(4, 5, 9, 12) == {"5 numbers are missing, the first after 5: the next is 9."}
    far = 1 << 61
    assert told(*(1, far) * 6) == {f"{6 * (far - 2)} numbers are missing, the first after 1: the next is {far}."}
    assert told(4, 5, 3) == {"The number goes back from 5 to 3."}


def test_a_turn_that_did_not_complete_may_leave_items_open() -> None:
    assert found("record-missing", "tool f {}\nturn\nitem c1 f {}\nend cancelled") == []


def test_a_recording_may_begin_anywhere_and_says_so(tmp_path: Path) -> None:
    log, _ = story_log(WHOLE)
    rest = b"".join(log.splitlines(keepends=True)[3:])
    assert "record-missing" in slugs(rest, tmp_path)
    assert "record-missing" not in slugs(gzip.compress(log), tmp_path, name="log.ndjson.gz")


def test_a_missing_contract_is_told_once_per_tool() -> None:
    story = "server docs\nturn\nmcp m1 docs a {} ok x\nmcp m2 docs a {} ok x\nmcp m3 docs b {} ok x\nend"
    first, second = found("contract-unrecorded", story)
    assert (first["tool"], second["tool"]) == ("docs/a", "docs/b")
    assert "2 calls" in first["message"]


def test_a_function_that_is_not_in_the_table_is_no_missing_contract() -> None:
    assert found("contract-unrecorded", "tool f {}\nturn\ncall c1 g {}\nresult c1 ok x\nend") == []


@pytest.mark.parametrize("arguments", ['{"a":1,"a":2}', '{"a":9007199254740993}', '{"a":"\\ud800"}', '{"a":1e400}'])
def test_two_readings_of_one_payload_are_told(arguments: str) -> None:
    story = f"tool f {{}}\nturn\ncall c1 f {arguments}\nresult c1 ok x\nend"
    assert found("json-ambiguous", story) != []


@pytest.mark.parametrize(
    "arguments", ['{"a":1,"b":{"a":1}}', '{"a":9007199254740992}', '{"a":"\\ud83d\\ude00"}', '{"a":1e30}']
)
def test_one_reading_is_told_of_nothing(arguments: str) -> None:
    assert found("json-ambiguous", f"tool f {{}}\nturn\ncall c1 f {arguments}\nresult c1 ok x\nend") == []


def test_a_request_names_what_it_lacks() -> None:
    request = '{"agent":{"model":"m","tools":[{"type":"function","name":"f","parameters":{}}]}}'
    exchange = (
        '{"http":{"method":"POST","path":"/v1/agents/sessions/s1","headers":{},"body":%s},"response":{"status":200}}'
    )
    [hit] = found("request-invalid", f"turn\nline {exchange % request}\nend")
    assert "without description" in hit["message"]


def test_unknown_members_and_wrong_outputs_break_no_shape() -> None:
    post = (
        '{"type":"agent.session.input.tool_result","turn_id":"t1","call_id":"c1","success":true,"output":{"a":1},"x":1}'
    )
    assert found("request-invalid", f"tool f {{}}\nturn\ncall c1 f {{}}\nline {post}\nend") == []


def test_results_whose_calls_were_never_recorded_are_told_where_they_are_no_orphans(tmp_path: Path) -> None:
    answer = '{"role":"tool","tool_call_id":"call_%d","content":"ok"}'
    kept = f'{{"messages":[{answer % 1},{answer % 2},{{"role":"assistant","content":"done"}}]}}\n'
    (tmp_path / "log.jsonl").write_text(kept)
    rows = audit([str(tmp_path / "log.jsonl")]).findings.to_dicts()
    told = [(row["slug"], row["message"]) for row in rows if row["rule"] in ("LOG007", "CALL005")]
    said = "The session holds no call for its results call_1 and 1 more, nor is its beginning recorded."
    assert told == [("record-missing", said)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('"request_id":"r1","response":{"type":"mcp_tool_call","decision":"cancel"}', None),
        ('"request_id":"r1"', "decides nothing"),
        ('"response":{"type":"mcp_tool_call","decision":"deny"}', "names no request_id"),
        ('"request_id":"r1","response":{"type":"mcp_tool_call","decision":"yes"}', "is yes, which"),
    ],
)
def test_posted_decisions_have_their_members(body: str, words: str | None) -> None:
    post = f'{{"type":"agent.session.input.mcp_approval_request_result",{body}}}'
    told = found("request-invalid", f"tool f {{}}\nturn\nline {post}\nend")
    assert len(told) == (words is not None)
    assert all(words is not None and words in hit["message"] for hit in told)
