"""Valid arguments carry the shape of an injection in a field that the schema leaves open.

What it says: a string holds a way out of a directory, a shell or SQL fragment, or an order to a model, where the
schema has neither enum nor pattern. The call passed the gate.
Why it matters: the schema could have refused it. Whether the executor is careful is now the only question left.
Bad:
    tool get_file {"type":"object","properties":{"path":{"type":"string"}}}
    call c1 get_file {"path":"../../etc/passwd"}
    result c1 ok root
Good:
    tool get_file {"properties":{"path":{"type":"string","pattern":"^[a-z./]+$"},"sql":{"type":"string"}}}
    call c1 get_file {"path":"../../etc/passwd","sql":"SELECT a FROM t UNION SELECT b FROM u"}
    result c1 ok root
Blind spots: shapes, not meaning: a quotation looks the same. Members that carry commands or queries by their name,
and tools declared to be shells, are left out. Credentials are output-secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import polars as pl

from analyzer.contracts.naming import string_class
from analyzer.pointer import join
from analyzer.rules.hits import hits
from analyzer.rules.payloads import NO_JSON, decode, error_speakers, layers
from analyzer.rules.safe.orders import GATE, ORDER
from analyzer.trace import Trace

_VERBS = r"(?:rm|curl|wget|nc|bash|sh|powershell|cat|chmod|sudo)"
_CHANGES = "(?:drop|delete|truncate|alter|update|insert)"
_SHAPES = {
    "a path that leaves its directory": r"(?:\.\.[\\/]){2,}|(?:^|[\s\"'=])\.\.[\\/](?:etc|root|home|var|proc|windows)\b"
    r"|/etc/(?:passwd|shadow)\b|%2e%2e(?:%2f|/)",
    "a shell fragment": rf"[;&|]\s*{_VERBS}\s+[-/~\w.]|\$\({_VERBS}\b|\$\((?:id|whoami)\)|\|\s*(?:ba|z)?sh\b",
    "an SQL fragment": r"'\s*(?:or|and)\s+'?\w+'?\s*=\s*'?\w*|\bunion\s+(?:all\s+)?select\b"
    rf"|;\s*{_CHANGES}\s+\w|'\s*;?\s*--",
    "an order to a model": ORDER,
}
_ANY = (
    rf"\.\.[\\/]|%2[eE]%2[eE]|/etc/|[;&|]\s*(?:{_VERBS}|{_CHANGES}|{_CHANGES.upper()})\b"
    rf"|\$\(|'\s*(?:or|OR|Or|and|AND)\b|(?:union|UNION)\s|'\s*;?\s*--|{GATE}"
)
_LAWFUL = {"command", "query"}
_CLOSED = ("enum", "const", "pattern", "format")


def check(trace: Trace) -> pl.DataFrame:
    """Valid calls with a suspicious string in an open member."""
    marked = trace.calls.filter(trace.calls["text"].str.contains(_ANY))
    if marked.is_empty():
        return hits(())
    suspects = (
        marked.filter(pl.col("kind").is_in(["function", "mcp"]), ~pl.col("tool").is_in(error_speakers(trace)))
        .join(_valid(trace), on="call")
        .join(trace.schemas.select("schema_id", schema="text"), on="schema_id", how="left")
        .sort("call")
        .select("call", "text", "schema")
    )
    found = []
    for call, arguments, schema in suspects.iter_rows():
        _, value = layers(arguments)
        root = decode(schema) if schema else {}
        for where, what in _suspicious(value, root if root is not NO_JSON else {}, root, ""):
            found.append(
                {
                    "call": call,
                    "message": f"{where} holds {what}, and its schema takes any text.",
                    "hint": "Give the member a pattern or an enum, and have the executor treat it as data.",
                    "keyword": what.split()[1],
                    "instance_pointer": where,
                }
            )
            break
    return hits(found)


def _valid(trace: Trace) -> pl.DataFrame:
    return trace.verdicts.filter(
        pl.col("role") == "arguments", pl.col("side") == "advertised", pl.col("verdict_is") == "valid"
    ).select("call", "schema_id")


def _suspicious(value: Any, schema: Any, root: Any, where: str, name: str = "") -> Iterator[tuple[str, str]]:
    schema = _followed(schema, root)
    if isinstance(value, dict):
        members = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
        for key, inner in value.items():
            yield from _suspicious(inner, members.get(key, {}), root, join(where, key), key)
    elif isinstance(value, list):
        for index, inner in enumerate(value[:1000]):
            yield from _suspicious(inner, schema.get("items", {}), root, join(where, index), name)
    elif isinstance(value, str) and string_class(name) not in _LAWFUL and not any(word in schema for word in _CLOSED):
        what = next((what for what, pattern in _patterns().items() if pattern.search(value[:20_000])), None)
        if what is not None:
            yield where, what


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        what: re.compile(pattern if what.endswith("model") else f"(?i:{pattern})") for what, pattern in _SHAPES.items()
    }


def _followed(schema: Any, root: Any) -> dict[str, Any]:
    for _ in range(20):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/") or not isinstance(root, dict):
            break
        schema = root
        for step in reference[2:].split("/"):
            schema = schema.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(schema, dict) else {}
    return schema if isinstance(schema, dict) else {}
