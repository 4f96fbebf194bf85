"""CALL rules on wires that the Agents API does not show."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.frames import PART_BITS
from analyzer.rules.call import (
    call_id_duplicate,
    call_id_invalid,
    call_unanswered,
    compaction_split_pair,
    finish_reason_mismatch,
    item_id_duplicate,
    reasoning_orphan,
    result_late,
    result_name_mismatch,
    result_not_adjacent,
    rpc_envelope,
    server_tool_unanswered,
)
from analyzer.rules.log import contract_unrecorded
from tests.rules.frames.build import Row, hits, trace

CHAT, ANTHROPIC, RESPONSES = "openai-chat", "anthropic-messages", "openai-responses"
CODEX, MCP = "codex-rollout", "mcp-jsonrpc"


def at(record: int, part: int = 0) -> int:
    return record << PART_BITS | part


def call(number: int, wire: str, **more: Any) -> Row:
    row = {"call": number, "wire": wire, "kind": "function", "call_id": f"c{number}", "pair_id": f"c{number}"}
    place = {"event": at(number), "seq": number, "last_seq": number, "pointer": "/arguments", "owed_by": "client"}
    return {**row, **place, "name": "f", "tool": "function::f", "reply": number, "outcome": "none", **more}


def answer(number: int, of: int | None, wire: str, **more: Any) -> Row:
    row = {"result": number, "call": of, "wire": wire, "call_id": f"c{of}", "pair_id": f"c{of}", "rank": 0}
    place = {"event": at(100 + number), "seq": 100 + number, "pointer": "/content", "stage": "message"}
    return {**row, **place, "other_turn": False, **more}


@pytest.mark.parametrize(("wire", "expected"), [(CHAT, []), (ANTHROPIC, [1]), (CODEX, []), (MCP, [])])
def test_ids_that_begin_anew_with_each_reply_are_judged_by_the_wire(wire: str, expected: list[int]) -> None:
    twice = [call(0, wire, call_id="c0", result=0), call(1, wire, call_id="c0")]
    assert [hit["call"] for hit in hits(call_id_duplicate.check, trace(calls=twice))] == expected
    in_reply = [{**row, "reply": 0, "turn": "t"} for row in twice]
    same_reply = [1] if wire != MCP else []
    assert [hit["call"] for hit in hits(call_id_duplicate.check, trace(calls=in_reply))] == same_reply


def test_an_item_twice_in_one_request_is_told_once_and_a_resent_one_is_not() -> None:
    shown = [
        {
            "event": at(record),
            "pointer": f"/input/{index}/arguments",
            "stage": "history",
            "item_id": item,
            "wire": RESPONSES,
        }
        for record, index, item in [(2, 1, "fc_1"), (2, 2, "fc_1"), (4, 1, "fc_1"), (4, 2, "fc_1"), (6, 1, "fc_2")]
    ]
    [hit] = hits(item_id_duplicate.check, trace(call_sightings=[*shown, {**shown[-1], "event": at(8)}]))
    assert (hit["event"], hit["pointer"]) == (at(2), "/input/2/arguments")
    assert hit["related"][0]["pointer"] == "/input/1/arguments"


@pytest.mark.parametrize(
    ("wire", "call_id", "word"),
    [
        (RESPONSES, "x" * 65, "65 characters"),
        (ANTHROPIC, "a b", "refuses"),
        (CHAT, "", "empty"),
        (CODEX, None, "no call id"),
    ],
)
def test_call_ids_are_held_to_the_limits_of_the_wire(wire: str, call_id: str | None, word: str) -> None:
    [hit] = hits(call_id_invalid.check, trace(calls=[call(0, wire, call_id=call_id)]))
    assert word in hit["message"]


@pytest.mark.parametrize(
    ("wire", "call_id", "kind"),
    [(RESPONSES, "x" * 64, "function"), (MCP, "7", "mcp"), (CHAT, "x" * 65, "function"), ("gemini", None, "function")],
)
def test_call_ids_that_the_wire_takes(wire: str, call_id: str | None, kind: str) -> None:
    assert hits(call_id_invalid.check, trace(calls=[call(0, wire, call_id=call_id, kind=kind)])) == []


def said(seq: int, role: str, **more: Any) -> Row:
    return {"event": at(seq), "seq": seq, "role": role, **more}


def test_an_aborted_turn_keeps_the_hole_only_where_the_session_goes_on() -> None:
    turns = [{"turn": "t1", "since": 0, "until": 2, "status": "cancelled"}]
    calls = [call(1, CODEX, turn="t1")]
    [hit] = hits(call_unanswered.check, trace(calls=calls, turns=turns))
    assert hit["severity"] == "info"
    [hit] = hits(call_unanswered.check, trace(calls=calls, turns=turns, messages=[said(3, "user", turn="t2")]))
    assert (hit["severity"], hit["keyword"]) == (None, "cancelled")


def test_the_last_reply_of_a_log_waits_and_an_earlier_one_is_unanswered() -> None:
    calls = [call(1, CHAT), call(2, CHAT, reply=2)]
    asked = [{"event": at(0), "seq": 0, "role": "user", "text": "Go on."}]
    first, last = hits(call_unanswered.check, trace(calls=calls, messages=asked))
    assert (first["call"], first["severity"]) == (1, None)
    assert (last["call"], last["severity"]) == (2, "info")
    # Of replies alone nobody knows what became.
    first, last = hits(call_unanswered.check, trace(calls=calls))
    assert (first["severity"], first["confidence"], last["severity"]) == ("info", "hint", "info")


def test_a_cancelled_request_makes_its_answer_late() -> None:
    sightings = [{"call": 0, "event": at(50), "seq": 50, "status": "cancelled", "stage": "executor"}]
    made = trace(calls=[call(0, MCP)], results=[answer(0, 0, MCP, stage="executor")], call_sightings=sightings)
    [hit] = hits(result_late.check, made)
    assert hit["keyword"] == "cancelled"
    assert hit["related"][0]["event"] == at(50)


def history(wire: str, *messages: tuple[str, str]) -> dict[str, list[Row]]:
    """A request that holds these messages: (role, call id) in their order."""
    rows: dict[str, list[Row]] = {"call_sightings": [], "result_sightings": [], "messages": []}
    for index, (role, pair_id) in enumerate(messages):
        row = {"event": at(5), "seq": 5, "pointer": f"/messages/{index}/content"}
        shown = {**row, "stage": "history", "wire": wire, "pair_id": pair_id}
        if role == "call":
            rows["call_sightings"].append({**shown, "call": 0})
        elif role == "result":
            rows["result_sightings"].append(shown)
        else:
            rows["messages"].append({**row, "role": role})
    return rows


def test_result_not_adjacent_names_what_stands_between() -> None:
    made = trace(**history(CHAT, ("user", ""), ("call", "c1"), ("system", ""), ("result", "c1"), ("user", "")))
    [hit] = hits(result_not_adjacent.check, made)
    assert "message of the system" in hit["message"]
    assert (hit["event"], hit["pointer"]) == (at(5), "/messages/3/content")


@pytest.mark.parametrize(
    ("wire", "messages"),
    [
        (CHAT, [("call", "c1"), ("call", "c2"), ("result", "c2"), ("result", "c1"), ("system", "")]),
        (CHAT, [("result", "c1"), ("system", ""), ("call", "c1")]),
        (RESPONSES, [("call", "c1"), ("system", ""), ("result", "c1")]),
        (CHAT, [("call", "c1"), ("result", "c1"), ("user", ""), ("call", "c1"), ("result", "c1")]),
    ],
    ids=["parallel", "before", "responses", "id again"],
)
def test_result_not_adjacent_keeps_to_the_wires_own_order(wire: str, messages: list[tuple[str, str]]) -> None:
    assert hits(result_not_adjacent.check, trace(**history(wire, *messages))) == []


@pytest.mark.parametrize(
    ("name", "called", "count"),
    [("g", "f", 1), ("f", "f", 0), ("f", "crm.f", 0), ("mcp__crm__f", "f", 0), ("crm/f", "crm/g", 1), (None, "f", 0)],
)
def test_result_name_mismatch_ignores_prefixes(name: str | None, called: str, count: int) -> None:
    made = trace(calls=[call(0, "gemini", name=called)], results=[answer(0, 0, "gemini", name=name)])
    assert len(hits(result_name_mismatch.check, made)) == count


def compacted(calls: list[int], results: list[int], **more: Any) -> list[Row]:
    """Hits where two whole pairs were compacted to these halves."""
    shown = {"event": at(200), "seq": 200, "stage": "history", "wire": CODEX, **more}
    return hits(
        compaction_split_pair.check,
        trace(
            calls=[call(0, CODEX), call(1, CODEX)],
            results=[answer(0, 0, CODEX), answer(1, 1, CODEX)],
            summaries=[{"event": at(200), "seq": 200, "what": "compaction"}],
            call_sightings=[{**shown, "call": n, "pair_id": f"c{n}", "pointer": f"/history/{n}"} for n in calls],
            result_sightings=[
                {**shown, "result": n, "pair_id": f"c{n}", "pointer": f"/history/{9 + n}"} for n in results
            ],
        ),
    )


def test_compaction_split_pair_says_which_half_is_left() -> None:
    first, second = compacted([0], [1])
    assert (first["keyword"], first["pointer"]) == ("call", "/history/0")
    assert (second["keyword"], second["pointer"]) == ("result", "/history/10")


def test_compaction_split_pair_leaves_whole_pairs_and_open_calls_alone() -> None:
    assert compacted([0], [0]) == []
    assert compacted([], []) == []
    assert compacted([0], [], seq=50, event=at(50)) == []  # the answer came after the compaction


def test_reasoning_orphan_wants_what_the_reasoning_was_made_for() -> None:
    def told(*types: str, user: int | None = None) -> int:
        events = [
            {"event": at(3, n), "kind": "item", "type": kind, "pointer": f"/input/{n}", "seq": n}
            for n, kind in enumerate(types)
        ]
        messages = [] if user is None else [{"event": at(3, user), "role": "user", "seq": user}]
        return len(hits(reasoning_orphan.check, trace(events=events, messages=messages)))

    assert told("reasoning", "function_call", "function_call_output") == 0
    assert told("reasoning", "reasoning", "message") == 0
    assert told("reasoning", "function_call_output") == 1
    assert told("message", "reasoning") == 1
    assert told("reasoning", "message", user=1) == 1


def test_server_tool_unanswered_waits_for_a_paused_turn() -> None:
    hosted = call(1, ANTHROPIC, kind="hosted", owed_by="server")
    assert hits(server_tool_unanswered.check, trace(calls=[hosted])) == []
    later = trace(calls=[hosted], messages=[said(4, "user")])
    assert len(hits(server_tool_unanswered.check, later)) == 1
    answered = trace(calls=[{**hosted, "result": 0}], messages=[said(4, "user")])
    assert hits(server_tool_unanswered.check, answered) == []
    whole = trace(calls=[{**hosted, "status": "completed"}], messages=[said(4, "user")])
    assert hits(server_tool_unanswered.check, whole) == []


@pytest.mark.parametrize(
    ("status", "calls", "count"),
    [
        ("stop", 1, 1),
        ("tool_calls", 0, 1),
        ("tool_use", 1, 0),
        ("end_turn", 0, 0),
        ("length", 1, 0),
        ("completed", 1, 0),
    ],
)
def test_finish_reason_mismatch_compares_the_stop_with_the_calls(status: str, calls: int, count: int) -> None:
    shown = [{"event": at(1), "stage": "item", "call": n, "seq": 1} for n in range(calls)]
    made = trace(messages=[said(1, "assistant", status=status)], call_sightings=shown)
    assert len(hits(finish_reason_mismatch.check, made)) == count


def test_rpc_envelope_tells_an_id_in_flight_from_one_that_was_answered() -> None:
    twice = [call(0, MCP, call_id="7", result=0), call(50, MCP, call_id="7")]
    open_first = trace(calls=twice, results=[answer(0, 0, MCP)])
    assert [hit["call"] for hit in hits(rpc_envelope.check, open_first)] == [50]
    answered = trace(calls=twice, results=[answer(0, 0, MCP, seq=20)])
    assert hits(rpc_envelope.check, answered) == []
    assert [hit["call"] for hit in hits(call_id_duplicate.check, answered)] == [50]


def test_rpc_envelope_wants_one_of_result_and_error_and_the_right_version() -> None:
    both = trace(results=[answer(0, None, MCP, error="no", text="{}")])
    assert [hit["keyword"] for hit in hits(rpc_envelope.check, both)] == ["both"]
    assert hits(rpc_envelope.check, trace(results=[answer(0, None, MCP, error="no")])) == []
    faults = [{"event": at(1), "fault": "member_type", "pointer": "/jsonrpc", "detail": "1.0"}]
    assert [hit["keyword"] for hit in hits(rpc_envelope.check, trace(faults=faults))] == ["version"]


def test_a_call_whose_approval_is_open_owes_nothing_yet() -> None:
    asked = {"event": at(2), "seq": 2, "stage": "request", "request_id": "c1"}
    made = {"calls": [call(1, "agents-sdk"), call(9, "agents-sdk")], "approvals": [asked]}
    assert [hit["call"] for hit in hits(call_unanswered.check, trace(**made))] == [9]
    made["approvals"] = [asked, {**asked, "stage": "decision", "decision": "approve"}]
    assert [hit["call"] for hit in hits(call_unanswered.check, trace(**made))] == [1, 9]


def test_across_files_in_a_guessed_order_nothing_came_later() -> None:
    calls, sessions = [call(1, CHAT)], [{"order": "files"}]
    [hit] = hits(call_unanswered.check, trace(calls=calls, sessions=sessions, messages=[said(5, "user")]))
    assert hit["severity"] == "info"


def test_contract_unrecorded_leaves_unlisted_tools_of_listed_servers_to_another_rule() -> None:
    def told(*offers: str) -> int:
        row = {"call": 0, "role": "arguments", "verdict_is": "unverifiable", "reason": "schema_unavailable"}
        made = trace(
            calls=[call(9, MCP, call=0, kind="mcp", server="s", name="g", tool="mcp:s:g")],
            verdicts=[row],
            showings=[{"scope": f"server:{tool.split(':')[1]}", "seq": 0} for tool in offers],
            offers=[{"tool": tool, "role": "arguments", "since": 0, "state": "offered"} for tool in offers],
        )
        return len(hits(contract_unrecorded.check, made))

    assert told() == 1
    assert told("mcp:t:f") == 1
    assert told("mcp:s:f") == 0
    assert told("mcp:s:f", "mcp:s:g") == 1
