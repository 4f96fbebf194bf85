from __future__ import annotations

from typing import Any

import pytest

from analyzer.rules.final import final_format_misplaced, final_not_json, final_schema_mismatch, ledger_lost
from analyzer.rules.final.answers import answers
from analyzer.trace import Settings
from tests.rules.frames.build import Row, hits, trace


def message(seq: int, text: str, **more: Any) -> Row:
    given = {"event": seq, "seq": seq, "turn": "t1", "role": "assistant", "pointer": "/item/content", "text": text}
    return {**given, **more}


def turn(name: str = "t1", **more: Any) -> Row:
    return {"turn": name, "status": "completed", **more}


def texts(messages: list[Row], turns: list[Row] | None = None) -> list[str]:
    made = trace(messages=messages, turns=[turn()] if turns is None else turns, sessions=[{"session": "s1"}])
    return [row["text"] for row in answers(made).to_dicts()]


def test_the_final_answer_is_the_last_one_in_its_phase() -> None:
    phased = [message(1, "a", phase="final_answer"), message(2, "b", phase="commentary")]
    assert texts(phased) == ["a"]
    assert texts([message(1, "a"), message(2, "b")]) == ["b"]
    assert texts([message(1, "a", role="user")]) == []


def test_turns_that_failed_and_subagents_owe_no_answer() -> None:
    assert texts([message(1, "a")], [turn(status="failed")]) == []
    assert texts([message(1, "a")], [turn(subagent="child")]) == []
    assert texts([message(1, "a", turn=None)], []) == ["a"]


def judged(verdict: str, payload: str, text: str) -> dict[str, list[Row]]:
    return {
        "messages": [message(1, text)],
        "turns": [turn()],
        "sessions": [{"session": "s1"}],
        "verdicts": [{"verdict": 7, "role": "final", "verdict_is": verdict, "payload": payload}],
    }


def test_final_schema_mismatch_stands_at_the_message() -> None:
    failure = {"verdict": 7, "position": 0, "instance_pointer": "/refund", "keyword": "type", "expected": '"boolean"'}
    made = trace(**judged("invalid", "value", "{}"), violations=[{**failure, "actual": '"yes"'}])
    (hit,) = hits(final_schema_mismatch.check, made)
    assert '/refund is "yes" where the schema wants boolean' in hit["message"]
    assert (hit["event"], hit["verdict"]) == (1, 7)


def test_final_schema_mismatch_leaves_valid_answers_and_prose_alone() -> None:
    assert hits(final_schema_mismatch.check, trace(**judged("valid", "value", "{}"))) == []
    assert hits(final_schema_mismatch.check, trace(**judged("invalid", "not_json", "words"))) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("All done.", "All done."),
        ('Here it is: {"refund": true}', "words around it"),
        ('```json\n{"refund": true}\n```', "code fence"),
    ],
)
def test_final_not_json_says_how(text: str, words: str) -> None:
    (hit,) = hits(final_not_json.check, trace(**judged("invalid", "not_json", text)))
    assert words in hit["message"]


def test_final_not_json_needs_a_promise_that_the_wire_keeps() -> None:
    asked = {"event": 0, "seq": 0, "text_format": '{"format":{"type":"json_schema"}}'}
    frames = {"messages": [message(1, "words")], "turns": [turn()], "sessions": [{"session": "s1"}]}
    assert len(hits(final_not_json.check, trace(**frames, session_states=[asked]))) == 1
    assert hits(final_not_json.check, trace(**frames)) == []
    agents = [{"event": 0, "type": "agent.session.created"}]
    assert hits(final_not_json.check, trace(**frames, session_states=[asked], events=agents)) == []


def test_final_format_misplaced_on_the_agents_api_only() -> None:
    state = {"event": 0, "seq": 0, "text_format": '{"format":{"type":"json_object"}}'}
    for native, count in (("agent.session.created", 1), ("response.created", 0)):
        made = trace(session_states=[state], events=[{"event": 0, "type": native}])
        assert len(hits(final_format_misplaced.check, made)) == count


LEDGER = Settings(ledger=(("approval", "approval"),))


def ledger(summary: str | None, *later: str, settings: Settings = LEDGER, **more: list[Row]) -> list[Row]:
    texts = ['{"approval":"ap_17"}', *later]
    results = [
        {"result": n, "event": n * 10, "seq": n * 10, "pointer": "/output", "text": text}
        for n, text in enumerate(texts)
    ]
    cuts = [{"event": 5, "seq": 5, "what": "compaction", "text": summary}]
    made = trace(settings, results=results, summaries=cuts, sessions=[{"session": "s1"}], **more)
    return hits(ledger_lost.check, made)


def test_ledger_lost_across_a_compaction() -> None:
    assert "is nowhere after it" in ledger("The customer was helped.", '{"ok":true}')[0]["message"]
    assert '"ap_18" after it' in ledger(None, '{"approval":"ap_18"}')[0]["message"]


def test_ledger_lost_leaves_alone() -> None:
    assert ledger("approved under ap_17", '{"ok":true}') == []
    assert ledger(None, '{"approval":"ap_17"}') == []
    assert ledger(None) == []
    assert ledger("gone", '{"ok":true}', settings=Settings()) == []


def test_ledger_lost_lives_only_in_chat() -> None:
    said = [message(1, '{"approval":"ap_17"}')]
    made = trace(LEDGER, messages=said, sessions=[{"session": "s1"}])
    (hit,) = hits(ledger_lost.check, made)
    assert hit["confidence"] == "hint"
    written = [{"call": 1, "seq": 2, "event": 2, "text": '{"approval":"ap_17"}'}]
    assert hits(ledger_lost.check, trace(LEDGER, messages=said, calls=written, sessions=[{"session": "s1"}])) == []
