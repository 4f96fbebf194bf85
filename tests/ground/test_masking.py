"""Credentials are hidden in one way everywhere: shape stays, nothing is half shown, equal ones are seen as equal."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import frame_masking
from analyzer.frame_masking import masked_frame
from analyzer.masking import harmless, mask, mask_json, masked, spans
from analyzer.redaction import Redaction, redacting
from analyzer.visible import visible, visible_value
from tests.ground.tokens import ALNUM, draw

KEY = "sk-ant-api03-" + draw(random.Random(1), ALNUM, 90)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"password":"open sesame","a":1}', '{"password":"[secret, 11 chars]","a":1}'),
        ('{"pin_token": 123456, "n": 123456}', '{"pin_token": 0, "n": 123456}'),
        ("{'password': 'x y'}", "{'password': '[secret, 3 chars]'}"),
        (r'{"a":"{\"apiKey\":\"x\\\"y\"}"}', r'{"a":"{\"apiKey\":\"[secret, 6 chars]\"}"}'),
        ('{"password":"cut', '{"password":"[secret, 3 chars]'),
        ('{"password":""}', '{"password":""}'),
        ('{"password":{"type":"string"}}', '{"password":{"type":"string"}}'),
        ('{"next_page_token":"abc"}', '{"next_page_token":"abc"}'),
        ('{"x":"password","y":"z"}', '{"x":"password","y":"z"}'),
        ('{"password":"[secret, 3 chars]"}', '{"password":"[secret, 3 chars]"}'),
    ],
)
def test_members_of_secret_names_are_hidden_in_text(text: str, shown: str) -> None:
    assert mask(text) == shown
    assert mask(shown) == shown
    assert harmless(text) is (text == shown)


def test_json_text_stays_json_text_of_the_same_shape() -> None:
    value = {"password": "open", "token": 123456, "on": True, "list": [{"secret": ["a", 7]}], "k": KEY}
    hidden = json.loads(mask_json(json.dumps(value)))
    assert _shape(hidden) == _shape(value) == _shape(masked(value))
    assert masked(value)["list"] == [{"secret": ["[secret, 1 chars]", 0]}]


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shape(inner) for name, inner in value.items()}
    return [_shape(inner) for inner in value] if isinstance(value, list) else type(value)


def test_escapes_hide_nothing() -> None:
    escaped = json.dumps({"k": KEY, "u": "postgres://app:Hx7kQ92mmZp@db"}).replace("api03", r"\u0061pi03")
    text = escaped.replace("/", "\\/")
    assert "Hx7kQ92mmZp" not in mask_json(text)
    assert KEY[-30:] not in mask_json(text)
    assert json.loads(mask_json(r'{"a":"\u0022 \u005c \\u0061 \u00e9"}')) == {"a": '" \\ \\u0061 é'}


def test_pairs_of_name_and_value_are_members_too() -> None:
    assert masked([{"name": "Cookie", "value": "sid=1"}, {"name": "Accept", "value": "x"}]) == [
        {"name": "Cookie", "value": "[secret, 5 chars]"},
        {"name": "Accept", "value": "x"},
    ]


def test_names_that_become_equal_stay_two() -> None:
    other = KEY[:-1] + ("a" if KEY[-1] != "a" else "b")
    assert len(masked({KEY: 1, other: 2})) == 2


def test_depth_costs_nothing() -> None:
    value: Any = "x"
    for _ in range(5_000):
        value = {"a": [value]}
    hidden = masked(value)
    for _ in range(5_000):
        hidden = hidden["a"][0]
    assert hidden == "x"


def test_a_key_shows_what_is_equal_and_nothing_else() -> None:
    with redacting(Redaction(key=b"0123456789abcdef")):
        first, second = mask(f"{KEY} {KEY}").split("] [")
        assert first.split("hmac ")[1] == second.split("hmac ")[1].rstrip("]")
        assert "hmac" in visible(KEY)
        assert "hmac" in visible_value({"password": "x"})
    with redacting(Redaction(key=b"another key of 16")):
        assert first.split("hmac ")[1] not in mask(KEY)
    assert "hmac" not in mask(KEY)


def test_unredacted_text_is_still_made_visible() -> None:
    with redacting(Redaction(on=False)):
        assert spans(KEY) == []
        assert masked({"password": "x"}) == {"password": "x"}
        assert visible(f"{KEY}\x1b[2J") == f"{KEY}\\x1b[2J"
        assert visible_value({"password": "\u202e"}) == '{"password":"\\u202e"}'


def test_frames_keep_their_schema_and_order() -> None:
    frame = pl.DataFrame(
        {
            "text": ["plain", f"key {KEY}", None, '{"password":"x"}', "plain"],
            "n": [1, 2, 3, 4, 5],
            "nested": [[{"a": KEY, "b": 1}], [], None, [{"a": "x", "b": 2}], []],
        }
    )
    hidden = masked_frame(frame)
    assert hidden.schema == frame.schema
    assert hidden["text"].to_list() == [
        "plain",
        "key [anthropic-key, 103 chars]",
        None,
        '{"password":"[secret, 1 chars]"}',
        "plain",
    ]
    assert hidden["nested"].to_list()[0] == [{"a": "[anthropic-key, 103 chars]", "b": 1}]
    assert hidden["nested"].to_list()[3] == [{"a": "x", "b": 2}]
    with redacting(Redaction(on=False)):
        assert masked_frame(frame) is frame


def test_nested_values_are_hidden_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_masking, "_BLOCK", 2)
    values = [[{"keyword": "type", "actual": text}] for text in ("1", KEY, "2", '{"password":"open sesame"}', "3")]
    hidden = masked_frame(pl.DataFrame({"failures": values}))["failures"].to_list()
    assert hidden == [masked(value) for value in values]
    assert hidden[0] == values[0]
    assert [value[0]["actual"] for value in hidden[1:4:2]] == [
        "[anthropic-key, 103 chars]",
        '{"password":"[secret, 11 chars]"}',
    ]


@given(st.text(alphabet="{}[]\":, \\passwordtoken01xy'", max_size=200))
def test_masking_ends_and_is_stable(text: str) -> None:
    once = mask(text)
    assert mask(once) == once
    found = spans(text)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize("unit", ['"password":"', '\\\\\\"', '"password" : ', '"a":"b",', "'", '"password":1234,'])
def test_masking_takes_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))  # quadratic time would not end within a day
    assert isinstance(mask(text), str)


def test_json_text_is_masked_by_the_names_around_lists_and_in_pairs() -> None:
    text = '{"api_key":["first of two"],"headers":[{"name":"Cookie","value":"sid of one"}],"n":1.0,"ids":["a"]}'
    shown = mask_json(text)
    assert json.loads(shown) == {
        "api_key": ["[secret, 12 chars]"],
        "headers": [{"name": "Cookie", "value": "[secret, 10 chars]"}],
        "n": 1.0,
        "ids": ["a"],
    }
    plain = '{ "key": ["not one"], "monkey": [1] }'
    assert mask_json(plain) == plain
