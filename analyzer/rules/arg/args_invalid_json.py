"""The arguments of a call are a text that is not JSON.

What it says: the text cannot be decoded; the message says how it is broken: cut, two values in a row (parallel calls
merged), Python literals, a code fence, text around JSON.
Why it matters: nothing can be judged, and an executor that repairs such texts by itself runs a call nobody made.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    call c1 get_order text {"id":"ord_204418"
    result c1 failed arguments unreadable
Good:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    tool ping {"type":"object","properties":{}}
    call c1 get_order {"id":"{not json"}
    result c1 ok fine
    call c2 ping text
    result c2 ok pong
    item c3 get_order text {"id":"ord_2
Blind spots: an empty text counts only where the tool's schema refuses to go without arguments.
"""

from __future__ import annotations

import json
import re

import polars as pl

from analyzer.frames import CUT
from analyzer.replay.payloads import in_lots
from analyzer.rules.hits import hits
from analyzer.rules.payloads import NO_JSON, decode, opens_json
from analyzer.trace import Trace

_PYTHON = re.compile(r"\{\s*'|[:,\[]\s*(?:True|False|None)\b|[:,\[]\s*(?:NaN|-?Infinity)\b|,\s*[}\]]")

_ESCAPE = re.compile(r'\\(?:(u[0-9a-fA-F]{4}|["\\/bfnrt])|.)', re.DOTALL)
_MOST_TRIED = 200  # closing brackets at which a whole value is looked for


def check(trace: Trace) -> pl.DataFrame:
    """Calls whose arguments stood as text, are not under way any more, and cannot be decoded."""
    texts = trace.calls.filter(trace.calls["container"].is_in(["text", "broken"]))
    if texts.is_empty():
        return hits(())
    refused = trace.verdicts.filter(pl.col("role") == "arguments", pl.col("verdict_is") == "invalid").select("call")
    blank = ~pl.col("text").str.contains(r"\S")
    under_way = (
        pl.col("status").is_in(["in_progress", "incomplete"])
        & pl.col("action_seq").is_null()
        & pl.col("result").is_null()
    ).fill_null(value=False)
    calls = (
        texts.filter(
            pl.col("kind") != "custom",
            pl.col("text").is_not_null(),
            ~under_way,
            ~pl.col("status").is_in(list(CUT)).fill_null(value=False),
        )
        .join(refused.unique().with_columns(refused=True), on="call", how="left", maintain_order="left")
        .filter(~blank | pl.col("refused").fill_null(value=False))
        .select("call", "text")
    )
    return hits(
        {
            "call": call,
            "message": f"The arguments are not JSON: {_how(text)}.",
            "hint": "Refuse the call and tell the model that its arguments could not be read; do not repair them.",
            "keyword": "json",
        }
        for lot in in_lots(calls)
        for call, text in lot.iter_rows()
        if decode(text) is NO_JSON
    )


def _how(text: str) -> str:
    plain = text.strip()
    if not plain:
        return "the text is empty, and the tool does not go without arguments"
    if plain.startswith("```"):
        return "a code fence stands around them"
    rest = _rest(plain) if opens_json(plain) else ""
    if rest:
        merged = rest.startswith(("{", "["))
        return "two JSON values stand in a row, as when calls are merged" if merged else "other text follows the JSON"
    if _PYTHON.search(plain):
        return "they are written as a program's literals (quotes, True, None, NaN or a trailing comma), not as JSON"
    if opens_json(plain) and not plain.endswith(("}", "]")):
        return f"the text ends after {len(text)} characters with something still open"
    if _raw_control(plain):
        return "a line break or another control character stands in a text, and not as an escape"
    if any(not each for each in _ESCAPE.findall(plain)):
        return "a backslash stands in a text before what is no escape, as in paths of Windows"
    if opens_json(plain):
        return "a token inside does not belong there"
    return "the text is not JSON at all" if "{" not in plain else "other text stands around the JSON"


def _raw_control(text: str) -> bool:
    """Whether the text is JSON but for control characters, which a string of JSON must spell as escapes."""
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _rest(text: str) -> str:
    """What follows the first JSON container that a text opens with; empty where none is whole."""
    closing = "}" if text.startswith("{") else "]"
    at = text.find(closing)
    for _ in range(_MOST_TRIED):
        if not 0 <= at < len(text) - 1:
            break
        if decode(text[: at + 1]) is not NO_JSON:
            return text[at + 1 :].lstrip(" ,;\n")
        at = text.find(closing, at + 1)
    return ""
