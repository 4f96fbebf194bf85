"""What the rules know of payload texts: how a wire carries them, and what a text turns out to hold.

Values come from msgspec: integers of any size stay exact, `NaN` and Python's literals are not JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import polars as pl

from analyzer.masking import mask
from analyzer.trace import Trace, shared

#: Wires whose arguments are JSON values, and wires that carry them as one JSON string.
OBJECT_WIRES = (
    "openai-agents-api",
    "anthropic-messages",
    "claude-code-jsonl",
    "managed-agents",
    "mcp-jsonrpc",
    "gemini",
    "gemini-cli",
    "bedrock",
)
STRING_WIRES = ("openai-responses", "openai-chat", "codex-rollout", "agents-sdk")
#: Wires on which a result says whether it failed.
FLAGGED_WIRES = ("openai-agents-api", "anthropic-messages", "claude-code-jsonl", "managed-agents", "mcp-jsonrpc")

#: What `decode` returns for a text that is not JSON; None is JSON's null.
NO_JSON = object()
_MOST_LAYERS = 8
_LOOKED_AT = 8192  # characters in which `short` looks for credentials

_WORDS = r"(?:^|[^a-z0-9])(?:{})(?:$|[^a-z0-9])"
#: Names of tools that run programs, or show what programs said: shells, tests, logs, debuggers.
SHELLS = _WORDS.format(
    "shell|bash|sh|zsh|powershell|exec(?:ute)?|terminal|console|commands?|cmd|stdin|repl|python|node|tests?|pytest|jest"
    "|lint(?:er)?|build|compile|ci|logs?|debug(?:ger)?|stderr|stdout|traces?|sentry|crash(?:es)?|exceptions?|diagnostics?"
)
#: Names of tools that return what others wrote: it may say anything.
READERS = _WORDS.format("search|grep|rg|find|read|view|cat|fetch|browse|incidents?|tickets?|errors?")


def decode(text: str | None) -> Any:
    """The JSON value that a text holds, or NO_JSON; no text holds none."""
    if text is None:
        return NO_JSON
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        return _far(text) if "out of range" in str(error) else NO_JSON


def _far(text: str) -> Any:
    """The value of a text that holds a number beyond what a double can: it is JSON all the same."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NO_JSON


def layers(text: str) -> tuple[int, Any]:
    """How often a text can be decoded, and what is then left: another value, or a string that is not JSON."""
    count, value = 0, decode(text)
    while value is not NO_JSON:
        count += 1
        if not isinstance(value, str) or count == _MOST_LAYERS:
            return count, value
        text, value = value, decode(value)
    return count, text


def json_type(value: Any) -> str:
    """The JSON type of a decoded value, `integer` told apart from `number`."""
    if isinstance(value, bool):
        return "boolean"
    names = ((str, "string"), (int, "integer"), (float, "number"), (dict, "object"), (list, "array"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def short(value: Any, limit: int = 60) -> str:
    """A value as one short piece of JSON text, for a message; masked before it is cut, as half a credential is none."""
    if isinstance(value, str):
        value = value[:_LOOKED_AT]
    text = value if isinstance(value, str) and value.startswith("{") else msgspec.json.encode(value).decode()
    text = mask(text[:_LOOKED_AT])
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@shared
def error_speakers(trace: Trace, words: str = SHELLS) -> list[str]:
    """The keys of tools that speak of errors on purpose, by their names or because the settings say so."""
    known = {*trace.calls["tool"].unique(), *trace.results["tool"].unique()} - {None}
    tools = pl.Series(sorted(known), dtype=pl.String)
    names = tools.str.replace("^.*:", "")
    # A pattern that folds case takes longer to compile than all names to match.
    split = names.str.replace_all("([a-z0-9])([A-Z])", "${1}_$2").str.to_lowercase()
    return tools.filter(names.is_in(sorted(trace.settings.shell)) | split.str.contains(words)).to_list()


# A log line opens with a bracket too: `[2026-11-17 09:00] ...`
_CUT = re.compile(
    r"""\s*(?:\{\s*(?:["}]|$)|\[\s*(?:["\[{\]]|-?[0-9][0-9.eE+-]*\s*(?:,|$)|(?:true|false|null)\s*(?:,|$)|$))"""
)


def opens_json(text: str) -> bool:
    """Whether a text begins as a JSON container does: one that cannot be decoded was probably cut."""
    return _CUT.match(text) is not None


def cut_short(text: str) -> bool:
    """Whether a text is the beginning of JSON, and nothing but its end is missing."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except (RecursionError, UnicodeEncodeError):
        return False
    return False
