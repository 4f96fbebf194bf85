"""A tool has a name that its wire refuses.

What it says: the name has characters, or a length, outside what this provider takes.
Why it matters: the request is refused, or a client renames the tool on the way, and calls come back under a name that
nobody registered.
Bad:
    tool get.order {"type":"object","properties":{}}
    turn
Good:
    tool get_order {"type":"object","properties":{}}
    turn
Blind spots: limits that a provider does not publish. The Agents API publishes none: those of Responses
are taken, as likely.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.sentence import lookalikes, sentence
from analyzer.rules.tool.advertised import listed
from analyzer.trace import Trace

_LETTERS = "letters, digits, _ and -"
#: By provider: the pattern of a good name, and the same in words.
_NAMES = {
    "openai": (r"^[a-zA-Z0-9_-]{1,128}$", f"1 to 128 {_LETTERS}"),
    "responses": (r"^[a-zA-Z0-9_-]{1,128}$", f"1 to 128 {_LETTERS}"),
    "codex": (r"^[a-zA-Z0-9_-]{1,128}$", f"1 to 128 {_LETTERS}"),
    "chat": (r"^[a-zA-Z0-9_-]{1,64}$", f"1 to 64 {_LETTERS}"),
    "anthropic": (r"^[a-zA-Z0-9_-]{1,128}$", f"1 to 128 {_LETTERS}"),
    "bedrock": (r"^[a-zA-Z0-9_-]{1,64}$", f"1 to 64 {_LETTERS}"),
    "gemini": (r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$", f"at most 64 {_LETTERS}, dots and colons, a letter first"),
    "mcp": (r"^[a-zA-Z0-9_./-]{1,128}$", f"1 to 128 {_LETTERS}, dots and slashes"),
}
#: What fits all of them.
_PLAIN = "^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$"


def check(trace: Trace) -> pl.DataFrame:
    """Names in tool tables that do not fit the table's provider; each name once."""
    odd = listed(trace).filter(~pl.col("name").str.contains(_PLAIN))
    if odd.is_empty():
        return NONE
    name, shape = pl.col("name"), pl.col("shape")
    bad = pl.any_horizontal((shape == key) & ~name.str.contains(pattern) for key, (pattern, _) in _NAMES.items())
    words = {key: words for key, (_, words) in _NAMES.items()}
    named = odd.filter(pl.col("kind").is_in(["function", "mcp", "custom"]), bad)
    return (
        named.sort("event", "position")
        .unique(["shape", "tool"], keep="first", maintain_order=True)
        .select(
            "session",
            "event",
            "tool",
            "channel",
            pointer="place",
            message=sentence(
                "The name {} is not what this wire takes: {}{}.",
                name,
                shape.replace_strict(words, default=""),
                lookalikes(named["name"]),
            ),
            hint=pl.lit("Rename the tool where it is defined, not on the way."),
            confidence=pl.when(shape == "openai").then(pl.lit("likely")),
            severity=pl.when(shape == "mcp").then(pl.lit("warning")),
            keyword=pl.lit("name"),
        )
    )
