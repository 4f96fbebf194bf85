r"""A member of the arguments is a string that holds the value its schema wants.

What it says: the schema asks for a number, a boolean, null, a list or an object; the member is a string, and what the
string decodes to has the type asked for. Every failure of the call is of this kind.
Why it matters: the value is right and its encoding is wrong. Some servers coerce it, the next one refuses, and a
coerced "false" is true in more than one language.
Bad:
    tool find {"type":"object","properties":{"filter":{"type":"object"},"limit":{"type":"integer"}}}
    call c1 find {"filter":"{\"open\":true}","limit":"5"}
    result c1 failed invalid arguments
Good:
    tool find {"properties":{"filter":{"type":"object"},"text":{"type":"string"},"id":{"type":["integer","string"]}}}
    call c1 find {"filter":{"open":true},"text":"[]","id":"5"}
    result c1 ok {}
Blind spots: only the type of the decoded value is compared: whether it keeps to its own bounds is not looked at.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.pointer import resolve
from analyzer.rules.failures import decided
from analyzer.rules.hits import hits
from analyzer.rules.payloads import NO_JSON, decode, json_type, layers, short
from analyzer.trace import Trace


def check(trace: Trace) -> pl.LazyFrame:
    """Invalid calls of which every failure is a string that decodes to a value of the type asked for."""
    wrong = decided(trace, "arguments", "call").filter(pl.col("verdict_is") == "invalid").select("verdict", "call")
    failures = trace.violations.lazy().join(wrong, on="verdict").sort("verdict", "position")
    # A call is a candidate only where a wanted type was missed by a string.
    candidates = failures.filter(
        pl.col("keyword").is_in(["type", "anyOf", "oneOf"]), pl.col("actual").str.starts_with('"')
    )
    texts = trace.calls.lazy().select("call", "text")
    rows = (
        failures.join(candidates.select("verdict").unique(), on="verdict")
        .join(texts, on="call")
        .sort("verdict", "position")
    )
    by_verdict: dict[int, list[dict[str, Any]]] = {}
    for row in rows.collect().iter_rows(named=True):
        by_verdict.setdefault(row["verdict"], []).append(row)
    return hits(hit for group in by_verdict.values() if (hit := _explain(group)) is not None)


def _explain(failures: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The hit, if strings explain every failure of one verdict."""
    _, payload = layers(failures[0]["text"] or "")
    explained: dict[str, str] = {}
    for failure in failures:
        where, wanted = failure["instance_pointer"], _types(failure)
        if any(where == known or where.startswith(f"{known}/") for known in explained):
            continue
        try:
            value = resolve(payload, where)
        except LookupError:
            return None
        inner = decode(value) if isinstance(value, str) and where else NO_JSON
        if inner is NO_JSON or not wanted & (
            {json_type(inner)} | ({"number"} if json_type(inner) == "integer" else set())
        ):
            return None
        explained[where] = (
            f"{where} is the string {short(value, 40)} where the schema wants {' or '.join(sorted(wanted))}"
        )
    first = min(explained)
    return {
        "call": failures[0]["call"],
        "verdict": failures[0]["verdict"],
        "message": f"{'; '.join(explained[where] for where in sorted(explained)[:3])}.",
        "hint": "Send the value itself: the string decodes to what the schema asks for.",
        "keyword": "type",
        "instance_pointer": first,
    }


def _types(failure: dict[str, Any]) -> set[str]:
    """The JSON types that a failed `type`, or a choice between types, asks for; empty where a string would do."""
    expected = decode(failure["expected"] or "")
    if failure["keyword"] == "type":
        found = {expected} if isinstance(expected, str) else set(expected) if isinstance(expected, list) else set()
    elif failure["keyword"] in ("anyOf", "oneOf") and isinstance(expected, list):
        found = set()
        for branch in expected:
            kind = branch.get("type") if isinstance(branch, dict) else None
            found |= {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else set()
    else:
        return set()
    return set() if "string" in found else found
