"""What a validator says is found by quick words first: no wording may hold without one of its own."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.rules.drift.refusal import refusal
from analyzer.rules.drift.wordings import CONSTRAINTS, LONGEST, worded

_WORDINGS = [wording for wordings in CONSTRAINTS.values() for wording in wordings]


def _maybe(text: str) -> bool:
    return bool(pl.DataFrame({"said": [text]}).select(worded(pl.col("said"))).item())


@pytest.mark.parametrize(
    "wording", _WORDINGS, ids=[f"{number}-{wording[0].strip()}" for number, wording in enumerate(_WORDINGS)]
)
@given(data=st.data())
def test_a_wording_holds_one_of_its_words(wording: tuple[str, ...], data: st.DataObject) -> None:
    *words, pattern = wording
    text = data.draw(st.from_regex(pattern))
    assert any(word in text for word in words)
    assert _maybe(text) or len(text) > LONGEST


@pytest.mark.parametrize(
    "text",
    [
        "1 validation error for Search\nlimit\n  Input is wrong [type=too_odd, input_value=1]",
        '[{"code":"too_big","path":["limit"],"message":"big"}]',
    ],
)
def test_what_a_validator_lists_is_found_by_its_words(text: str) -> None:
    assert _maybe(text)


@given(st.text(max_size=200), st.sampled_from([word for *words, _ in _WORDINGS for word in words]))
def test_a_text_without_the_words_is_no_refusal(text: str, word: str) -> None:
    for said in (text, f"{text}{word}limit {text}"):
        assert _maybe(said) or refusal(said, {"limit": 1}) is None


def test_a_text_that_says_nothing_is_not_looked_at() -> None:
    found = pl.DataFrame({"said": [None, "", "12 rows", "limit is a required property"]}).select(worded(pl.col("said")))
    assert found["said"].to_list() == [None, False, False, True]
