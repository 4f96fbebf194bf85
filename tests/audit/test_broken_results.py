"""Results that two sides tell in their own ways: what is one fault, and what is none."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from analyzer import audit
from tests.audit.wire import (
    TOOLS,
    action,
    added,
    answered,
    asked,
    begun,
    called,
    done,
    ended,
    function,
    lines,
    post,
    remote,
    run,
    snapshot,
    told,
)

MCP = {"type": "mcp", "server_label": "docs", "transport": {"type": "http"}, "allowed_tools": ["wipe"]}


def _approval(decision: str, status: str) -> list[dict[str, object]]:
    tools = (*TOOLS, MCP)
    request = {"type": "mcp_tool_call", "server_label": "docs", "name": "wipe", "arguments": {"id": "x"}}
    wanted = {"type": "mcp_approval_request", "request_id": "r1", "turn_id": "t1", "request": request}
    decided = {
        "type": "agent.session.input.mcp_approval_request_result",
        "request_id": "r1",
        "response": {"type": "mcp_tool_call", "decision": decision},
    }
    return [
        *begun(tools=tools),
        added(remote(status="in_progress")),
        asked(wanted, tools=tools),
        decided,
        snapshot(tools=tools),
        done(remote(status=status)),
        *ended(tools=tools),
    ]


@pytest.mark.parametrize("decision", ["deny", "cancel"])
@pytest.mark.parametrize("status", ["failed", "incomplete"])
def test_a_denied_call_that_failed_did_not_run(decision: str, status: str, tmp_path: Path) -> None:
    assert "RUN005" not in told(run(tmp_path, _approval(decision, status)))


def test_a_denied_call_that_completed_ran(tmp_path: Path) -> None:
    assert told(run(tmp_path, _approval("deny", "completed")), "RUN005") == ["RUN005"]


def test_a_posted_failure_that_the_server_calls_a_success_is_one_fault(tmp_path: Path) -> None:
    events = [
        *begun(),
        added(called()),
        asked(action()),
        post(output=None, success=False, error="boom"),
        added(answered(output="fine"), index=None),
        done(called()),
        *ended(),
    ]
    assert told(run(tmp_path, events)) == ["OUT006"]


def test_an_item_that_is_completed_and_holds_an_error_contradicts_itself(tmp_path: Path) -> None:
    events = [*begun(), added(called()), asked(action()), added(answered(error="boom"), index=None), done(called())]
    assert told(run(tmp_path, [*events, *ended()]), "OUT006", "OUT007") == ["OUT007"]


def test_a_call_of_a_tool_that_was_taken_away_is_not_also_one_without_a_schema(tmp_path: Path) -> None:
    both = (*TOOLS, function("drop"))
    events = [
        *begun(tools=both),
        snapshot(),
        added(called("c1", "drop")),
        asked(action("c1", "drop")),
        added(answered(), index=None),
        done(called("c1", "drop")),
        *ended(),
    ]
    assert told(run(tmp_path, events), "ARG002", "LOG008") == ["ARG002"]


def test_arguments_that_are_no_json_are_said_to_be_none(tmp_path: Path) -> None:
    events = [
        *begun(),
        added(called(arguments='{"id":')),
        asked(action(arguments='{"id":')),
        added(answered(), index=None),
        done(called(arguments='{"id":')),
        *ended(),
    ]
    findings = run(tmp_path, events).findings
    [message] = findings.filter(findings["rule"] == "RUN001")["message"]
    assert message == "get ran although its arguments fail the schema in force: they are not JSON."


def test_results_of_other_turns_find_the_call_of_their_id_before_them(tmp_path: Path) -> None:
    # Every turn has a call of this id, and every result names a turn that has none.
    events = begun()
    for at in range(3_000):
        events += [added(called(at=f"t{at}")), added(answered(item=f"out_{at}", at=f"x{at}"), index=None)]
    audit = run(tmp_path, events)
    assert told(audit, "CALL005", "CALL006", "CALL007") == ["CALL007"] * 3_000
    results = audit.frames["results"]
    assert results["call"].to_list() == sorted(audit.frames["calls"]["call"])


@pytest.mark.parametrize("listed", [("a", "b"), ("b", "a")])
def test_calls_of_one_id_are_told_apart_in_a_snapshot(listed: tuple[str, str], tmp_path: Path) -> None:
    first, second = called(arguments={"id": "a"}, item="fc_1"), called(arguments={"id": "b"}, item="fc_2")
    events = [
        *begun(),
        added(first),
        added(second, index=1),
        asked(*(action(arguments={"id": value}) for value in listed)),
        post(output="A"),
        post(output="B"),
        added(answered(output="A", item="out_1"), index=None),
        added(answered(output="B", item="out_2"), index=None),
        done(first),
        done(second),
        *ended(),
    ]
    assert told(run(tmp_path, events)) == ["CALL001"]


def test_equal_calls_of_one_id_are_both_asked_for(tmp_path: Path) -> None:
    twins = [called(item="fc_1"), called(item="fc_2")]
    events = [
        *begun(),
        *map(added, twins),
        asked(action(), action()),
        post(output="A"),
        post(output="B"),
        *map(done, twins),
        *ended(),
    ]
    assert told(run(tmp_path, events), "CALL001", "CALL013", "ARG007", "CALL004", "CALL006") == ["CALL001"]


def test_an_id_that_comes_again_after_its_answer_is_asked_for_again(tmp_path: Path) -> None:
    events = begun()
    for at in ("1", "2"):
        item = called(item=f"fc_{at}")
        events += [added(item), asked(action()), post(output=at), snapshot(), done(item)]
    assert told(run(tmp_path, [*events, *ended()]), "CALL001", "CALL013", "ARG007", "CALL004", "CALL006") == ["CALL001"]


def test_a_post_that_forgets_its_turn_is_still_the_result_that_the_server_shows(tmp_path: Path) -> None:
    events = [
        *begun(),
        added(called()),
        asked(action()),
        post(at=None),
        added(answered(), index=None),
        done(called()),
        *ended(),
    ]
    audit = run(tmp_path, events)
    assert told(audit) == ["LOG010"]
    assert audit.summary["results"] == 1


def test_a_call_that_may_stand_in_an_unreadable_record_is_not_certainly_missing(tmp_path: Path) -> None:
    torn = lines([*begun(), added(called())])[:-40] + b"\n" + lines([asked(), added(answered(), index=None), *ended()])
    findings = run(tmp_path, torn).findings
    assert findings.filter(findings["rule"] == "CALL005").select("severity", "confidence").rows() == [
        ("warning", "hint")
    ]


def test_a_result_item_that_names_no_call_is_no_orphan_by_its_own_id(tmp_path: Path) -> None:
    events = [*begun(), added(called()), asked(action()), added({**answered(), "call_id": 7}, index=None)]
    assert told(run(tmp_path, [*events, *ended()]), "CALL005") == []


def test_a_result_that_may_stand_in_an_unreadable_record_is_not_certainly_missing(tmp_path: Path) -> None:
    events = [*begun(), added(called()), asked(action()), added(answered(), index=None)]
    torn = lines(events)[:-40] + b"\n" + lines([done(called()), *ended()])
    findings = run(tmp_path, torn).findings
    assert findings.filter(findings["rule"] == "CALL004").select("severity", "confidence").rows() == [
        ("warning", "hint")
    ]


def _resulting(*results: dict[str, object]) -> list[dict[str, object]]:
    return [*begun(), added(called()), asked(action()), *results, done(called()), *ended()]


@pytest.mark.parametrize(
    "results",
    [
        [post(output='{"a":1}'), added(answered(output='{"a":2}'), index=None)],
        [added(answered(output="left"), index=None), done(answered(output="right"))],
    ],
)
def test_a_result_that_is_shown_with_two_texts_conflicts(results: list[dict[str, object]], tmp_path: Path) -> None:
    findings = run(tmp_path, _resulting(*results)).findings.filter(pl.col("rule") == "CALL006")
    [row] = findings.iter_rows(named=True)
    assert (row["confidence"], row["call_id"]) == ("likely", "c1")
    assert "conflict" in row["message"]
    assert [each["location"]["line"] for each in row["related"]] == [6, 7]


@pytest.mark.parametrize(
    "other", ['{"b":[1.0], "a":1}', {"a": 1, "b": [1]}, [{"type": "input_text", "text": '{"a":1,"b":[1]}'}]]
)
def test_a_result_in_another_spelling_is_the_same(other: object, tmp_path: Path) -> None:
    results = [post(output='{"a":1,"b":[1]}'), added(answered(output=other), index=None)]
    assert told(run(tmp_path, _resulting(*results)), "CALL006") == []


def test_parts_that_this_wire_does_not_take_are_no_text(tmp_path: Path) -> None:
    parts = [{"type": "output_text", "text": "fine"}]
    results = [post(output=parts), added(answered(output=parts), index=None)]
    assert told(run(tmp_path, _resulting(*results)), "OUT001") == ["OUT001"]
    parts = [{"type": "input_text", "text": "fine"}, {"type": "input_image", "image_url": "https://x.test/a.png"}]
    results = [post(output=parts), added(answered(output=parts), index=None)]
    assert told(run(tmp_path, _resulting(*results), "good.ndjson")) == []


@pytest.mark.parametrize(
    ("output", "told", "reason"),
    [
        ('{"orders":[{"id":1},{"id":... [truncated]', ["OUT009"], "payload_truncated"),
        ('[{"id":1},{"i\n... output was truncated after 20 bytes\n', ["OUT009"], "payload_truncated"),
        ('{"orders":[{"id":1},{"id":', ["OUT004"], None),
        ("The list was long [truncated]", ["OUT005", "OUT009"], None),
        ('{"orders":"[truncated]"}', ["OUT004", "OUT009"], None),
    ],
)
def test_json_that_says_itself_that_it_was_cut_is_not_judged(
    tmp_path: Path, output: str, told: list[str], reason: str | None
) -> None:
    contract = tmp_path / "contract.json"
    schema = {"type": "object", "properties": {"orders": {"type": "array"}}, "required": ["orders"]}
    contract.write_text(json.dumps({"get": {"output": schema}}))
    log = tmp_path / "log.ndjson"
    log.write_bytes(lines([*begun(), added(called()), post(output=output), *ended()]))
    found = audit([str(log)], contracts=[str(contract)])
    assert sorted({rule for rule in found.findings["rule"] if rule.startswith("OUT00")}) == told
    (verdict,) = found.frames["verdicts"].filter(role="output").iter_rows(named=True)
    assert verdict["reason"] == reason
