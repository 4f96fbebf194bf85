"""Schemas and payloads that ruin validators: remote, explosive, endless, deep, wide, or no schemas at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hostile.wire import session

Case = tuple[str, bytes]


def cases(*, large: bool = False) -> Iterator[Case]:
    """Logs by name."""
    for name, parameters, arguments in (*_references(), *_patterns(), *_endless(), *_odd(), *_wide(large=large)):
        yield f"schema-{name}.ndjson", session(parameters, arguments, output=arguments[:100_000])
    yield from _deep(large=large)
    yield from _many(large=large)


def _x(inner: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": inner}, **more}


def _references() -> Iterator[tuple[str, Any, str]]:
    for number, reference in enumerate(
        (
            "http://127.0.0.1:9/x.json",
            "https://example.test/x.json#/a",
            "file:///etc/hostname",
            "//host/share",
            "urn:uuid:0",
            "other.json",
            "#/$defs/missing",
            "#missing",
            "#/%zz",
            "\x00\x1b]0;PWNED\x07",
            "data:application/json,{}",
            "jar:http://x!/y",
        )
    ):
        yield f"ref-{number}", _x({"$ref": reference}), '{"x":1}'
        yield f"dynamic-ref-{number}", _x({"$dynamicRef": reference}), '{"x":1}'
    yield "remote-dialect", {"$schema": "https://example.test/dialect", **_x({})}, '{"x":1}'
    yield "remote-id", {"$id": "http://127.0.0.1:9/", **_x({"$ref": "x.json"})}, '{"x":1}'
    yield "file-id", {"$id": "file:///etc/", **_x({"$ref": "passwd"})}, '{"x":1}'
    yield "vocabulary", {"$vocabulary": {"http://x.test/v": True}, **_x({})}, '{"x":1}'


def _patterns() -> Iterator[tuple[str, Any, str]]:
    text = json.dumps({"x": "a" * 40 + "!"})
    for number, pattern in enumerate(
        (
            "^(a+)+$",
            "^(?:(?=a)a+)+$",
            "^(a|a)*$",
            "^(a|aa)+$",
            "(.*a){25}",
            r"^(\w+\s?)*$",
            r"(?<=a{1,30})!$",
            r"^(.*)\1\1!$",
            "a{1,30000}{1,30000}",
            "((((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9}){9})",
            r"(?i)^[\p{L}\p{N}]{1,1000}$",
            "(",
            "[z-a]",
            "\\",
            "(?P<n>a)(?P<n>b)",
            "^" + "(" * 500 + "a" + ")" * 500 + "$",
        )
    ):
        yield f"pattern-{number}", _x({"type": "string", "pattern": pattern}), text
        yield f"pattern-names-{number}", {"type": "object", "patternProperties": {pattern: {"type": "integer"}}}, text
    yield (
        "patterns-of-names",
        {"type": "object", "propertyNames": {"pattern": "^(a+)+$"}},
        json.dumps({"a" * 40 + "!": 1}),
    )


def _doubling(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    to = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {**_x({"$ref": "#/$defs/d0"}), "$defs": {**to, f"d{levels}": {"type": "string"}}}


def _endless() -> Iterator[tuple[str, Any, str]]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield f"fan-out-{keyword}", _doubling(20, keyword), '{"x":1}'
        yield f"fan-out-30-{keyword}", _doubling(30, keyword), '{"x":"y"}'
    yield (
        "fan-out-properties",
        {
            "$ref": "#/$defs/d0",
            "$defs": {
                f"d{n}": {"properties": {name: {"$ref": f"#/$defs/d{n + 1}"} for name in "ab"}, "minProperties": 1}
                for n in range(21)
            }
            | {"d21": {}},
        },
        '{"a":{"b":{"a":{"b":{}}}}}',
    )
    yield "self", {"$ref": "#"}, '{"x":1}'
    yield "self-all", {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, '{"x":1}'
    yield "ring", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, '{"x":1}'
    yield "not-not", {"not": {"not": {"$ref": "#"}}}, '{"x":1}'
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3_000)}
    yield "chain", {**_x({"$ref": "#/$defs/d0"}), "$defs": {**chain, "d3000": {"type": "string"}}}, '{"x":1}'
    yield "if-tower", _tower(60), '{"x":1}'
    yield (
        "unevaluated",
        {
            "anyOf": [{"properties": {f"p{n}": {}}, "unevaluatedProperties": False} for n in range(60)],
            "unevaluatedProperties": False,
        },
        json.dumps({f"p{n}": n for n in range(60)}),
    )
    yield "unique", _x({"type": "array", "uniqueItems": True}), json.dumps({"x": [{"a": n} for n in range(2_000)]})
    yield "contains", _x({"contains": {"contains": {"const": 1}}}), json.dumps({"x": [[0] * 50] * 50})


def _tower(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"if": schema, "then": schema if len(json.dumps(schema)) < 2_000 else {}, "else": {"not": {}}}
    return _x(schema)


_NO_SCHEMAS: tuple[Any, ...] = (True, False, None, 1, "x", [], [{}], {"type": "function"}, {"type": 7})


def _odd() -> Iterator[tuple[str, Any, str]]:
    for number, parameters in enumerate(_NO_SCHEMAS):
        yield f"odd-{number}", parameters, '{"x":1}'
    for number, inner in enumerate(
        (
            {"multipleOf": 1e-300},
            {"multipleOf": 0},
            {"minimum": 1e308, "maximum": -1e308},
            {"minLength": 10**30},
            {"maxItems": -1},
            {"enum": []},
            {"enum": [9007199254740993, 9007199254740992.0]},
            {"const": 1.0},
            {"format": "regex"},
            {"format": "\x1b[2J"},
            {"contentEncoding": "base64", "contentMediaType": "application/json"},
            {"type": ["string", "string", "\u202e"]},
            {"$comment": "<script>PWNED</script>", "default": {"__proto__": 1}},
            {"dependentRequired": {"x": ["__proto__", "constructor"]}},
        )
    ):
        yield f"keyword-{number}", _x(inner), '{"x":9007199254740993}'
    names = ["__proto__", "constructor", "__class__", "", "~", "/", "a\x00b", "\u202e", "$ref", "a.b", "*", "[0]", "'"]
    yield (
        "names",
        {"type": "object", "properties": {n: {"type": "integer"} for n in names}, "required": names},
        json.dumps(dict.fromkeys(names, "x")),
    )


def _wide(*, large: bool) -> Iterator[tuple[str, Any, str]]:
    many = 100_000 if large else 600
    yield "enum", _x({"enum": [f"v{n}" for n in range(many)]}), '{"x":"nope"}'
    yield "required", {"type": "object", "required": [f"r{n}" for n in range(many)]}, "{}"
    yield (
        "properties",
        {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(many)}},
        json.dumps({f"p{n}": "x" for n in range(many)}),
    )
    yield "closed", {"type": "object", "additionalProperties": False}, json.dumps({f"p{n}": n for n in range(many)})
    yield "any-of", _x({"anyOf": [{"const": n} for n in range(many)]}), '{"x":"nope"}'
    yield (
        "one-of",
        _x({"oneOf": [{"properties": {"k": {"const": n}}} for n in range(min(many, 3_000))]}),
        '{"x":{"k":7}}',
    )
    yield "items", _x({"type": "array", "items": {"type": "string"}}), json.dumps({"x": list(range(many * 3))})
    yield "long-string", _x({"type": "string", "maxLength": 9}), json.dumps({"x": "y" * many * 100})
    yield "long-name", _x({"type": "string"}, additionalProperties=False), json.dumps({"y" * many * 10: 1})
    yield "long-number", _x({"type": "integer"}), '{"x":' + "9" * 20_000 + "}"


def nested(levels: int, opening: str = '{"a":', closing: str = "}", core: str = "1") -> str:
    """JSON text of that many levels."""
    return opening * levels + core + closing * levels


def _deep(*, large: bool) -> Iterator[Case]:
    tree = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    boundless = {"type": "object", "additionalProperties": {"$ref": "#"}}
    rows = {"type": "array", "items": {"$ref": "#"}}
    dynamic = {"$dynamicAnchor": "t", "type": "object", "properties": {"a": {"$dynamicRef": "#t"}}}
    for levels in (400, 600, 5_000, 100_000) if large else (400, 600, 20_000):
        yield f"deep-tree-{levels}.ndjson", session(tree, nested(levels), output=nested(levels))
        yield f"deep-values-{levels}.ndjson", session(boundless, nested(levels))
        yield f"deep-rows-{levels}.ndjson", session(_x(rows), '{"x":' + nested(levels, "[", "]", "") + "}")
        yield f"deep-dynamic-{levels}.ndjson", session(dynamic, nested(levels))
        yield f"deep-plain-{levels}.ndjson", session({"type": "object"}, nested(levels))
        yield f"deep-cut-{levels}.ndjson", session(tree, nested(levels)[: levels * 5])
        yield f"deep-schema-{levels}.ndjson", _raw_schema(nested(levels, '{"properties":{"a":', "}}", "true"))
        yield f"deep-all-{levels}.ndjson", _raw_schema(nested(levels, '{"allOf":[', "]}", "true"))
        yield (
            f"deep-record-{levels}.ndjson",
            b'{"type":"agent.session.created","session":' + nested(levels).encode() + b"}\n",
        )
        yield f"deep-array-{levels}.json", nested(levels, "[", "]", "").encode()


def _raw_schema(text: str) -> bytes:
    """Deeper than Python's own encoder goes."""
    return session("@@", '{"a":{"a":1}}').replace(b'"@@"', text.encode())


def _many(*, large: bool) -> Iterator[Case]:
    count = 100_000 if large else 400
    tool = {
        "type": "function",
        "description": "d",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}},
    }
    tools = [{**tool, "name": f"t{n}"} for n in range(count)]
    yield "many-tools.ndjson", session({"type": "object"}, "{}", tools=tools)
    yield (
        "many-open-calls.ndjson",
        session({"type": "object"}, "{}", more=[(f"c{n}", '{"x":1}') for n in range(count)], output=None),
    )
    yield "one-id-for-all.ndjson", session({"type": "object"}, "{}", more=[("c", '{"x":1}') for _ in range(count)])
    bad = _x({"type": "string"}, required=["y"], additionalProperties=False)
    yield "many-findings.ndjson", session(bad, '{"x":1,"z":2}', more=[(f"c{n}", '{"x":1,"z":2}') for n in range(count)])
    yield (
        "many-sessions.ndjson",
        b"".join(session({"type": "object"}, "{}", session_id=f"s{n}") for n in range(count // 20)),
    )
