"""Whole audits of short stories: which findings of severity error stand, and that each fault has one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from analyzer import audit
from tests.rules.story import tell

FIND = 'tool find {"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}'
SHUT = FIND[:-1] + ',"additionalProperties":false}'
PAGE = (
    'tool page {"type":"object","properties":{"n":{"type":"integer","maximum":50},'
    '"l":{"type":"array","items":{"type":"integer","maximum":9}}}}'
)
GIVES = 'output find {"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'


def errors(lines: Iterable[str], folder: Path) -> list[tuple[str, str | None]]:
    """Slug and call id of every error in the audit of a story."""
    story = tell(lines)
    (folder / "story.ndjson").write_bytes(story.log)
    contracts = []
    if story.contracts:
        contracts.append(str(folder / "contracts.json"))
        (folder / "contracts.json").write_text(json.dumps(story.contracts), encoding="utf-8")
    made = audit([str(folder / "story.ndjson")], contracts=contracts)
    assert made.crashed == []
    rows = made.findings.select("slug", "severity", "call_id").iter_rows()
    return sorted((slug, call) for slug, severity, call in rows if severity == "error")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # one call seen three times, one fault, one finding
        ([FIND, "call c1 find {}", "result c1 failed no"], [("args-schema-mismatch", "c1")]),
        # the arguments' rules explain each other away: the first that explains the payload reports
        ([FIND, 'call c1 find text {"q":"a', "result c1 failed no"], [("args-invalid-json", "c1")]),
        ([FIND, 'call c1 find text "{\\"q\\":\\"a\\"}"', "result c1 failed no"], [("args-double-encoded", "c1")]),
        ([FIND, 'call c1 find {"q":"a","n":"5"}', "result c1 failed no"], [("args-field-stringified", "c1")]),
        ([SHUT, 'call c1 find {"q":"a","n":"5","x":1}', "result c1 failed no"], [("args-schema-mismatch", "c1")]),
        ([FIND, "call c1 find [1]", "result c1 failed no"], [("args-wrong-container", "c1")]),
        # one layer of text is tolerated here, and what it holds is judged
        ([FIND, 'call c1 find text {"q":"a"}', 'result c1 ok {"n":1}'], []),
        ([FIND, 'call c1 find text {"q":5}', "result c1 failed no"], [("args-schema-mismatch", "c1")]),
        # an unknown tool is no mismatch
        ([FIND, 'call c1 fnd {"q":5}', "result c1 failed no"], [("tool-not-advertised", "c1")]),
        # a tool that comes in the snapshot that requires the action may have been there at the call
        (
            [
                FIND,
                "turn",
                'item c1 late {"q":1}',
                'tool late {"type":"object"}',
                'action c1 late {"q":1}',
                "result c1 ok x",
            ],
            [],
        ),
        # lawful
        ([FIND, 'call c1 find {"q":"a","n":5.0}', "result c1 ok x"], []),
        # a string explains the failure only where what it holds is accepted
        ([PAGE, 'call c1 page {"n":"5"}', "result c1 failed no"], [("args-field-stringified", "c1")]),
        ([PAGE, 'call c1 page {"n":"500"}', "result c1 failed no"], [("args-schema-mismatch", "c1")]),
        ([PAGE, 'call c1 page {"l":["1","2"]}', "result c1 failed no"], [("args-field-stringified", "c1")]),
        ([PAGE, 'call c1 page {"l":"[1,20]"}', "result c1 failed no"], [("args-schema-mismatch", "c1")]),
        # null is as good as no arguments
        (['tool ping {"type":"object"}', "call c1 ping null", "result c1 ok x"], []),
        (['tool ping {"type":"object"}', "call c1 ping text null", "result c1 ok x"], []),
        ([FIND, "call c1 find null", "result c1 failed no"], [("args-schema-mismatch", "c1")]),
        ([FIND, 'item c1 find {"q":"a","n":1}', 'action c1 find {"n":1.0,"q":"a"}', "result c1 ok x"], []),
    ],
)
def test_arguments(lines: list[str], expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert errors(lines, tmp_path) == expected


CALL = 'call c1 find {"q":"a"}'


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ('ok {"n":1}', []),
        ("ok All is well.", ["output-prose"]),
        ("ok {'n': 1}", ["output-stringly"]),
        ("ok None", ["output-stringly"]),
        ("ok [object Object]", ["output-stringly"]),
        ('ok "{\\"n\\":1}"', ["output-double-encoded"]),
        ('ok raw {"n":1}', ["output-not-string"]),
        ('ok {"n":[1]}', ["output-schema-mismatch"]),
        ('ok {"n":1', ["output-schema-mismatch"]),
        ("ok", ["output-schema-mismatch"]),
        ("failed no such thing", []),
        ("failed", ["result-contradictory"]),
        ('ok {"success":false,"error":"no"}', ["error-as-success"]),
    ],
)
def test_outputs(result: str, expected: list[str], tmp_path: Path) -> None:
    found = errors([SHUT, GIVES, CALL, f"result c1 {result}"], tmp_path)
    assert [slug for slug, _ in found] == expected
    assert {call for _, call in found} <= {"c1"}


@pytest.mark.parametrize(
    ("promised", "result", "expected"),
    [
        *(("string", text, []) for text in ("hello", "42", '{"n":1}', "[]", "true", '"quoted"')),
        ("string", 'raw {"n":1}', ["output-not-string"]),
        (["string", "object"], '{"n":[1]}', ["output-schema-mismatch"]),
        ("integer", "42", []),
        ("integer", "forty", ["output-schema-mismatch"]),
        ("integer", "true", ["output-schema-mismatch"]),
    ],
)
def test_a_text_that_happens_to_be_json_is_the_string_that_is_promised(
    promised: object, result: str, expected: list[str], tmp_path: Path
) -> None:
    gives = {"type": promised, "properties": {"n": {"type": "integer"}}}
    story = [SHUT, f"output find {json.dumps(gives, separators=(',', ':'))}", CALL, f"result c1 ok {result}"]
    assert [slug for slug, _ in errors(story, tmp_path)] == expected


def test_without_a_contract_words_are_an_output_like_any_other(tmp_path: Path) -> None:
    assert errors([SHUT, CALL, "result c1 ok All is well."], tmp_path) == []


def test_a_failing_call_breaks_no_output_contract_and_its_secret_is_found_once(tmp_path: Path) -> None:
    token = "glpat-" + "Zq3vT8mKx1Wc5RbN7sHd"
    assert errors([SHUT, GIVES, CALL, f"result c1 failed bad token {token}"], tmp_path) == [("output-secret", "c1")]


def test_drift_from_a_file_is_told_once_for_a_session_and_names_the_calls(tmp_path: Path) -> None:
    wider = 'contract find {"type":"object","properties":{"q":{"type":"string","maxLength":1}},"required":["q"]}'
    lines = [SHUT, wider, CALL, "result c1 ok x", 'call c2 find {"q":"abc"}', "result c2 ok x"]
    assert errors(lines, tmp_path) == [("schema-drift", None)]


def test_the_order_of_members_in_a_later_table_is_no_drift(tmp_path: Path) -> None:
    other = 'tool find {"required":["q"],"properties":{"n":{"type":"integer"},"q":{"type":"string"}},"type":"object"}'
    assert errors([FIND, CALL, "result c1 ok x", "untool find", other, "snapshot"], tmp_path) == []
