"""The RUN family: what it must not fire on, and what it says where it does."""

from __future__ import annotations

import pytest

from analyzer.secret_kinds import checksum
from tests.rules.told import found

TOOL = 'tool f {"type":"object","properties":{"a":{"type":"integer"}}}\n'
WRITES = "tool pay {}\nwrites pay\nuser pay\nturn\n"


def test_a_refused_call_did_not_run() -> None:
    assert found("executed-despite-mismatch", f'{TOOL}turn\ncall c1 f {{"a":"x"}}\nresult c1 failed no\nend') == []
    assert found("executed-despite-mismatch", f'{TOOL}turn\ncall c1 f {{"a":"x"}}\nend') == []
    [hit] = found("executed-despite-mismatch", f'{TOOL}turn\ncall c1 f {{"a":"x"}}\nresult c1 ok y\nend')
    assert (hit["severity"], hit["confidence"]) == ("error", "certain")
    assert [each["role"] for each in hit["related"]] == ["result"]
    assert hit["failures"][0]["pointer"] == "/a"


@pytest.mark.parametrize(
    "text",
    [
        "a: expected number, received string",
        "failed to parse function arguments: EOF while parsing an object at line 1 column 7",
        '{"error":"a must be a number"}',
        "InputValidationError: f failed",
    ],
)
def test_a_success_in_the_words_of_a_refusal_is_a_hint_and_worded_as_one(text: str) -> None:
    [hit] = found("executed-despite-mismatch", f'{TOOL}turn\ncall c1 f {{"a":"x"}}\nresult c1 ok {text}\nend')
    assert (hit["severity"], hit["confidence"]) == ("warning", "hint")
    assert hit["message"].startswith("f may have run although its arguments fail the schema in force: ")


def test_an_ambiguous_window_proves_no_execution() -> None:
    other = 'untool f\ntool f {"type":"object","properties":{"a":{"type":"string"}}}\n'
    story = f'{TOOL}turn\nitem c1 f {{"a":"x"}}\n{other}action c1 f {{"a":"x"}}\nresult c1 ok y\nend'
    assert found("executed-despite-mismatch", story) == []


def test_a_server_may_have_coerced() -> None:
    contract = 'contract s/g {"type":"object","properties":{"a":{"type":"integer"}}}'
    [hit] = found("executed-despite-mismatch", f'server s\n{contract}\nturn\nmcp m1 s g {{"a":"1"}} ok x')
    assert hit["confidence"] == "likely"


TWICE = 'call c1 pay {"a":1,"b":2}\nresult c1 ok x\n%scall c2 pay {"b":2, "a":1}\nresult c2 ok x\nend'


def test_the_same_payment_twice_is_certain_for_a_tool_that_writes() -> None:
    [hit] = found("side-effect-repeated", WRITES + TWICE % "")
    assert (hit["call_id"], hit["severity"], hit["confidence"]) == ("c2", "error", "certain")
    assert hit["related"][0]["call_id"] == "c1"


def test_another_tool_is_a_hint_and_needs_a_cause() -> None:
    story = WRITES.replace("writes pay\n", "")
    assert found("side-effect-repeated", story + TWICE % "") == []
    [hit] = found("side-effect-repeated", story + TWICE % "end failed\nturn\n")
    assert (hit["severity"], hit["confidence"]) == ("warning", "hint")
    assert "failed turn" in hit["message"]


@pytest.mark.parametrize(
    "story",
    [
        WRITES + TWICE % "user again please\n",
        WRITES + TWICE.replace("c1 ok", "c1 failed") % "",
        WRITES.replace("writes", "reads") + TWICE % "end failed\nturn\n",
        (WRITES.replace("writes pay\n", "") + TWICE % "end failed\nturn\n").replace(" pay ", " get_pay "),
        WRITES
        + "item c1 pay {}\nitem c2 pay {}\naction c1 pay {}\naction c2 pay {}\nresult c1 ok x\nresult c2 ok x\nend",
        WRITES + 'call c1 pay {"a":1}\nresult c1 ok x\ncall c2 pay {"a":2}\nresult c2 ok x\nend',
    ],
    ids=["asked again", "true failure", "declared reading", "named reading", "twins", "other arguments"],
)
def test_what_is_no_repeated_side_effect(story: str) -> None:
    assert found("side-effect-repeated", story) == []


MCP = "server s\nturn\n"
RAN = 'mcp m1 s rm {"p":"/a"} ok x\n'


@pytest.mark.parametrize(
    ("story", "word"),
    [
        ('approval r1 s rm {"p":"/b"}\ndecide r1 approve\n' + RAN, 'p was "/b" when approved and "/a" when run'),
        ('approval r1 s rm {"p":"/a"}\ndecide r1 deny\n' + RAN, "answered with deny"),
        ('approval r1 s rm {"p":"/a"}\n' + RAN + "decide r1 approve", "still open"),
        (
            'approval r1 s rm {"p":"/a"}\ndecide r1 approve\n' + RAN + RAN.replace("m1", "m2"),
            "an earlier call had used",
        ),
    ],
    ids=["other arguments", "denied", "open", "used twice"],
)
def test_an_approval_covers_one_call_with_its_arguments(story: str, word: str) -> None:
    [hit] = found("approval-mismatch", f"{MCP}{story}\nend")
    assert word in hit["message"]


@pytest.mark.parametrize(
    "story",
    [
        'approval r1 s rm {"p": "/a"}\ndecide r1 approve\n' + RAN,
        'approval r1 s rm {"p":"/a"}\nsnapshot\ndecide r1 approve\n' + RAN,
        RAN,
        'approval r1 s rm {"p":"/a"}\n' + RAN,
        'approval r1 s rm {"p":"/b"}\ndecide r1 deny\n' + RAN,
        'approval r1 s rm {"p":"/a"}\ndecide r1 deny\napproval r2 s rm {"p":"/a"}\ndecide r2 approve\n' + RAN,
    ],
    ids=["approved", "listed twice", "never asked", "decisions not recorded", "another call denied", "asked again"],
)
def test_what_approvals_allow(story: str) -> None:
    assert found("approval-mismatch", f"{MCP}{story}\nend") == []


def test_an_approval_shows_no_half_of_a_credential() -> None:
    body = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0"
    key = f"ghp_{body}{checksum(body)}"
    ran = f'mcp m1 s rm {{"p":"a long way before {key}","password":"hunter22"}} ok x'
    [hit] = found("approval-mismatch", f'{MCP}approval r1 s rm {{"p":"{key}"}}\ndecide r1 approve\n{ran}\nend')
    assert "hunter22" not in hit["message"]
    assert key[:12] not in hit["message"]


def test_a_subagent_may_use_servers_and_the_root_its_functions() -> None:
    story = f"{TOOL}server s\nturn\nturn subagent a\n{RAN}end\ncall c1 f {{}}\nresult c1 ok x\nend"
    assert found("subagent-function-tool", story) == []


def test_subagents_one_after_the_other_keep_the_limit() -> None:
    story = "subagents 2\nturn\nturn subagent a\nturn subagent b\nend\nturn subagent c\nend\nend\nend"
    assert found("subagents-over-limit", story) == []
    [hit] = found("subagents-over-limit", story.replace("subagents 2", "subagents 1"))
    assert "2 subagents" in hit["message"]
    assert found("subagents-over-limit", story.removeprefix("subagents 2\n")) == []


def test_a_storm_says_whether_the_model_repaired_it() -> None:
    failed = "".join(f"call c{n} f {{}}\nresult c{n} failed no\n" for n in range(4))
    [hit] = found("retry-storm", f"{TOOL}turn\n{failed}end")
    assert "4 times" in hit["message"]
    assert "no later call" in hit["message"]
    assert (hit["call_id"], hit["related"][0]["call_id"]) == ("c3", "c0")
    [hit] = found("retry-storm", f'{TOOL}turn\n{failed}call d f {{"a":1}}\nresult d ok x\nend')
    assert "after 4 tries d passed" in hit["message"]


def test_failures_with_a_success_between_are_no_storm() -> None:
    steps = ["failed", "failed", "ok", "failed", "failed"]
    calls = "".join(f"call c{n} f {{}}\nresult c{n} {step} no\n" for n, step in enumerate(steps))
    assert found("retry-storm", f"{TOOL}turn\n{calls}end") == []


def test_a_session_that_was_answered_after_its_last_snapshot_is_not_stuck() -> None:
    assert found("session-stuck", f"{TOOL}turn\ncall c1 f {{}}\npost c1 ok x") == []
    [hit] = found("session-stuck", f"{TOOL}turn\nitem c1 f {{}}\nitem c2 f {{}}\naction c1 f {{}}\naction c2 f {{}}")
    assert "2 results" in hit["message"]
    [hit] = found("session-stuck", "server s\nturn\napproval r1 s rm {}")
    assert "an approval" in hit["message"]


@pytest.mark.parametrize(
    "more",
    ['output f {"type":"object"}', "tool submit_report {}"],
    ids=["output schema", "hand-in tool"],
)
def test_a_wish_for_json_that_something_holds_is_no_wish(more: str) -> None:
    story = "instructions Always answer in JSON.\n%s\nturn\nsay {}\nend"
    assert len(found("prompt-only-contract", story % TOOL.strip())) == 1
    assert found("prompt-only-contract", story % f"{TOOL}{more}") == []
    assert found("prompt-only-contract", "instructions Read JSON files.\nturn\nsay {}\nend") == []


def test_an_action_that_waited_is_told_in_seconds() -> None:
    [hit] = found("action-waited", f"{TOOL}clock 0\nturn\ncall c1 f {{}}\nclock 601\nresult c1 ok x\nend")
    assert "601 seconds" in hit["message"]
    assert found("action-waited", f"{TOOL}turn\ncall c1 f {{}}\nresult c1 ok x\nend") == []


def test_a_conclusion_is_judged_for_subagents_with_a_contract() -> None:
    story = 'output subagent/%s {"type":"object"}\nturn\nturn subagent a\nsay prose\nend\nend'
    assert len(found("merge-unstructured", story % "a")) == 1
    assert len(found("merge-unstructured", story % "*")) == 1
    assert found("merge-unstructured", story % "b") == []


def test_the_same_words_again_ask_again_unless_something_broke() -> None:
    story = WRITES + 'call c1 pay {"a":1}\nresult c1 ok x\n%suser pay\n%scall c2 pay {"a":1}\nresult c2 ok x\nend'
    assert found("side-effect-repeated", story % ("end\n", "turn\n")) == []
    assert len(found("side-effect-repeated", story % ("end failed\n", "turn\n"))) == 1
