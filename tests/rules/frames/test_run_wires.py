"""RUN rules on wires that the Agents API does not show, and over several sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.replay.retries import retries_of
from analyzer.rules.run import (
    approval_mismatch,
    executed_despite_gate,
    executed_despite_mismatch,
    parallel_not_allowed,
    retry_in_new_session,
    side_effect_repeated,
    write_unapproved,
)
from analyzer.trace import Settings
from tests.rules.frames.build import Row, hits, trace
from tests.rules.frames.test_call_wires import CHAT, CODEX, answer, at, call


def gate(**more: Any) -> Row:
    failures = [{"path": "/order", "reason": "pattern"}]
    return {"event": at(3), "seq": 3, "check": "f", "execute": False, "failures": failures, "pointer": "", **more}


def test_executed_despite_gate_finds_the_call_by_its_id_or_by_its_tool() -> None:
    ran = {"calls": [call(1, CHAT, outcome="ok", result=0)], "results": [answer(0, 1, CHAT)]}
    for record in (gate(call_id="c1"), gate()):
        [hit] = hits(executed_despite_gate.check, trace(**ran, gates=[record]))
        assert hit["call"] == 1
        assert "/order: pattern" in hit["message"]
    for record in (gate(call_id="c9"), gate(check="g"), gate(execute=True), gate(seq=300)):
        assert hits(executed_despite_gate.check, trace(**ran, gates=[record])) == []


def test_executed_despite_gate_lets_a_refused_call_fail() -> None:
    failed = {"calls": [call(1, CHAT, outcome="error", result=0)], "results": [answer(0, 1, CHAT)]}
    assert hits(executed_despite_gate.check, trace(**failed, gates=[gate()])) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("failed to parse function arguments: EOF while parsing a string", []),
        ('{"error":"people must be a number"}', []),
        ("invalid type: string, expected u64 for people", []),
        ("booked", ["f may have run although its arguments fail the schema in force: they are not JSON."]),
        (
            "people: limit exceeded",
            ["f may have run although its arguments fail the schema in force: they are not JSON."],
        ),
    ],
)
def test_executed_despite_mismatch_believes_a_refusal_where_no_flag_says_more(text: str, told: list[str]) -> None:
    verdict = {"call": 1, "role": "arguments", "side": "advertised", "verdict_is": "invalid", "verdict": 0}
    made = trace(
        calls=[call(1, CHAT, outcome="unknown", result=0, text='{"people":"four"}')],
        results=[answer(0, 1, CHAT, text=text)],
        verdicts=[verdict],
    )
    assert [hit["message"] for hit in hits(executed_despite_mismatch.check, made)] == told


def sessions(*names: str) -> list[Row]:
    return [{"session": name, "first_event": at(1000 * n)} for n, name in enumerate(names)]


def test_retry_in_new_session_finds_the_twin_of_the_last_call() -> None:
    text = '{"order":"7","amount":5}'
    old = call(1, CHAT, session="a", action_seq=1, text=text)
    new = call(2, CHAT, session="b", text='{"amount":5, "order":"7"}', outcome="ok")

    def told(*calls: Row, order: tuple[str, str] = ("a", "b"), messages: tuple[Row, ...] = ()) -> list[Row]:
        made = trace(sessions=sessions(*order), calls=list(calls), messages=list(messages))
        retries = retries_of(made.calls, made.messages, made.sessions)
        return hits(retry_in_new_session.check, made.with_frames(retries=retries))

    [hit] = told(old, new)
    assert (hit["session"], hit["event"], hit["call_id"]) == ("b", new["event"], "c2")
    assert "session a" in hit["message"]
    for other in (
        [{**old, "outcome": "ok"}, new],
        [old, {**new, "text": '{"order":"8","amount":5}'}],
        [old, {**new, "session": "a"}],
        [{**old, "action_seq": None}, new],
    ):
        assert told(*other) == []
    assert told(old, new, order=("b", "a")) == []
    said = {"session": "a", "event": at(9), "seq": 9, "pointer": ""}
    assert told(old, new, messages=({**said, "role": "assistant"},)) == []
    assert len(told(old, new, messages=({**said, "role": "user"},))) == 1


def test_parallel_not_allowed_counts_client_calls_of_one_reply() -> None:
    def told(*calls: Row, parallel: bool | None = False) -> list[int]:
        states = [{"event": at(0), "seq": 0, "parallel": parallel}]
        return [
            hit["call"] for hit in hits(parallel_not_allowed.check, trace(calls=list(calls), session_states=states))
        ]

    first, second = call(1, CHAT, reply=1), call(2, CHAT, reply=1)
    assert told(first, second) == [2]
    assert told(first, second, parallel=True) == []
    assert told(first, second, parallel=None) == []
    assert told(first, {**second, "reply": 2}) == []
    assert told(first, {**second, "kind": "hosted", "owed_by": "server"}) == []


def test_write_unapproved_goes_by_the_policy_in_force() -> None:
    def told(*policies: tuple[int, str], **more: Any) -> int:
        rows = [
            {"event": at(seq), "seq": seq, "stage": "request", "policy": policy, **more} for seq, policy in policies
        ]
        made = trace(Settings(writes=frozenset("f")), calls=[call(5, CODEX, outcome="ok")], approvals=rows)
        return len(hits(write_unapproved.check, made))

    assert told((1, "never")) == 1
    assert told((1, "never"), (3, "always")) == 0
    assert told((1, "always"), (3, "never")) == 1
    assert told((9, "never")) == 0
    assert told((1, "never"), name="g") == 0
    assert told() == 0


def test_a_call_without_the_approval_that_its_server_always_needs() -> None:
    decision = {"event": at(0), "seq": 0, "stage": "decision", "request_id": "r0", "decision": "approve"}
    policy = {"event": at(0), "seq": 0, "stage": "policy", "server": "s", "name": "f", "policy": "always"}
    made = trace(
        calls=[call(1, CODEX, server="s", result=0)], results=[answer(0, 1, CODEX)], approvals=[decision, policy]
    )
    [hit] = hits(approval_mismatch.check, made)
    assert (hit["keyword"], hit["confidence"]) == ("missing", "likely")
    auto = trace(calls=[call(1, CODEX, server="s", result=0)], approvals=[decision, {**policy, "policy": "never"}])
    assert hits(approval_mismatch.check, auto) == []


def test_the_policy_of_a_server_stands_in_the_tool_table() -> None:
    def told(check: Any, wanted: Any, **more: Any) -> list[str]:
        entry = {"type": "mcp", "server_label": "s", "require_approval": wanted}
        made = trace(
            Settings(writes=frozenset("f")),
            sessions=[{"session": "s1", "from_start": True} | more],
            tables=[{"table": "t", "shape": "responses", "text": json.dumps([entry])}],
            showings=[{"session": "s1", "event": at(0), "seq": 0, "scope": "all", "table": "t", "pointer": "/tools"}],
            calls=[call(1, "openai-responses", server="s", kind="mcp", outcome="ok", status="completed")],
        )
        return [hit["keyword"] for hit in hits(check, made)]

    assert told(write_unapproved.check, "never") == ["policy"]
    assert told(write_unapproved.check, "always") == []
    assert told(write_unapproved.check, {"never": {"tool_names": ["f"]}}) == ["policy"]
    assert told(write_unapproved.check, {"never": {"tool_names": ["g"]}, "always": {}}) == []
    assert told(write_unapproved.check, {"never": 5}) == told(write_unapproved.check, None) == []
    assert told(approval_mismatch.check, "always") == ["missing"]
    assert told(approval_mismatch.check, "always", from_start=False) == []
    assert told(approval_mismatch.check, "never") == []
    assert told(approval_mismatch.check, {"always": {"tool_names": ["f"]}}) == ["missing"]


def test_the_same_words_resent_after_an_error_do_not_ask_again() -> None:
    calls = [
        call(1, CHAT, outcome="unknown", result=0, text='{"card":"c","cents":1}'),
        call(210, CHAT, outcome="unknown", result=1, text='{"cents":1,"card":"c"}'),
    ]
    results = [answer(0, 1, CHAT, seq=2), answer(1, 210, CHAT, seq=211)]
    error = [{"event": at(3), "seq": 3, "kind": "error"}]
    asked = [{"event": at(n), "seq": n, "role": "user", "text": "charge it"} for n in (0, 200)]
    made = trace(calls=calls, results=results, events=error, messages=asked)
    [hit] = hits(side_effect_repeated.check, made)
    assert (hit["call"], hit["confidence"]) == (210, "hint")
    again = [asked[0], {**asked[1], "text": "charge it once more"}]
    assert hits(side_effect_repeated.check, trace(calls=calls, results=results, events=error, messages=again)) == []
