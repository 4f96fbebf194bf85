"""Claude Code sessions: split messages, resumed sessions, subagents, compaction; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import Audit, audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

SAMPLE = (SAMPLES / "claude-code-jsonl.jsonl").read_bytes()
NAME = "claude-code-jsonl"


def audited(tmp_path: Path, *files: list[Any], **options: Any) -> Audit:
    for number, records in enumerate(files):
        (tmp_path / f"{number}.jsonl").write_bytes(lines(*records))
    found = audit([str(tmp_path / f"{number}.jsonl") for number in range(len(files))], **options)
    assert found.crashed == []
    assert found.problems == []
    return found


def row(number: int, kind: str, session: str = "s-1", **more: Any) -> dict[str, Any]:
    when = f"2026-09-01T10:00:{number:02d}.000Z"
    own = {"type": kind, "uuid": f"u{number}", "sessionId": session, "timestamp": when, "version": "2.1.0"}
    return own | more


def says(number: int, *blocks: Any, message: str | None = None, **more: Any) -> dict[str, Any]:
    spoken = {"id": message or f"m{number}", "role": "assistant", "model": "claude-x", "content": list(blocks)}
    return row(number, "assistant", message=spoken, **more)


def use(call_id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def gives(number: int, call_id: str, text: Any = "ok", beside: Any = None, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, **more.pop("block", {})}
    return row(number, "user", message={"role": "user", "content": [block]}, toolUseResult=beside, **more)


def asks(number: int, text: str = "go on", **more: Any) -> dict[str, Any]:
    return row(number, "user", message={"role": "user", "content": text}, **more)


def errors(found: Audit) -> set[str]:
    return set(found.findings.filter(pl.col("severity") == "error")["slug"])


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


def test_an_audit_of_the_sample_finds_nothing_wrong(tmp_path: Path) -> None:
    found = audited(tmp_path, SAMPLE.splitlines())
    assert errors(found) == set()
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"].select(pl.len(), pl.col("result").null_count()).row(0) == (7, 0)


def test_the_blocks_of_one_message_are_one_reply(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        [
            says(1, {"type": "text", "text": "I look."}, message="m1"),
            says(2, use("toolu_1"), message="m1"),
            says(3, use("toolu_2"), message="m1"),
            gives(4, "toolu_2"),
            gives(5, "toolu_1"),
            says(6, use("toolu_3"), message="m2"),
        ],
    )
    replies = found.frames["calls"]["reply"].to_list()
    assert replies[0] == replies[1] != replies[2]


def test_rows_written_again_are_the_same_rows(tmp_path: Path) -> None:
    rows = [asks(1), says(2, use("toolu_1")), gives(3, "toolu_1")]
    found = audited(tmp_path, [*rows, *rows, asks(4)])
    assert found.frames["calls"].height == 1
    assert found.frames["results"].height == 1
    assert errors(found) == set()


def test_a_resumed_session_goes_on_in_another_file(tmp_path: Path) -> None:
    rows = [asks(1), says(2, use("toolu_1"))]
    again = [{**each, "sessionId": "s-2"} for each in rows]
    found = audited(tmp_path, rows, [*again, gives(3, "toolu_1", session="s-2"), asks(4, session="s-2")])
    assert found.frames["sessions"]["session"].to_list() == ["s-1"]
    assert found.frames["calls"].select(pl.len(), pl.col("result").null_count()).row(0) == (1, 0)
    assert errors(found) == set()


def test_one_uuid_with_two_contents_is_evidence(tmp_path: Path) -> None:
    found = audited(tmp_path, [asks(1), asks(1, "another")])
    assert errors(found) == {"event-id-reused"}


def test_one_call_id_in_two_messages_is_two_calls(tmp_path: Path) -> None:
    found = audited(
        tmp_path, [says(1, use("toolu_1")), gives(2, "toolu_1"), says(3, use("toolu_1")), gives(4, "toolu_1")]
    )
    assert errors(found) == {"call-id-duplicate"}


def test_subagents_speak_in_turns_of_their_own(tmp_path: Path) -> None:
    side: dict[str, Any] = {"isSidechain": True, "agentId": "a7"}
    found = audited(
        tmp_path,
        [says(1, use("toolu_1", "Agent")), gives(4, "toolu_1"), asks(5)],
        [says(2, use("toolu_2", "Bash"), **side), gives(3, "toolu_2", **side)],
    )
    calls = found.frames["calls"].select("call_id", "turn", "subagent", "outcome")
    assert set(calls.iter_rows()) == {("toolu_1", None, None, "ok"), ("toolu_2", "agent-a7", "a7", "ok")}
    assert errors(found) == set()


def test_a_flattened_name_is_a_server_and_a_tool(tmp_path: Path) -> None:
    found = audited(tmp_path, [says(1, use("toolu_1", "mcp__wiki__read_page", page="a"))])
    assert found.frames["calls"].select("tool", "owed_by").row(0) == ("mcp:wiki:read_page", "client")


def test_what_the_tool_returned_stands_beside_what_the_model_saw(tmp_path: Path) -> None:
    found = audited(tmp_path, [says(1, use("toolu_1")), gives(2, "toolu_1", "a\nb", {"stdout": "a\nb", "stderr": ""})])
    assert found.frames["results"].select("text", "structured").row(0) == ("a\nb", '{"stdout": "a\\nb", "stderr": ""}')


def test_a_failure_that_the_model_was_not_told_of_is_a_contradiction(tmp_path: Path) -> None:
    found = audited(tmp_path, [says(1, use("toolu_1")), gives(2, "toolu_1", "done", "Error: disk full")])
    assert "result-contradictory" in errors(found)
    told = {"is_error": True}
    found = audited(
        tmp_path, [says(1, use("toolu_1")), gives(2, "toolu_1", "disk full", "Error: disk full", block=told)]
    )
    assert errors(found) == set()


def test_a_compaction_is_of_its_own_session_whatever_row_follows() -> None:
    boundary = row(2, "system", subtype="compact_boundary", content="Conversation compacted")
    _, frames = recorded(lines(asks(1), boundary, asks(3, session="s-2")))
    assert frames["summaries"]["session"].to_list() == ["s-1"]


def test_compaction_is_told_once_with_its_summary(tmp_path: Path) -> None:
    boundary = row(2, "system", subtype="compact_boundary", content="Conversation compacted")
    found = audited(tmp_path, [asks(1), boundary, asks(3, "What was said.", isCompactSummary=True), asks(4)])
    assert found.frames["summaries"].select("what", "text").rows() == [("compaction", "What was said.")]
    found = audited(tmp_path, [asks(1), boundary])
    assert found.frames["summaries"].select("what", "text").rows() == [("compaction", None)]


def test_stream_json_is_read(tmp_path: Path) -> None:
    begin = {
        "type": "system",
        "subtype": "init",
        "session_id": "s-9",
        "uuid": "u0",
        "tools": ["Read"],
        "model": "claude-x",
    }
    call: dict[str, Any] = {"type": "assistant", "session_id": "s-9", "uuid": "u1", "parent_tool_use_id": None}
    call["message"] = {"id": "m1", "role": "assistant", "content": [use("toolu_1", "Write")]}
    found = audited(
        tmp_path, [begin, call, {"type": "result", "subtype": "success", "session_id": "s-9", "uuid": "u2"}]
    )
    assert found.frames["sessions"].select("session", "model").row(0) == ("s-9", "claude-x")
    assert "tool-not-advertised" in errors(found)


def test_contract_files_judge_what_the_log_cannot(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    given = tmp_path / "tools.json"
    given.write_text(json.dumps([{"name": "Read", "input_schema": schema}]))
    records = [says(1, use("toolu_1", path=7)), gives(2, "toolu_1", "no such file", block={"is_error": True})]
    assert "args-schema-mismatch" in errors(audited(tmp_path, records, contracts=[str(given)]))


def test_the_capture_of_the_version_that_ran_judges(tmp_path: Path) -> None:
    def capture(version: str, *required: str) -> str:
        schema = {"type": "object", "properties": {name: {} for name in required}, "required": list(required)}
        given = tmp_path / f"tools_{version}.json"
        given.write_text(json.dumps([{"name": "Read", "input_schema": schema}]))
        return str(given)

    files = [capture("2.1.9", "path"), capture("2.1.30", "file_path"), capture("3.0.0", "uri")]
    records = [
        says(1, use("toolu_1", path="a"), version="2.1.9"),
        says(2, use("toolu_2", path="a"), version="2.1.10"),
        says(3, use("toolu_3", path="a"), version="2.1.31"),
        says(4, use("toolu_4", path="a"), version="1.0.0"),
    ]
    found = audited(tmp_path, records, contracts=files)
    assert found.frames["verdicts"].sort("call")["verdict_is"].to_list() == ["valid", "valid", "invalid", "valid"]


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_recorded_files_give_the_counts_that_were_counted_by_hand(shared: Path) -> None:
    """The truth file has no counts for this folder: these were counted from the files.

    Ten tool_use blocks stand on the rows; toolu_todowrite_002 is on rows of one uuid in two files and is one call. The
    one call without a result is tool_edge_002: the row that should hold it spells `content` otherwise.
    """
    folder = shared / "data" / "claude-code"
    found = audit([str(folder / "cct"), str(folder / "ccl")], contracts=[str(folder / "tools_2.1.144.json")])
    calls, results = found.frames["calls"], found.frames["results"]
    assert calls.filter(pl.col("result").is_null())["call_id"].to_list() == ["tool_edge_002"]
    assert (calls.height, results.height, results["call"].null_count()) == (9, 8, 0)
    assert (~results["success"]).sum() == 1
    assert found.frames["sessions"].height == 5
    judged = found.frames["verdicts"]["verdict_is"].value_counts().rows()
    assert sorted(judged) == [("unverifiable", 5), ("valid", 4)]


@pytest.mark.parametrize(
    "row",
    [
        {"type": "summary", "summary": "Bolts", "leafUuid": "u-9"},
        {"type": "file-history-snapshot", "messageId": "u-9", "snapshot": {"trackedFileBackups": {}}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-9", "content": "/init"},
        {"type": "system", "subtype": "local_command", "content": "", "uuid": "u-9", "sessionId": "s-9"},
    ],
    ids=lambda row: row["type"],
)
def test_a_file_of_one_row_without_a_message_is_known(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "s-9.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert [each["format"] for each in audit([str(path)]).inputs] == ["claude-code-jsonl"]


def test_a_row_that_is_only_named_like_one_is_not(tmp_path: Path) -> None:
    for row in (
        {"type": "summary", "text": "Bolts"},
        {"type": "system", "uuid": "u-9"},
        {"type": "mode", "sessionId": "s"},
    ):
        path = tmp_path / "other.jsonl"
        path.write_text(json.dumps(row) + "\n")
        assert [each["format"] for each in audit([str(path)]).inputs] == [""]
