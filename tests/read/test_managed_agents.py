"""Managed Agents: calls by event id, echoes, confirmations, updates that hold from the next run; broken logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from analyzer import Audit, audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

SAMPLE = (SAMPLES / "managed-agents.jsonl").read_bytes()
NAME = "managed-agents"
SESSION = "sesn_1"


def audited(tmp_path: Path, *records: Any, **options: Any) -> Audit:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(*records))
    found = audit([str(path)], **options)
    assert found.crashed == []
    assert found.problems == []
    return found


def tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {"type": "custom", "name": name, "input_schema": schema}


NUMBER, STRING = {"type": "number"}, {"type": "string"}


def session(*tools: Any, **more: Any) -> dict[str, Any]:
    agent = {"id": "agent_1", "name": "Clerk", "model": {"id": "claude-x"}, "system": "Be kind.", "tools": list(tools)}
    return {"type": "session", "id": SESSION, "status": "idle", "agent": agent, **more}


def event(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": f"sevt_{number}", "type": kind, "processed_at": f"2026-09-01T10:00:{number:02d}Z", **more}


def call(number: int, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return event(number, "agent.custom_tool_use", name=name, input=arguments)


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def result(number: int | None, of: int, words: str = "seen", **more: Any) -> dict[str, Any]:
    given = {"custom_tool_use_id": f"sevt_{of}", "content": text(words), **more}
    kind = "user.custom_tool_result"
    return {"type": kind, **given} if number is None else event(number, kind, **given)


def send(*events: Any) -> list[Any]:
    return ["client.beta.sessions.events.send", [SESSION, {"events": list(events)}]]


def runs(number: int) -> dict[str, Any]:
    return event(number, "session.status_running")


def rests(number: int, *waits: int) -> dict[str, Any]:
    stop = (
        {"type": "requires_action", "event_ids": [f"sevt_{each}" for each in waits]} if waits else {"type": "end_turn"}
    )
    return event(number, "session.status_idle", stop_reason=stop)


def errors(found: Audit) -> set[str]:
    return set(found.findings.filter(pl.col("severity") == "error")["slug"])


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


def test_an_audit_of_the_sample_finds_what_is_in_it(tmp_path: Path) -> None:
    found = audited(tmp_path, *SAMPLE.splitlines())
    rows = found.findings.filter(pl.col("severity") == "error").select("slug", "call_id").rows()
    assert rows == [
        ("args-field-stringified", "sevt_0013"),
        ("call-unanswered", "sevt_0013"),
        ("args-schema-mismatch", "sevt_0019"),
    ]


def test_the_id_of_the_event_is_the_id_of_the_call(tmp_path: Path) -> None:
    found = audited(tmp_path, session(tool("look")), runs(1), call(2), rests(3, 2), send(result(None, 2)), result(4, 2))
    calls, results = found.frames["calls"], found.frames["results"]
    assert calls.select("session", "call_id", "kind", "outcome").row(0) == (SESSION, "sevt_2", "function", "ok")
    assert results.height == 1, "what was sent and what comes back are one result"
    assert errors(found) == set()


def test_a_stream_alone_has_its_results(tmp_path: Path) -> None:
    found = audited(tmp_path, session(tool("look")), runs(1), call(2), rests(3, 2), result(4, 2, is_error=True))
    assert found.frames["calls"]["outcome"].to_list() == ["error"]


def test_three_kinds_of_tools_are_answered_in_three_ways(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        session({"type": "agent_toolset_20260401"}, {"type": "mcp_toolset", "mcp_server_name": "wiki"}, tool("look")),
        event(1, "agent.tool_use", name="bash", input={"command": "ls"}),
        event(2, "agent.tool_result", tool_use_id="sevt_1", content=text("a")),
        event(3, "agent.mcp_tool_use", name="read", mcp_server_name="wiki", input={}),
        event(4, "agent.mcp_tool_result", mcp_tool_use_id="sevt_3", content=text("b")),
        call(5),
        result(6, 5, "c"),
        event(7, "agent.tool_use", name="bash", input={"command": "pwd"}),
        {"type": "user.tool_result", "tool_use_id": "sevt_7", "content": text("d")},
    )
    joined = found.frames["calls"].join(found.frames["results"].select("result", said="text"), on="result", how="left")
    assert joined.sort("call").select("tool", "said").rows() == [
        ("hosted::bash", "a"),
        ("mcp:wiki:read", "b"),
        ("function::look", "c"),
        ("hosted::bash", "d"),
    ]
    assert errors(found) == set()


def test_an_update_holds_from_the_next_run(tmp_path: Path) -> None:
    update = event(3, "session.updated", agent={"tools": [tool("look", at=NUMBER)]})
    found = audited(
        tmp_path,
        session(tool("look", at=STRING)),
        runs(1),
        call(2, at="door"),
        update,
        call(4, at="door"),
        rests(5, 2, 4),
        send(result(None, 2), result(None, 4)),
        runs(6),
        call(7, at="door"),
        rests(8, 7),
    )
    verdicts = found.frames["verdicts"].sort("call")
    assert verdicts["verdict_is"].to_list() == ["valid", "valid", "invalid"]
    assert verdicts["window"].to_list() == ["exact"] * 3


def test_an_update_without_tools_changes_none(tmp_path: Path) -> None:
    update = event(1, "session.updated", agent={"name": "Other"})
    found = audited(tmp_path, session(tool("look", at=STRING)), update, runs(2), call(3, at="door"))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid"]
    assert found.frames["sessions"].select("agent_name", "model", "instructions").row(0) == (
        "Other",
        "claude-x",
        "Be kind.",
    )


def test_what_was_denied_and_ran_is_found(tmp_path: Path) -> None:
    asked = event(
        1, "agent.mcp_tool_use", name="pay", mcp_server_name="bank", input={"sum": 5}, evaluated_permission="ask"
    )
    denied = {"type": "user.tool_confirmation", "tool_use_id": "sevt_1", "result": "deny"}
    back = event(3, "user.tool_confirmation", tool_use_id="sevt_1", result="deny")
    paid = event(4, "agent.mcp_tool_result", mcp_tool_use_id="sevt_1", content=text("paid"))
    found = audited(tmp_path, session(), asked, send(denied), back, paid)
    assert found.frames["approvals"].select("stage", "decision").rows() == [("request", None), ("decision", "deny")]
    assert "approval-mismatch" in errors(found)
    refused = event(4, "agent.mcp_tool_result", mcp_tool_use_id="sevt_1", content=text("rejected"), is_error=True)
    assert errors(audited(tmp_path, session(), asked, send(denied), back, refused)) == set()


def test_a_subagents_event_in_both_streams_is_one(tmp_path: Path) -> None:
    one = call(2)
    found = audited(tmp_path, session(tool("look")), one, {**one, "session_thread_id": "sthr_2"}, result(3, 2))
    assert found.frames["calls"].height == 1
    assert errors(found) == set()


def test_pages_run_either_way(tmp_path: Path) -> None:
    page = {"data": [result(3, 2), call(2), runs(1)], "next_page": None}
    found = audited(tmp_path, session(tool("look")), page)
    assert found.frames["events"]["type"].to_list() == [
        *("session", "session.status_running", "agent.custom_tool_use", "user.custom_tool_result")
    ]
    assert errors(found) == set()


def test_exchanges_say_what_was_refused(tmp_path: Path) -> None:
    http = {"method": "POST", "path": f"/v1/sessions/{SESSION}/events", "body": {"events": [result(None, 2)]}}
    stream = "".join(f"event: x\ndata: {json.dumps(each)}\n\n" for each in (runs(1), call(2), rests(3, 2)))
    listen = {"method": "GET", "path": f"/v1/sessions/{SESSION}/events/stream"}
    found = audited(
        tmp_path,
        {"http": listen, "response": {"status": 200, "body": stream}},
        {"http": http, "response": {"status": 400, "body": {"type": "error"}}},
    )
    assert found.frames["calls"].select("session", "outcome").row(0) == (SESSION, "none")
    assert found.frames["results"].is_empty()


def test_an_event_stream_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.sse"
    path.write_text("".join(f"event: x\ndata: {json.dumps(each)}\n\n" for each in (runs(1), call(2), result(3, 2))))
    found = audit([str(path)])
    assert found.frames["calls"]["outcome"].to_list() == ["ok"]


def test_another_vendors_sessions_are_another_wire() -> None:
    other = {"type": "agent.session.idle", "event_id": "e1", "session_id": "s", "session": {"id": "s", "agent": {}}}
    recording, _ = recorded(lines(other))
    assert recording.source_frame()["format"].to_list() == ["openai-agents-api"]


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_the_recorded_streams_give_the_counts_that_are_known(shared: Path) -> None:
    truth = json.loads((shared / "data" / "truth.json").read_text())["managed-agents"]
    found = audit([str(shared / "data" / "managed-agents")])
    calls, results, verdicts = (found.frames[name] for name in ("calls", "results", "verdicts"))
    judged = verdicts.filter(pl.col("verdict_is").is_in(["valid", "invalid"]))
    counted = {
        "sessions": found.frames["sessions"].height,
        "calls": calls.height,
        "results": results.height,
        "orphan_calls": calls["result"].null_count(),
        "orphan_results": results["call"].null_count(),
        "dup_call_ids": calls.height - calls["call_id"].n_unique(),
        "dup_result_ids": results.height - results["call_id"].n_unique(),
        "args_object": (calls["container"] == "object").sum(),
        "args_checked": judged.height,
        "no_schema_for_tool": verdicts.height - judged.height,
        "results_flagged_error": (~results["success"]).sum(),
    }
    assert counted == {name: truth[name] for name in counted}
