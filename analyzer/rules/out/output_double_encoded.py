r"""The output was encoded as JSON twice.

What it says: the output decodes to a string that decodes to an object or a list (the message counts the layers), or a
whole MCP result stands as text inside a result.
Why it matters: a reader that decodes once gets a string without members. The model sees escaped quotes, spends tokens
on them, and copies the escapes into its next call.
Bad:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok "{\"total\":12}"
Good:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok {"total":12}
    call c2 get_order
    result c2 ok "all sold"
    call c3 get_order
    result c3 ok {"template":"[1]"}
Blind spots: members that hold JSON text are output-stringly. An output whose contract wants
just such a string is lawful.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.failures import accepted
from analyzer.rules.hits import NONE, hits
from analyzer.rules.payloads import decode, json_type, layers
from analyzer.trace import Trace

_RESULT_MEMBERS = {"content", "isError", "structuredContent", "_meta", "resultType"}
_WHOLE = rf'^\s*\{{\s*"(?:{"|".join(sorted(_RESULT_MEMBERS))})"'
_PARTS = {"text", "image", "audio", "resource", "resource_link"}


def check(trace: Trace) -> pl.DataFrame:
    """Results whose text holds a text that holds a container, or a whole MCP result."""
    texts = trace.results["text"]
    opening = trace.results.filter(texts.str.contains(r'^\s*"') | texts.str.contains(_WHOLE))
    if opening.is_empty():
        return NONE
    results = opening.filter(
        pl.col("container").is_in(["text", "parts"]),
        ~pl.col("result").is_in(accepted(trace, opening["result"]).implode()),
    )
    found = []
    for result, output, structured in results.select("result", "text", "structured").iter_rows():
        count, value = layers(output)
        if count == 1 and isinstance(value, dict) and _is_result(value):
            said = "The output is a whole MCP result (content parts and all) as one JSON text."
        elif count > 1 and isinstance(value, dict | list) and not (structured and decode(structured) == decode(output)):
            said = f"The output is JSON text inside JSON text: {count} layers around the {json_type(value)}, not one."
        else:
            continue
        hint = "Serialise once: hand the value over, or its JSON text, but not the text's JSON."
        found.append({"result": result, "message": said, "hint": hint, "keyword": "encoding"})
    return hits(found)


def _is_result(value: dict[str, Any]) -> bool:
    parts = value.get("content")
    return (
        value.keys() <= _RESULT_MEMBERS
        and isinstance(parts, list)
        and bool(parts)
        and all(isinstance(part, dict) and part.get("type") in _PARTS for part in parts)
    )
