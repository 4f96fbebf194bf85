"""Which patterns are blamed for exponential backtracking, and which are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.contracts.verdicts.backtracking import explosive

BAD = [
    "^(a+)+$",
    "^(a*)*$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(a|b|ab)*c$",
    "^(.*a)*b$",
    "^(\\w+\\s?)*$",
    "^([a-zA-Z0-9]+)*@",
    "^(a?a?)*$",
    "^(?:(?=a)a+)+$",
    "^(?:(a+)\\1?)+$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "^(\\d+|[0-9a-f]+)*x$",
    "^(\\w{1,5})*$",
    "^(a{1,64}){1,64}$",
    "^(\\p{L}+)*$",
    "^((ab)*)*c",
    "^(a|[^b])+$",
    "(x+x+)+y",
    "^(?<part>[a-z]+-?)+$",
    "(?=(a+)+$)x",
    "^(\\u0061|a)*$",
    "^([\\x61-\\x63]|b)*$",
    "^(é|[^a-z])*$",
    "(a?){30}a{30}",
    "^(a?){30}$",
    "^(?:a|b?){20}c",
]

GOOD = [
    "",
    "(a?){30}",
    "^(a?){0,30}$",
    "^(?:a?b){20}$",
    "^ORD-[0-9]{4}$",
    "^[a-z0-9]+(?:-[a-z0-9]+)*$",
    "^(a+b)*$",
    "^(\\w+\\s)*$",
    "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$",
    "^\\d{3}(-\\d{3})*$",
    "^(\\d{3})*$",
    "^(ab|cd)*$",
    "^(foo|far)*$",
    "^(a|ab)*$",
    "^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$",
    "^(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}$",
    '^("[^"\\\\]*(?:\\\\.[^"\\\\]*)*")$',
    "^(\\/[^\\/]+)+$",
    "(a+)+",
    "^(a+)+",
    ".*.*.*x",
    "^(?!.*secret).*$",
    "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    "^(\\b\\w+\\b)*$",
    "^[A-Z]{1,3}(,[A-Z]{1,3})*$",
    "^(é|[a-z])*$",
    "(",
    "a**",
    "[z-a]",
    "(?>a+)+$",
    "\\",
    "[",
    "a" * 100_000,
    "(" * 5_000 + ")" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("pattern", BAD)
def test_exponential_patterns_are_blamed(pattern: str) -> None:
    assert explosive(pattern)


@pytest.mark.parametrize("pattern", GOOD, ids=lambda pattern: pattern[:40])
def test_others_are_not(pattern: str) -> None:
    assert not explosive(pattern)


@given(st.text(alphabet="ab()[]{}|*+?.\\^$-,12dw", max_size=40))
def test_any_text_has_an_answer(pattern: str) -> None:
    assert explosive(pattern) in {True, False}


def test_large_patterns_are_left_undecided_in_bounded_work() -> None:
    assert not explosive("^(" + "|".join(["[a-z]*"] * 140) + ")*$")
    assert not explosive("^" + "(a|b?)*" * 200 + "$")
