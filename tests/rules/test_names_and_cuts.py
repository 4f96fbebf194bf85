"""Which tool a call means when its name is spelled unlike the table's, and what is not judged because it was cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit

PARAMETERS = {
    "type": "object",
    "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"}},
    "required": ["sku"],
    "additionalProperties": False,
}
FLAT = {"type": "function", "name": "reserve", "description": "d", "strict": None, "parameters": PARAMETERS}
HI = {"role": "user", "content": "hi"}


def space(name: str) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": "d", "tools": [FLAT]}


def told(folder: Path, *records: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str | None]]]:
    """(rule, severity) of errors, and of what says that something cannot be judged; then the verdicts on arguments."""
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    made = audit([str(log)], select=["ARG", "LOG008", "RUN001"])
    assert made.crashed == []
    verdicts = made.frames["verdicts"].filter(made.frames["verdicts"]["role"] == "arguments")
    findings = made.findings.select("rule", "severity").rows()
    return sorted(set(findings)), verdicts.select("verdict_is", "reason").rows()


def responses(tools: list[Any], sku: str = "bad", **call: Any) -> Any:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "reserve", "status": "completed", **call}
    output = [{**item, "arguments": json.dumps({"sku": sku})}]
    return {
        "request": {"model": "m", "input": [HI], "tools": tools},
        "response": {"id": "r1", "object": "response", "status": "completed", "output": output, "tools": tools},
    }


@pytest.mark.parametrize(
    ("tools", "call", "rules"),
    [
        ([space("crm")], {}, ["ARG001"]),  # the namespace is left out
        ([FLAT], {"namespace": "reserve"}, ["ARG001"]),  # the one that search makes of a bare function
        ([FLAT], {"namespace": "functions"}, ["ARG001"]),
        ([FLAT], {"name": "functions.reserve"}, ["ARG001"]),
        ([space("crm")], {"namespace": "crm"}, ["ARG001"]),
        ([space("crm")], {"namespace": "erp"}, ["ARG002"]),
        ([FLAT], {"namespace": "erp"}, ["ARG002"]),
        ([space("crm"), space("erp")], {}, ["LOG008"]),  # one of the two, and nobody knows which
        ([FLAT], {"name": "mcp__shop__reserve"}, ["LOG008"]),  # a client's prefix: no fault, and no verdict
        ([FLAT], {"name": None}, ["ARG002"]),
    ],
)
def test_a_call_means_a_tool_or_somebody_says_why_it_has_no_verdict(
    tmp_path: Path, tools: list[Any], call: dict[str, Any], rules: list[str]
) -> None:
    found, verdicts = told(tmp_path, responses(tools, **call))
    assert [rule for rule, _ in found] == rules
    assert verdicts == [("invalid", None) if rules == ["ARG001"] else ("unverifiable", "schema_unavailable")]


def test_a_name_that_stands_in_two_namespaces_is_not_said_to_be_missing(tmp_path: Path) -> None:
    told(tmp_path, responses([space("crm"), space("erp")]))
    [finding] = audit([str(tmp_path / "log.jsonl")], select=["LOG008"]).findings.to_dicts()
    assert finding["message"].startswith("The schema of reserve is in 2 namespaces, and nothing says which")


def test_what_a_search_added_stays_when_the_next_table_leaves_it_out_again(tmp_path: Path) -> None:
    """As it did in the table before: only a table that had a tool can take it away."""
    other = {**FLAT, "name": "other"}
    deferred = {**FLAT, "defer_loading": True}
    tables: list[tuple[list[Any], str]] = [([deferred], "reserve"), ([other], "other"), ([], "reserve")]
    first, second, third = (
        responses(tools, "ABC-1234", id=f"fc_{number}", call_id=f"c{number}", name=name)
        for number, (tools, name) in enumerate(tables, 1)
    )
    second["response"]["output"] += [{**each, "tools": [deferred]} if each["id"] == "tso" else each for each in SEARCH]
    for number, (exchange, before) in enumerate([(second, "r1"), (third, "r2")], 1):
        exchange["response"]["id"] = f"r{number + 1}"
        answer = {"type": "function_call_output", "call_id": f"c{number}", "output": "ok"}
        exchange["request"] |= {"previous_response_id": before, "input": [answer]}
    first["response"]["output"] = [{**SEARCH[0]}, {**SEARCH[1], "tools": [deferred]}, *first["response"]["output"]]
    assert told(tmp_path, first, second, third)[0] == []


SEARCH: list[Any] = [
    {"type": "tool_search_call", "id": "tsc", "call_id": None, "execution": "server", "arguments": {"paths": ["f"]}},
    {"type": "tool_search_output", "id": "tso", "call_id": None, "execution": "server", "status": "completed"},
]


@pytest.mark.parametrize(
    ("before", "after", "more", "rules"),
    [
        ([], [], {}, [("ARG002", "error")]),
        ([], SEARCH, {}, [("ARG002", "error")]),
        (SEARCH, [], {}, []),
        ([], [], {"previous_response_id": "r0"}, []),
    ],
)
def test_a_deferred_tool_is_called_after_a_search(
    tmp_path: Path, before: list[Any], after: list[Any], more: dict[str, Any], rules: list[tuple[str, str]]
) -> None:
    deferred = {**FLAT, "defer_loading": True}
    exchange = responses([deferred, {"type": "tool_search"}], "ABC-1234")
    found = [{**each, "tools": [deferred]} if each["id"] == "tso" else each for each in before]
    exchange["response"]["output"] = [*found, *exchange["response"]["output"], *after]
    exchange["request"] |= more
    assert told(tmp_path, exchange)[0] == rules


def test_a_tool_that_came_later_is_told_once(tmp_path: Path) -> None:
    first, then = responses([{**FLAT, "name": "other"}]), responses([FLAT], "ABC-1234", id="fc_2", call_id="c2")
    follow = [{"type": "function_call_output", "call_id": "c1", "output": "ok"}]
    then["request"]["input"] += first["response"]["output"] + follow
    found, _ = told(tmp_path, first, then)
    assert found == [("ARG002", "error")]


def anthropic(stop: str, *uses: dict[str, Any]) -> Any:
    tools = [{"name": "reserve", "description": "d", "input_schema": PARAMETERS}]
    content = [{"type": "tool_use", "id": f"toolu_{n}", "name": "reserve", "input": use} for n, use in enumerate(uses)]
    body = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content, "stop_reason": stop}
    return {"request": {"model": "c", "max_tokens": 9, "messages": [HI], "tools": tools}, "response": body}


def test_an_object_that_the_wire_closed_after_the_cut_is_not_judged(tmp_path: Path) -> None:
    assert told(tmp_path, anthropic("max_tokens", {})) == ([], [("unverifiable", "payload_truncated")])
    assert told(tmp_path, anthropic("tool_use", {})) == ([("ARG001", "error")], [("invalid", None)])
    for use in ({"sku": 4}, {"sku": "ABC-1234", "to": "me"}):  # no cut makes these
        assert told(tmp_path, anthropic("max_tokens", use)) == ([("ARG001", "error")], [("invalid", None)])
    # What stands before the last block was finished before the cut.
    found, verdicts = told(tmp_path, anthropic("max_tokens", {"sku": "bad"}, {}))
    assert (found, verdicts) == ([("ARG001", "error")], [("invalid", None), ("unverifiable", "payload_truncated")])


def agents(arguments: Any) -> list[Any]:
    tool = {"type": "function", "name": "reserve", "description": "d", "parameters": PARAMETERS, "defer_loading": False}
    session: dict[str, Any] = {
        "id": "s",
        "object": "agent.session",
        "agent": {"id": "a", "model": "m", "tools": [tool]},
    }
    session |= {"status": "idle", "required_actions": [], "created_at": 1, "last_active_at": 1}
    item = {"type": "function_call", "id": "fc", "turn_id": "t", "call_id": "c", "name": "reserve"}
    item |= {"arguments": arguments, "status": "completed"}
    return [
        {"type": "agent.session.created", "event_id": "e1", "session": session},
        {"type": "agent.session.turn.item.done", "event_id": "e2", "session_id": "s", "turn_id": "t", "item": item},
    ]


def test_a_list_under_a_layer_of_text_is_one_fault(tmp_path: Path) -> None:
    assert told(tmp_path, *agents(json.dumps([{"sku": "ABC-1234"}])))[0] == [("ARG005", "error")]
    assert told(tmp_path, *agents(json.dumps({"sku": "ABC-1234"})))[0] == [("ARG005", "info")]


CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "reserve", "arguments": '{"sku":"ABC-1234"}'}
ANSWER = {"type": "function_call_output", "call_id": "c1", "output": "ok"}


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{text}", "role": "assistant", "status": "completed", "content": content}


@pytest.mark.parametrize(
    ("third", "more", "found"),
    [
        ([HI, CALL, ANSWER, said("y"), HI], {}, []),
        ([HI, ANSWER, said("y"), HI], {}, ["the result of c1 and not its call"]),
        ([HI, CALL, said("y"), HI], {}, ["the call of c1 and not its result"]),
        ([HI, said("y"), HI], {}, []),
        ([HI, CALL, {**ANSWER, "output": "[cleared]"}, said("y"), HI], {}, []),
        ([HI], {"previous_response_id": "r2"}, []),
        ([CALL, HI], {"previous_response_id": "r2"}, []),
    ],
)
def test_a_history_of_responses_that_lost_half_a_pair(
    tmp_path: Path, third: list[Any], more: dict[str, Any], found: list[str]
) -> None:
    steps = [([HI], [CALL], {}), ([HI, CALL, ANSWER], [said("y")], {}), (third, [said("x")], more)]
    log = tmp_path / "log.jsonl"
    with log.open("w", encoding="utf-8") as file:
        for number, (sent, output, options) in enumerate(steps, 1):
            body = {"id": f"r{number}", "object": "response", "status": "completed", "output": output}
            request = {"model": "m", "input": sent, "tools": [FLAT], **options}
            file.write(json.dumps({"request": request, "response": body}) + "\n")
    made = audit([str(log)], select=["CALL"])
    assert made.findings["rule"].to_list() == ["CALL011"] * len(found)
    assert all(words in message for words, message in zip(found, made.findings["message"], strict=True))
