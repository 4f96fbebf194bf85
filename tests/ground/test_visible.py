from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.visible import homoglyph_note, visible, visible_lines, visible_value

from .tokens import ALNUM, POSITIVE, draw, jwt, signed

# Stated anew, and by code point: C0, DEL, C1, soft hyphen, bidi, zero width, separators, surrogates, fillers, tags.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
NASTY = st.text(
    st.characters()
    | st.sampled_from("\x1b\x07\r\n\t\x9b\u202e\u2066\u200b\u200d\ufeff\ufe0f\ud83d\udc00e\u0301👍🏽🇩🇪\\")
)
SECRETS = st.integers(0, 10**6).map(lambda seed: POSITIVE[seed % len(POSITIVE)][1](random.Random(seed)))


@given(NASTY, st.integers(1, 60))
def test_nothing_invisible_comes_through_and_nothing_endless(text: str, limit: int) -> None:
    shown = visible(text, limit=limit)
    assert not UNSAFE.search(shown)
    assert all(unicodedata.category(char)[0] != "C" for char in shown)
    assert len(shown) <= limit + len("… (99999 more)")
    assert not UNSAFE.search(visible_lines(text).replace("\n", ""))
    assert visible_lines(text).count("\n") == text.count("\n")
    assert not UNSAFE.search(visible_value({text: [text]}, limit=limit))
    assert not UNSAFE.search(homoglyph_note(text) or "")


@given(NASTY)
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    shown = visible(text, limit=10_000)
    assert visible(shown, limit=10_000) == shown


@given(NASTY, SECRETS, NASTY, st.integers(1, 300))
def test_no_planted_secret_comes_through(before: str, planted: tuple[str, str], after: str, limit: int) -> None:
    text, secret = planted
    text = f"{before} {text} {after}"
    escaped = json.dumps(secret)[1:-1]
    for shown in (
        visible(text, limit=limit),
        visible_lines(text, limit=limit),
        visible_value([text, {text: text}], limit=limit),
    ):
        assert secret not in shown
        assert escaped not in shown
        assert secret[8:24] not in shown


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_its_own_picture(text: str) -> None:
    assert visible(text) == text or "[" in visible(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("red \x1b[31m\x9b", r"red \x1b[31m\x9b"),
        ("two\nlines\tand\r", r"two\nlines\tand\r"),
        ("evil\u202etxt.exe", r"evil\u202etxt.exe"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("half \ud83d", r"half \ud83d"),
        ("no\u00a0break\u3000", r"no\xa0break\u3000"),
        ("private \ue000", r"private \ue000"),
        ("größe 数据 Việt नमस्ते", "größe 数据 Việt नमस्ते"),
        ("👍🏽 🇩🇪 ❤\ufe0f", "👍🏽 🇩🇪 ❤\ufe0f"),
        ("a\ufe0f \ufe0f 👍\ufe0f\ufe0f", r"a\ufe0f \ufe0f 👍" + "\ufe0f" + r"\ufe0f"),
        ("x" + "\u0301" * 5, "x" + "\u0301" * 3 + r"\u0301\u0301"),
        ("\u0301x\n\u0301", r"\u0301x\n\u0301"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("x" * 500, 4, "xxxx… (496 more)"),
        ("x" * 5, 5, "xxxxx"),
        ("ab\x1b\x1b", 7, r"ab\x1b… (1 more)"),
        ("abe\u0301f", 3, "ab… (3 more)"),
        ("a👍🏽b", 2, "a… (3 more)"),
        ("🇩🇪🇫🇷", 3, "🇩🇪… (2 more)"),
        ("x" * 100_000, 3, "xxx… (99997 more)"),
    ],
)
def test_cuts_say_how_much_is_missing(text: str, limit: int, shown: str) -> None:
    assert visible(text, limit=limit) == shown


def test_a_secret_that_ends_behind_the_limit_is_masked() -> None:
    rng = random.Random(4)
    for secret in (signed(rng, "ghp_"), jwt(rng), "sk-ant-api03-" + draw(rng, ALNUM, 93)):
        for text in (secret, secret + " " + "prose " * 5_000, "x" * 15 + " " + secret * 400):
            shown = visible(text, limit=20)
            assert secret[4:] not in shown
            assert secret[:12] not in shown
    many = " ".join(signed(rng, "ghp_") for _ in range(400))
    assert "ghp_" not in visible(many, limit=5_000)
    assert "ghp_" not in visible_value([many], limit=5_000)


def test_lines_stay_and_tabs_are_spaces() -> None:
    assert visible_lines("a\n\tb\r\n\x1b") == "a\n    b\\r\n\\x1b"
    assert visible_lines("ab\ncd", limit=3) == "ab\n… (2 more)"


def test_values_are_compact_json_with_members_of_secret_names_masked() -> None:
    value = {
        "password": "hunter2",
        "n": [1, 2.5, None, True, 'a"\x1b'],
        "api_keys": ["one", 22],
        "max_tokens": 5,
        "é": "数",
    }
    assert visible_value(value, limit=500) == (
        r'{"password":"[secret, 7 chars]","n":[1,2.5,null,true,"a\"\u001b"],'
        r'"api_keys":["[secret, 3 chars]","[secret, 2 chars]"],"max_tokens":5,"é":"数"}'
    )
    schema = {"properties": {"password": {"type": "string"}}, "password": None, "token": ""}
    assert visible_value(schema, limit=500) == json.dumps(schema, separators=(",", ":"))
    assert visible_value("x" * 99, limit=5) == '"xxxx… (96 more)'
    assert visible_value({}) == "{}"
    assert visible_value({"a": 10**6000, "b": {1, 2}}) == '{"a":<integer of 19932 bits>,"b":<set>}'


def test_deep_and_huge_values_are_shown_from_the_top() -> None:
    deep: object = 1
    for _ in range(50_000):
        deep = {"a": [deep]}
    assert visible_value(deep, limit=10) == '{"a":[{"a"…'
    assert visible_value(["x" * 10_000_000] * 3, limit=5) == '["xxx…'
    assert visible_value(list(range(10**6)), limit=6) == "[0,1,2…"


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("get_weather", None),
        ("größe_ändern", None),
        ("取得_データ_v2", None),
        ("погода", None),
        ("g\u0435t_weather", "mixes Latin with Cyrillic U+0435; reads as get_weather"),
        ("\u0441\u043e\u0440\u0443", "reads as copy"),
        ("get\u200b_x", "holds invisible U+200B; reads as get_x"),
        ("get\x00", "holds invisible U+0000; reads as get"),
        ("\uff47\uff45\uff54", "reads as get"),
        ("\u03b1\u0430b", "mixes Latin with Cyrillic U+0430 and Greek U+03B1; reads as aab"),
    ],
)
def test_names_that_look_like_others(name: str, note: str | None) -> None:
    assert homoglyph_note(name) == note


def test_the_ground_floor_is_light() -> None:
    code = (
        "import sys, analyzer.visible, analyzer.pointer, analyzer.secrets;"
        "print([m for m in ('polars', 'textual', 'rich', 'jsonschema', 'deepdiff', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
