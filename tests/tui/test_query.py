"""The query bar's engine: both languages, normalized paths, caps, cancelling, syntax errors with their place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from analyzer.tui import searching
from analyzer.tui.case import Case
from analyzer.tui.opening import open_saved
from analyzer.tui.query import Query, QueryError, decode
from analyzer.tui.searching import Found, over_events, over_value


@pytest.fixture
def case(plain_audit: Path) -> Iterator[Case]:
    with closing(open_saved(str(plain_audit))) as opened:
        yield opened


VALUE = {"item": {"name": "x", "list": [{"a": 1}, {"a": 2}]}}


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("$.item.name", "JSONPath", [("$['item']['name']", '"x"')]),
        ("$..a", "JSONPath", [("$['item']['list'][0]['a']", "1"), ("$['item']['list'][1]['a']", "2")]),
        ("item.name", "JMESPath", [("$['item']['name']", '"x"')]),
        ("item.list[1].a", "JMESPath", [("$['item']['list'][1]['a']", "2")]),
        ("item.list[*].a", "JMESPath", [("", "[1,2]")]),
        ("length(item.list)", "JMESPath", [("", "2")]),
        ("abs(item.name)", "JMESPath", []),
        ("nothing", "JMESPath", []),
        ("$.nothing", "JSONPath", []),
        ("/item/list/1/a", "JSON Pointer", [("$['item']['list'][1]['a']", "2")]),
        ("/item/nothing", "JSON Pointer", []),
    ],
)
def test_both_languages_give_normalized_paths(text: str, language: str, found: list[tuple[str, str]]) -> None:
    compiled = Query(text)
    assert compiled.language == language
    assert [(hit.path, hit.value) for hit in over_value(compiled, VALUE).hits] == found


@pytest.mark.parametrize(
    ("text", "column"), [("/a~b", 2), ("$.a[", 4), ("a.[", 3), ("$.a[?@.b==]", 10), ("a b", 2), ("`", 0), ("$x", 1)]
)
def test_a_syntax_error_says_where(text: str, column: int) -> None:
    with pytest.raises(QueryError) as caught:
        Query(text)
    assert abs(caught.value.column - column) <= 1
    assert caught.value.reason


def test_strings_that_hold_json_are_read() -> None:
    raw = json.dumps({"arguments": json.dumps({"inner": json.dumps([{"deep": 1}])})}).encode()
    assert [hit.path for hit in over_value(Query("$..deep"), decode(raw)).hits] == [
        "$['arguments']['inner'][0]['deep']"
    ]


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[" * 5_000 + b"]" * 5_000, b"\xff", b"{"])
def test_what_is_no_json_matches_nothing(raw: bytes) -> None:
    assert decode(raw) is None


def test_odd_numbers_and_surrogates_are_read_all_the_same() -> None:
    assert decode(b'{"a": 1e400, "b": 12345678901234567890123}') is not None
    assert decode(b'{"a": "\\ud800"}') == {"a": "\ud800"}


def test_events_are_searched_and_told_apart(case: Case) -> None:
    posted: list[Found] = []
    over_events(Query("$.item.arguments.limt"), case, None, posted.append, lambda: False)
    hits, state, _ = posted[-1]
    assert state == ""
    assert [(hit.session, hit.seq) for hit in hits] == [(f"s00{n}", 0) for n in range(4)]
    assert {hit.path for hit in hits} == {"$['item']['arguments']['limt']"}
    some = case.events["event"][:1000]
    over_events(Query("item.arguments.limt"), case, some, posted.append, lambda: False)
    assert len(posted[-1].hits) == 1


def test_it_stops_where_it_says_and_when_it_is_told(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[Found] = []
    monkeypatch.setattr(searching, "MOST_HITS", 100)
    over_events(Query("$.type"), case, None, posted.append, lambda: False)
    assert (len(posted[-1].hits), posted[-1].state) == (100, "stopped at 100; narrow the scope")
    posted.clear()
    over_events(Query("$.nowhere"), case, None, posted.append, lambda: True)
    assert posted == []
    monkeypatch.setattr(searching, "SECONDS", -1.0)
    over_events(Query("$.nowhere"), case, None, posted.append, lambda: False)
    assert posted[-1].state.startswith("stopped after")


def test_a_log_that_has_gone_is_said_and_not_silently_empty(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(case.records._checked, 0, "the log has changed since the audit")
    posted: list[Found] = []
    over_events(Query("$.type"), case, None, posted.append, lambda: False)
    assert posted[-1] == ([], "4,000 unavailable", "")


def test_what_could_not_be_asked_is_no_answer(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    found = over_value(Query("sum(item.list)"), VALUE)
    assert (found.hits, found.state) == ([], "cannot be run on it")
    assert "invalid type" in found.reason
    posted: list[Found] = []
    over_events(Query("abs(type)"), case, None, posted.append, lambda: False)
    assert (posted[-1].hits, posted[-1].state) == ([], "4,000 cannot be asked")
    assert "invalid type" in posted[-1].reason
    monkeypatch.setattr(searching, "_MOST_BYTES", 1)
    over_events(Query("$.type"), case, None, posted.append, lambda: False)
    assert posted[-1] == ([], "4,000 over 0 MB", ""), "what is too long to be decoded is not searched, and not silently"


def test_the_names_of_an_expression_spare_records_that_cannot_match() -> None:
    compiled = Query("$.item.arguments[0]")
    assert compiled.may_match(b'{"item": {"arguments": 1}}')
    assert not compiled.may_match(b'{"item": {}}')
    assert compiled.may_match(b'{"\\u0069tem": {}}')  # an escape may spell the name
