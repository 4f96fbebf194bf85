"""Agents SDK: spans in any order and body, saved runs, session stores, input lists; what a log cannot break."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.auditing import Audit, audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

NAME = "agents-sdk"
SPANS = (SAMPLES / f"{NAME}.spans.jsonl").read_bytes()
RUN = (SAMPLES / f"{NAME}.run-state.json").read_bytes()
LIST = (SAMPLES / f"{NAME}.input-list.json").read_bytes()
ITEMS: tuple[dict[str, Any], ...] = (
    {"role": "user", "content": "weather?"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "forecast", "arguments": '{"days":1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
)


def audited(tmp_path: Path, data: bytes, name: str = "log.jsonl", **options: Any) -> Audit:
    path = tmp_path / name
    path.write_bytes(data)
    found = audit([str(path)], **options)
    assert found.crashed == []
    return found


def store(path: Path, *, table: str = "agent_messages", items: tuple[Any, ...] = ITEMS, branches: bool = False) -> Path:
    quoted = '"' + table.replace('"', '""') + '"'
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY)")
        database.execute(
            f"CREATE TABLE {quoted} (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_data TEXT, "
            "created_at TIMESTAMP DEFAULT '2026-11-30 10:00:00')"
        )
        for session in ("chat-1", "chat-2"):
            for item in items:
                text = item if isinstance(item, str) else json.dumps(item)
                database.execute(f"INSERT INTO {quoted} (session_id, message_data) VALUES (?, ?)", (session, text))
        if branches:
            database.execute("CREATE TABLE message_structure (session_id TEXT, message_id INTEGER, branch_id TEXT)")
            database.execute(f"INSERT INTO message_structure SELECT session_id, id, 'main' FROM {quoted}")
            database.execute("UPDATE message_structure SET branch_id = 'b2' WHERE message_id > 4")
    database.close()
    return path


@pytest.mark.parametrize(("name", "data"), [("spans", SPANS), ("run-state", RUN), ("input-list", LIST)])
def test_the_frames_of_the_samples_are_these(name: str, data: bytes) -> None:
    recording, frames = recorded(data)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(f"{NAME}.{name}", frames)


def test_executions_are_judged_by_contract_files_alone(tmp_path: Path) -> None:
    contract = {"water_plot": {"arguments": {"type": "object", "properties": {"litres": {"type": "integer"}}}}}
    (tmp_path / "contracts.json").write_text(json.dumps(contract))
    found = audited(tmp_path, SPANS, contracts=[str(tmp_path / "contracts.json")])
    invalid = found.frames["verdicts"].filter(pl.col("verdict_is") == "invalid")
    assert invalid["tool"].to_list() == ["function::water_plot"]
    reasons = set(found.frames["verdicts"]["reason"].drop_nulls())
    assert reasons == {"schema_unavailable", "payload_truncated", "payload_redacted"}


def test_outcomes_are_those_of_the_spans(tmp_path: Path) -> None:
    found = audited(tmp_path, SPANS)
    calls = found.frames["calls"]
    assert dict(calls.select("name", "outcome").iter_rows()) == {
        "read_moisture": "ok",
        "water_plot": "error",
        "forecast": "ok",
        "garden_log": "ok",
        "secret_plan": "ok",
    }
    assert calls.filter(pl.col("kind") == "mcp")["server"].to_list() == ["weather"]
    assert found.frames["turns"]["status"].to_list() == ["completed", "failed"]


def test_children_may_come_before_their_parents(tmp_path: Path) -> None:
    found = audited(tmp_path, b"\n".join(reversed(SPANS.splitlines())) + b"\n")
    assert "order-broken" not in found.findings["slug"].to_list()
    assert found.frames["calls"].height == 5


def test_a_posted_body_is_opened(tmp_path: Path) -> None:
    body = json.loads(SPANS.splitlines()[1])
    posted = {"http": {"method": "POST", "path": "/v1/traces/ingest", "body": body}, "response": {"status": 204}}
    found = audited(tmp_path, lines(posted))
    assert found.frames["calls"]["name"].to_list() == ["read_moisture", "water_plot"]


def test_a_saved_run_holds_every_call_once(tmp_path: Path) -> None:
    found = audited(tmp_path, RUN, "run.json")
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("call_w1", "unknown"), ("call_w2", "none")]
    assert found.frames["sessions"].select("session", "agent_name").rows() == [("conv_garden_7", "Gardener")]
    approvals = found.frames["approvals"].select("request_id", "stage", "decision").rows()
    assert approvals == [("call_w2", "request", None), ("call_w1", "decision", "approve")]


def test_a_saved_run_holds_the_calls_of_replies_that_it_does_not_keep(tmp_path: Path) -> None:
    run = json.loads(RUN)
    call, output = dict(ITEMS[1], call_id="c0"), dict(ITEMS[2], call_id="c0")
    listed = [{"type": "tool_call_item", "raw_item": call}, {"type": "tool_call_output_item", "raw_item": output}]
    run["generated_items"] = [*listed, *run["generated_items"]]
    run["pending_session_write"] = {"items": [call, output, dict(ITEMS[1], call_id="c9")]}
    found = audited(tmp_path, json.dumps(run).encode(), "run.json")
    calls = found.frames["calls"].select("call_id", "outcome").rows()
    known = [("call_w1", "unknown"), ("call_w2", "none")]
    assert sorted(calls) == sorted([("c0", "unknown"), ("c9", "none"), *known])
    assert "result-orphan" not in set(found.findings["slug"])


def test_a_saved_run_is_judged_by_the_schemas_it_keeps(tmp_path: Path) -> None:
    found = audited(tmp_path, RUN, "run.json")
    (mismatch,) = found.findings.filter(pl.col("slug") == "args-schema-mismatch").to_dicts()
    assert mismatch["call_id"] == "call_w2"
    assert mismatch["contract"]["pointer"] == "/last_processed_response/functions/0/tool/paramsJsonSchema"


@pytest.mark.parametrize("table", ["agent_messages", 'odd "name"'])
def test_a_session_store_is_read(tmp_path: Path, table: str) -> None:
    path = store(tmp_path / "chat.db", table=table)
    before = path.read_bytes()
    found = audit([str(path)])
    assert found.problems == []
    assert found.frames["calls"].select("session", "call_id", "outcome").rows() == [
        ("chat-1", "c1", "unknown"),
        ("chat-2", "c1", "unknown"),
    ]
    assert found.frames["events"]["pointer"][0].endswith("/1/message_data")
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["chat.db"]


def test_branches_are_sessions_of_their_own(tmp_path: Path) -> None:
    found = audit([str(store(tmp_path / "chat.db", branches=True))])
    assert found.frames["sessions"]["session"].to_list() == ["chat-1", "chat-2", "chat-2#b2"]


def test_a_broken_store_gives_what_is_whole(tmp_path: Path) -> None:
    items = tuple({"role": "user", "content": f"{number} " + "word " * 200} for number in range(400))
    path = store(tmp_path / "chat.db", items=items)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = audit([str(path)])
    assert 100 < found.frames["events"].height < 600
    assert found.inputs[0]["unreadable"] == 1


def test_stored_items_that_are_none_are_named(tmp_path: Path) -> None:
    found = audit([str(store(tmp_path / "chat.db", items=(*ITEMS, "{cut", "[1]", '{"__enc__": 1, "payload": "x"}')))])
    assert found.frames["faults"]["fault"].to_list() == ["member_type", "member_type", "unknown_item"] * 2


def test_what_a_write_ahead_log_holds_is_said_to_be_missing(tmp_path: Path) -> None:
    path = store(tmp_path / "chat.db")
    (tmp_path / "chat.db-wal").write_bytes(b"x" * 32)
    assert any("write-ahead" in str(problem) for problem in audit([str(path)]).problems)


def test_chat_messages_with_calls_are_left_to_others() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]
    recording, _ = recorded(lines(*chat), input_format=NAME)
    assert NAME not in recording.source_frame()["format"][0].split(",")


def test_a_page_may_run_backwards(tmp_path: Path) -> None:
    page = {"object": "list", "data": list(reversed(ITEMS)), "has_more": True}
    found = audited(tmp_path, lines(page))
    assert found.frames["calls"]["outcome"].to_list() == ["unknown"]
    assert {"order-broken", "result-orphan"}.isdisjoint(found.findings["slug"])
    assert "more_pages" in found.frames["faults"]["fault"].to_list()


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SPANS)))


@given(st.data())
def test_no_mutation_of_a_saved_run_raises(data: st.DataObject) -> None:
    record = json.dumps(json.loads(RUN)).encode()
    recording, _ = recorded(data.draw(mutations(record)))
    assert not recording.problems


@given(st.integers(100, 20_000), st.integers(0, 255))
def test_no_change_of_a_store_raises(tmp_path_factory: pytest.TempPathFactory, place: int, value: int) -> None:
    path = store(tmp_path_factory.mktemp("store") / "chat.db")
    data = bytearray(path.read_bytes())
    data[place % len(data)] = value
    recording, _ = recorded(bytes(data), name="chat.db")
    assert not recording.problems


def test_the_recorded_logs_give_these_counts(shared: Path) -> None:
    """Nothing is written down of this folder; the runs were scripted, and these are their tool executions."""
    found = audit([str(shared / "data" / NAME)])
    by_session = found.frames["calls"].group_by("session").len().sort("session")
    assert found.frames["sessions"].height == 5  # the saved run is the fourth trace: its approval was open
    assert by_session["len"].sum() == 7
    assert found.frames["results"].height == 6
    assert {row["slug"] for row in found.findings.to_dicts() if row["severity"] == "error"} == {"args-invalid-json"}
