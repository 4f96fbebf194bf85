from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import pointer as p

STEPS = st.lists(
    st.text(max_size=6) | st.sampled_from(["", "~", "/", "~1", "0", "01", "-", "'", "\\", "\n", "\x01", "é"]),
    max_size=6,
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


def walk(value: object) -> list[tuple[list[str | int], object]]:
    out: list[tuple[list[str | int], object]] = []
    todo: list[tuple[list[str | int], object]] = [([], value)]
    while todo:
        steps, here = todo.pop()
        out.append((steps, here))
        if isinstance(here, dict):
            todo.extend(([*steps, key], child) for key, child in here.items())
        elif isinstance(here, list):
            todo.extend(([*steps, index], child) for index, child in enumerate(here))
    return out


@given(STEPS)
def test_pointers_round_trip(steps: list[str]) -> None:
    assert p.parts(p.pointer(steps)) == steps
    assert p.join(p.pointer(steps[:1]), *steps[1:]) == p.pointer(steps)


@given(VALUES)
def test_paths_round_trip_and_keep_the_type_of_each_step(value: object) -> None:
    for steps, _ in walk(value):
        pointer = p.pointer(steps)
        path = p.path(pointer, value)
        assert p.pointer_of_path(path) == pointer
        assert path.isprintable() or any(not str(step).isprintable() for step in steps)
        assert path.count("[") >= len(steps)


@given(VALUES)
def test_resolve_and_parent_follow_the_value(value: object) -> None:
    for steps, child in walk(value):
        pointer = p.pointer(steps)
        assert p.resolve(value, pointer) is child
        if steps:
            assert p.parent(pointer) == p.pointer(steps[:-1])


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_locate_agrees_with_the_parser(value: object, indent: int | None, escaped: bool) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    for steps, child in walk(value):
        start, end = p.locate(raw, p.pointer(steps))
        assert json.loads(raw[start:end].decode("utf-8", "surrogatepass")) == child


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("", "$"),
        ("/item/arguments/0", "$['item']['arguments'][0]"),
        ("/a~1b/m~0n/", "$['a/b']['m~n']['']"),
        ("/it's/back\\slash", r"$['it\'s']['back\\slash']"),
        ("/tab\t/\x0b/\x1b", r"$['tab\t']['\u000b']['\u001b']"),
        ("/007/7", "$['007'][7]"),
    ],
)
def test_normalized_paths(pointer: str, path: str) -> None:
    assert p.path(pointer) == path
    assert p.pointer_of_path(path) == pointer


def test_the_value_decides_between_index_and_name() -> None:
    assert p.path("/0/0", [{"0": 1}]) == "$[0]['0']"
    assert p.path("/0/missing", [{}]) == "$[0]['missing']"
    assert p.path("/a/5", {"a": {}}) == "$['a']['5']"
    assert p.path("/a/b/5", {"a": 1}) == "$['a']['b'][5]"


@pytest.mark.parametrize("pointer", ["a", "/~", "/~2", "#/a"])
def test_what_is_no_pointer(pointer: str) -> None:
    with pytest.raises(ValueError, match="not a JSON Pointer"):
        p.parts(pointer)


@pytest.mark.parametrize(
    "path", ["", "a", "$.a", '$["a"]', "$[01]", "$[-1]", "$['a'", "$[*]", "$['\n']", r"$['\u0041']"]
)
def test_what_is_no_normalized_path(path: str) -> None:
    with pytest.raises(ValueError, match="not a normalized path"):
        p.pointer_of_path(path)


def test_star_groups_elements_and_keeps_names() -> None:
    assert p.star("/items/12/tags/0/name") == "/items/*/tags/*/name"
    assert p.star("/items/012") == "/items/012"
    assert p.star("") == ""


RECORD = {"a": [10, {"b": "x"}], "0": None}


@pytest.mark.parametrize("pointer", ["/b", "/a/2", "/a/-", "/a/01", "/a/1/b/c", "/0/x", "/a/" + "9" * 5000, "/a/x"])
def test_what_leads_nowhere(pointer: str) -> None:
    with pytest.raises(LookupError, match="no"):
        p.resolve(RECORD, pointer)
    with pytest.raises(LookupError, match="nothing at"):
        p.locate(json.dumps(RECORD).encode(), pointer)
    with pytest.raises(LookupError):
        p.parent("")


def span(raw: bytes, pointer: str) -> bytes:
    start, end = p.locate(raw, pointer)
    return raw[start:end]


def test_of_duplicate_members_the_last_one_is_meant() -> None:
    raw = b'\xef\xbb\xbf {"a": {"b": 1}, "\\u0061": {"b": 2, "b" : [3]} , "c": 0}\n'
    assert span(raw, "/a/b") == b"[3]"
    assert span(raw, "/a/b/0") == b"3"
    assert span(raw, "/c") == b"0"
    with pytest.raises(LookupError):
        p.locate(b'{"a": {"b": 1}, "a": 2}', "/a/b")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"a"', b'{"a" 1}', b'{"a":1', b'{"a":[1 2]}', b'{"b":"', b"{]", b'{"a":1]', b"nonsense"]
)
def test_what_is_no_json_leads_nowhere(raw: bytes) -> None:
    with pytest.raises(LookupError):
        p.locate(raw, "/a/1")


def test_depth_and_unclosed_strings_cost_one_pass() -> None:
    deep = 20_000
    raw = b'{"a":' * deep + b"1" + b"}" * deep
    assert span(raw, "/a" * deep) == b"1"
    assert span(raw, "/a" * (deep - 1)) == b'{"a":1}'
    assert span(b"[" * deep + b"]" * deep, "/0") == b"[" * (deep - 1) + b"]" * (deep - 1)
    with pytest.raises(LookupError):
        p.locate(b'{"a":"' + b'\\"' * 500_000, "/a")
    assert p.path("/0" * deep).count("[0]") == deep
