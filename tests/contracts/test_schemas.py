"""Schemas as values, their dialects, and the type systems mapped into JSON Schema."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.contracts import dialects, schemas

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@given(JSON)
def test_canonical_form_is_json_with_sorted_members_and_reads_back(value: object) -> None:
    text = schemas.canonical(value)
    assert json.loads(text) == value
    assert schemas.canonical(json.loads(text)) == text


def test_canonical_form_ignores_member_order_and_keeps_numbers_apart() -> None:
    assert schemas.schema_id({"a": 1, "b": [2]}) == schemas.schema_id({"b": [2], "a": 1})
    assert schemas.canonical({"maximum": 1}) != schemas.canonical({"maximum": 1.0})
    assert schemas.canonical({"é": 2**70}) == b'{"\xc3\xa9":1180591620717411303424}'


def test_schema_id_is_short_and_stable() -> None:
    assert schemas.schema_id({"type": "object"}) == "s_5ac086aa1f6f5796"


def test_deep_values_are_spelled_like_shallow_ones() -> None:
    shallow = {"b": [1, "x", None, {"a": [], "é": {}}], "a": {"k": 1.5, "j": True}}
    assert "".join(schemas._spell(shallow)).encode() == schemas.canonical(shallow)
    deep: object = 1
    for _ in range(100_000):
        deep = {"items": [deep]}
    assert schemas.canonical(deep).startswith(b'{"items":[{"items":[')


def test_lone_surrogates_have_a_digest_of_their_own() -> None:
    assert schemas.schema_id("\ud800") != schemas.schema_id("?")


@pytest.mark.parametrize(
    ("value", "levels"), [(1, 0), ([], 1), ({"a": 1}, 1), ({"a": [1, {}], "b": 2}, 3), (nested(40_000), 40_000)]
)
def test_depth_counts_containers(value: object, levels: int) -> None:
    assert schemas.depth(value) == levels


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b"[" * 500 + b"]" * 500, False),
        (b"[" * 501 + b"]" * 501, True),
        (b"[" * 501, True),
        (b'{"a":' * 501 + b"1" + b"}" * 501, True),
        (b"[" + b"[]," * 900 + b"[]]", False),
        (b'["' + b"[" * 900 + b'"]', False),
        (b'["\\"' + b"[" * 900 + b'"]', False),
        (b'["\\\\",' + b"[" * 501, True),
        (b'["' + b"[" * 900, False),
        (b'"\\"' * 400_000 + b"[" * 499, False),
    ],
)
def test_depth_is_known_before_parsing(text: bytes, deep: bool) -> None:
    assert schemas.too_deep(text) is deep


def test_schemas_are_decoded_exactly_and_under_limits() -> None:
    assert schemas.decode(b'\xef\xbb\xbf{"maximum": 123456789012345678901234567890}') == {
        "maximum": 123456789012345678901234567890
    }
    for raw, why in [
        (b"{'a': 1}", "not JSON"),
        (b"NaN", "not JSON"),
        (b'{"a": "\\ud800"}', "not JSON"),
        (b"[" * 501 + b"]" * 501, "deeper than 500"),
        (b'"' + b"x" * schemas.MAX_SCHEMA_BYTES + b'"', "bytes"),
        (b"", "not JSON"),
    ]:
        with pytest.raises(ValueError, match=why):
            schemas.decode(raw)


@pytest.mark.parametrize(
    ("uri", "dialect"),
    [
        ("http://json-schema.org/draft-04/schema#", "draft-04"),
        ("http://json-schema.org/draft-06/schema", "draft-06"),
        ("https://json-schema.org/draft-07/schema#", "draft-07"),
        ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
        ("http://json-schema.org/draft/2020-12/schema#", "2020-12"),
    ],
)
def test_the_dialect_is_the_one_a_schema_names(uri: str, dialect: str) -> None:
    schema = {"$schema": uri}
    assert dialects.dialect_of(schema, default="draft-04") == dialect
    assert dialects.unknown_dialect(schema) is None


@pytest.mark.parametrize("named", ["http://example.test/my-dialect", "", 7, None])
def test_an_unknown_dialect_is_the_default_and_is_told(named: object) -> None:
    assert dialects.dialect_of({"$schema": named}, default="draft-07") == "draft-07"
    assert dialects.unknown_dialect({"$schema": named}) == str(named)
    assert dialects.dialect_of(True) == "2020-12"
    assert dialects.unknown_dialect(True) is None


@pytest.mark.parametrize(
    ("gemini", "expected"),
    [
        (
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        (
            {"type": 6, "properties": {"type": {"type": 3}}},
            {"type": "object", "properties": {"type": {"type": "integer"}}},
        ),
        ({"type": "STRING", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "STRING", "nullable": False}, {"type": "string"}),
        ({"nullable": True, "any_of": [{"type": "STRING"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"type": "ARRAY", "items": {"type_": "NUMBER"}, "minItems": "1"},
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
        ),
        ({"type": "TYPE_UNSPECIFIED", "max_length": 3}, {"maxLength": 3}),
        ({"type": 99}, {}),
        ({"type": "object", "enum": [{"type": "STRING"}]}, {"type": "object", "enum": [{"type": "STRING"}]}),
        (True, True),
    ],
)
def test_gemini_types_become_json_schema(gemini: object, expected: object) -> None:
    before = json.dumps(gemini)
    assert dialects.from_gemini(gemini) == expected
    assert json.dumps(gemini) == before


@pytest.mark.parametrize(
    ("bfcl", "expected"),
    [
        (
            {"type": "dict", "properties": {"a": {"type": "float"}}},
            {"type": "object", "properties": {"a": {"type": "number"}}},
        ),
        ({"type": "tuple", "items": {"type": "any"}}, {"type": "array", "items": {}}),
        ({"type": "HashMap"}, {"type": "object"}),
        ({"type": "string"}, {"type": "string"}),
    ],
)
def test_bfcl_types_become_json_schema(bfcl: object, expected: object) -> None:
    assert dialects.from_bfcl(bfcl) == expected


def test_foreign_types_are_recognised_at_the_root() -> None:
    assert [
        dialects.is_gemini(s) for s in ({"type": "OBJECT"}, {"type": 6}, {"type_": "x"}, {"type": "object"}, True)
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert dialects.is_bfcl({"type": "dict"})
    assert not dialects.is_bfcl({"type": "object"})


def test_mapping_is_not_stopped_by_depth() -> None:
    deep: object = {"type": "STRING"}
    for _ in range(50_000):
        deep = {"type": "ARRAY", "items": deep}
    assert isinstance(dialects.from_gemini(deep), dict)
