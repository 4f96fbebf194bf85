"""The JSON view: what is written is shown, unfolding is exact, depth and size cost nothing until looked at."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import pointer
from analyzer.tui.jsonlines import CHUNK, JsonLines
from analyzer.tui.panes import jq_path, path_of

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def text(model: JsonLines, row: int) -> str:
    return "".join(part for part, _ in model.spans(row, 100)).strip()


def leaves(value: Any, steps: tuple[str | int, ...] = ()) -> list[str]:
    here = [pointer.join("", *steps)]
    if isinstance(value, dict):
        return here + [leaf for key, inner in value.items() for leaf in leaves(inner, (*steps, key))]
    if isinstance(value, list):
        return here + [leaf for at, inner in enumerate(value) for leaf in leaves(inner, (*steps, at))]
    return here


@given(VALUES)
def test_unfolding_everything_gives_every_value_once_and_in_order(value: Any) -> None:
    model = JsonLines(json.dumps(value).encode())
    assert model.unfold_below(0)
    plain = [line.pointer() for line in model.lines if line.raw is model.raw]
    assert plain == leaves(value)


@given(VALUES)
def test_every_pointer_is_revealed_and_resolves_to_the_value_of_its_line(value: Any) -> None:
    raw = json.dumps(value).encode()
    for address in leaves(value):
        model = JsonLines(raw)
        row = model.reveal(address)
        assert row is not None
        line = model.lines[row]
        assert json.loads(line.text()) == pointer.resolve(value, address)
        assert pointer.pointer_of_path(path_of(line)) == address


@given(VALUES, st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=12))
def test_folding_and_unfolding_never_lose_a_line(value: Any, steps: list[tuple[int, bool]]) -> None:
    model = JsonLines(json.dumps(value).encode())
    for row, open_ in steps:
        if open_:
            model.unfold(row % model.height)
        else:
            model.fold(row % model.height)
        depths = [line.depth for line in model.lines]
        assert depths[0] == 0
        assert all(after <= before + 1 for before, after in pairwise(depths))
    model.fold(0)
    assert model.height == 1


def test_what_parsers_hide_is_shown_as_it_was_written() -> None:
    model = JsonLines(b'{"a": 1, "a": 2, "big": 1e400, "long": 12345678901234567890123, "bad": "\xff"}')
    shown = [text(model, row) for row in range(model.height)]
    assert shown[1:] == ["a  1", "a  2", "big  1e400", "long  12345678901234567890123", 'bad  "\\xff"']
    assert model.reveal("/a") == 2  # of duplicates the last one, as parsers have it


def test_strings_that_hold_json_open_in_place() -> None:
    inner = json.dumps({"path": {"deep": [1, {"x": "y"}]}})
    model = JsonLines(json.dumps({"arguments": inner}).encode())
    row = model.reveal("/arguments/path/deep/1/x")
    assert row is not None
    line = model.lines[row]
    assert (line.pointer(), line.text()) == ("/arguments/path/deep/1/x", '"y"')
    assert path_of(line) == "$['arguments']['path']['deep'][1]['x']"
    assert jq_path(line) == ".arguments|fromjson|.path.deep[1].x"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"a":1', "byte 6"),
        (b'{"a":[1,2', "ends inside a value"),
        (b'{"a" 1}', "byte 5"),
        (b"[1,]", "byte 3"),
        (b'{"a":1,"b', "byte 7"),
    ],
)
def test_a_broken_record_is_shown_as_far_as_it_goes(raw: bytes, said: str) -> None:
    model = JsonLines(raw)
    model.unfold_below(0)
    assert said in text(model, model.height - 1)


@pytest.mark.parametrize("raw", [b"", b"   ", b"nonsense", b"{", b'"', b"\x00\xff", b"}"])
def test_nonsense_is_one_line_or_two_and_never_an_error(raw: bytes) -> None:
    model = JsonLines(raw)
    for row in range(model.height):
        model.spans(row, 40)
    assert model.height <= 2


def test_depth_is_no_limit() -> None:
    depth = 100_000
    model = JsonLines(b"[" * depth + b"]" * depth)
    row = model.reveal("/0" * 5_000)
    assert row is not None
    assert model.lines[row].depth == 5_000
    assert text(model, row).startswith("(5000)")


def test_many_children_come_in_pieces_and_any_is_found() -> None:
    model = JsonLines(json.dumps(list(range(5 * CHUNK))).encode())
    assert model.height == CHUNK + 2  # the list, a chunk, "more"
    assert "bytes more" in text(model, model.height - 1)
    row = model.reveal(f"/{4 * CHUNK + 7}")
    assert row is not None
    assert text(model, row).endswith(str(4 * CHUNK + 7))
    model.unfold(model.height - 1)
    assert model.reveal(f"/{5 * CHUNK - 1}") is not None


def test_a_secret_is_named_and_not_shown() -> None:
    model = JsonLines(json.dumps({"password": "hunter2hunter2", "api_key": "abc"}).encode())
    shown = "".join(text(model, row) for row in range(model.height))
    assert "hunter2" not in shown
    assert "chars]" in shown


def test_flags_mark_the_place_and_the_folded_way_to_it() -> None:
    raw = json.dumps({"a": {"b": {"c": 1}}, "d": 2}).encode()
    model = JsonLines(raw, flagged={"/a/b/c": ("error", "type: string")})
    assert text(model, 1).startswith("✖ ▸ a")
    row = model.reveal("/a/b/c")
    assert row is not None
    assert ("type: string" in text(model, row), text(model, row).startswith("✖")) == (True, True)


def test_find_unfolds_what_holds_the_text() -> None:
    raw = json.dumps({"a": [{"x": "needle one"}, {"needle": 2}], "z": "NEEDLE"}).encode()
    model = JsonLines(raw)
    rows: list[str] = []
    at = 0
    while (row := model.find("needle", at, 1)) is not None and len(rows) < 5:
        rows.append(model.lines[row].pointer())
        at = row + 1
    assert rows == ["/a/0/x", "/a/1/needle", "/z"]
    assert model.find("needle", model.height - 1, -1) == model.reveal("/z")


def test_levels() -> None:
    model = JsonLines(json.dumps({"a": {"b": {"c": {}}}}).encode())
    counts = []
    for level in range(1, 4):
        model.fold_to(level)
        counts.append(model.height)
    assert counts == [2, 3, 4]
