"""Settings of one request, branches that go on from one response, refusals, and ids of several agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.trace import Settings
from tests.audit.test_windows import windows_of
from tests.rules.test_what_holds_when import HI, _chat, _compacted, _responses, told
from tests.rules.told import found

OBJECT = {"type": "json_object"}


def _says(exchange: dict[str, Any], *parts: dict[str, Any]) -> dict[str, Any]:
    """A Responses exchange that is answered by a message of these content parts."""
    message = {"type": "message", "id": f"m_{exchange['response']['id']}", "role": "assistant", "status": "completed"}
    exchange["response"]["output"] = [{**message, "content": list(parts)}]
    return exchange


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _answered(exchange: dict[str, Any], content: str | None, refusal: str | None = None) -> dict[str, Any]:
    """A chat exchange that is answered in words."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    exchange["response"]["choices"][0] |= {"finish_reason": "stop", "message": message}
    return exchange


def _asked(number: int, **settings: Any) -> dict[str, Any]:
    exchange = _responses(number, 0, 0)
    exchange["request"] |= {"input": [HI], **settings}
    if number > 1:
        exchange["request"].setdefault("previous_response_id", f"resp_{number - 1}")
    return exchange


@pytest.mark.parametrize(("first", "second", "count"), [(True, False, 0), (False, True, 1), (True, True, 1)])
def test_a_text_format_holds_for_the_request_that_asks_for_it(
    *, first: bool, second: bool, count: int, tmp_path: Path
) -> None:
    """What a later request leaves out is not asked for any more."""
    asked: list[dict[str, Any]] = [{"text": {"format": OBJECT}} if each else {} for each in (first, second)]
    one = _says(_asked(1, **asked[0]), _text('{"a":1}' if first else "Hello."))
    assert len(told(tmp_path, "FINAL002", one, _says(_asked(2, **asked[1]), _text("Fine.")))) == count
    asked = [{"response_format": OBJECT} if each else {} for each in (first, second)]
    chat = _answered(_chat(1, 0, 0, **asked[0]), "Hello."), _answered(_chat(2, 0, 0, **asked[1]), "Fine.")
    chat[1]["request"]["messages"] = [HI, {"role": "assistant", "content": "Hello."}, HI]
    assert len(told(tmp_path, "FINAL002", *chat)) == count


def test_gemini_says_its_format_without_a_model(tmp_path: Path) -> None:
    def asked(number: int, text: str, **settings: Any) -> dict[str, Any]:
        said = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "{}"}]}]
        answer = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
        return {
            "request": {"contents": (said * number)[: 2 * number - 1], **settings},
            "response": {"candidates": [answer], "responseId": f"r{number}"},
        }

    promised: dict[str, Any] = {
        "generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}}
    }
    assert told(tmp_path, "FINAL002", asked(1, "{}", **promised), asked(2, "Fine.")) == []


def _long_chat(*settings: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation of single calls under each of these settings, whose last replies hold two."""
    made, history = [], [HI]
    for number, switch in enumerate(settings, 1):
        exchange = _chat(number, 2 if number > len(settings) - 5 else 1, 0, **switch)
        exchange["request"]["messages"] = [*history]
        message = exchange["response"]["choices"][0]["message"]
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in message["tool_calls"]]
        history += [message, *results]
        made.append(exchange)
    _answered(made[-1], "Done.")
    return made


@pytest.mark.parametrize("switch", [{"parallel_tool_calls": False}, {"response_format": OBJECT}])
def test_what_a_request_leaves_out_is_known_in_later_windows(switch: dict[str, Any], tmp_path: Path) -> None:
    rule = "RUN006" if "parallel_tool_calls" in switch else "FINAL002"
    for settings, holds in (([switch] * 3 + [{}] * 17, False), ([{}] * 3 + [switch] * 17, True)):
        records = _long_chat(*settings)
        whole = told(tmp_path, rule, *records)
        with windows_of(30):
            assert told(tmp_path, rule, *records) == whole
        assert bool(whole) is holds


@pytest.mark.parametrize("wire", ["chat", "chunks", "responses"])
def test_a_refusal_is_told_as_what_it_is(wire: str, tmp_path: Path) -> None:
    words = "I cannot help with that."
    if wire == "responses":
        exchange = _says(_asked(1, text={"format": OBJECT}), {"type": "refusal", "refusal": words})
    else:
        exchange = _answered(_chat(1, 0, 0, response_format=OBJECT), None, words)
    records = [exchange]
    if wire == "chunks":
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m"}
        pieces = [{"role": "assistant"}, *({"refusal": each} for each in (words[:9], words[9:])), {}]
        records = [exchange["request"]] + [
            {**chunk, "choices": [{"index": 0, "delta": each, "finish_reason": None if each else "stop"}]}
            for each in pieces
        ]
    [finding] = told(tmp_path, "FINAL002", *records)
    assert finding["message"] == "The final answer is a refusal, where an object is promised."
    assert finding["severity"] == "info"


def test_an_empty_answer_is_called_empty(tmp_path: Path) -> None:
    [finding] = told(tmp_path, "FINAL002", _answered(_chat(1, 0, 0, response_format=OBJECT), ""))
    assert finding["message"] == "The final answer is empty, where an object is promised."


def test_branches_of_one_response_may_have_results_of_their_own(tmp_path: Path) -> None:
    def answer(name: str, after: str, output: str) -> dict[str, Any]:
        exchange = _says(_asked(2, previous_response_id=after), _text("x"))
        exchange["response"]["id"] = exchange["response"]["output"][0]["id"] = name
        exchange["request"]["input"] = [{"type": "function_call_output", "call_id": "c1_0", "output": output}]
        return exchange

    def severities(*records: dict[str, Any]) -> list[str]:
        return [finding["severity"] for finding in told(tmp_path, "CALL006", _responses(1, 1, 0), *records)]

    one = answer("resp_2", "resp_1", "rainy")
    assert severities(one, answer("resp_3", "resp_1", "rainy")) == []
    assert severities(one, answer("resp_3", "resp_1", "sunny")) == ["warning"]
    assert severities(one, answer("resp_3", "resp_2", "sunny")) == ["error"]


def _agents(*agents: str | None) -> list[dict[str, Any]]:
    """Claude Code rows: each of these agents (None: the main one) makes a call under the same id, all are answered."""
    shared = {"userType": "external", "cwd": "/srv", "sessionId": "s1", "version": "2.1.144"}
    rows: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "go"}}]
    for number, agent in enumerate(agents):
        mine = {} if agent is None else {"agentId": agent}
        use = {"type": "tool_use", "id": "toolu_1", "name": f"f{number}", "input": {}}
        reply = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": [use]}
        rows.append({"type": "assistant", "message": reply, **mine})
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
        rows.append({"type": "user", "message": {"role": "user", "content": [result]}, **mine})
    return [
        {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": "agentId" in row,
            **shared,
            **row,
            "uuid": f"u{number}",
            "timestamp": f"2026-11-17T09:00:{number:02}.000Z",
        }
        for number, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("agents", "count"),
    [(("a", "b"), 0), ((None, "a"), 0), (("a", "a"), 1), ((None, None), 1), (("a", "b", "a"), 1)],
)
def test_each_subagent_has_ids_of_its_own(agents: tuple[str | None, ...], count: int, tmp_path: Path) -> None:
    assert len(told(tmp_path, "CALL001", *_agents(*agents))) == count


@pytest.mark.parametrize(
    ("approved", "ran", "said"),
    [
        ("caf\u00e9", "cafe\u0301", r'n was "caf\xe9" when approved and "cafe\u0301" when run'),
        ("x" * 60 + "1", "x" * 60 + "2", "when approved and another "),
        ("left", "right", 'n was "left" when approved and "right" when run'),
    ],
)
def test_what_was_approved_and_what_ran_look_different(approved: str, ran: str, said: str) -> None:
    shown = [json.dumps({"n": each}, ensure_ascii=False) for each in (approved, ran)]
    story = ["server shop", "turn", f"approval a1 shop pay {shown[0]}", "decide a1 approve"]
    [hit] = found("approval-mismatch", "\n".join([*story, f"mcp m1 shop pay {shown[1]} ok x"]))
    assert said in hit["message"]


@pytest.mark.parametrize(
    ("value", "after", "lost"),
    [
        (12, "All 1200 are paid.", True),
        (12, "It cost 12.50 in all.", True),
        (12, "It cost 12. All is paid.", False),
        (12, "\u5171\u8ba112\u5143", False),
        ("ap_1", "Under ap_17.", True),
        ("ap_1", "Under ap_1.", False),
    ],
)
@pytest.mark.parametrize("place", ["summary", "result"])
def test_a_ledger_value_within_another_one_is_lost(
    value: Any, after: str, place: str, *, lost: bool, tmp_path: Path
) -> None:
    summary, later = (after, "{}") if place == "summary" else ("Well.", json.dumps({"note": after}))
    rows = _compacted(json.dumps({"paid": value}), summary, later)
    findings = told(tmp_path, "FINAL004", *rows, settings=Settings(ledger=(("paid", "paid"),)))
    assert bool(findings) is lost
