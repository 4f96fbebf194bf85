"""Arguments in one spelling, so that two calls can be told to be the same."""

from __future__ import annotations

import msgspec

from analyzer.rules.payloads import NO_JSON, decode


def canonical(text: str | None) -> str:
    """The JSON text with sorted members and no blanks; absent arguments are those of no members; other text stays."""
    value = decode(text or "{}")
    if value is NO_JSON:
        return (text or "").strip()
    return msgspec.json.encode({} if value is None else value, order="deterministic").decode("utf-8", "replace")


def difference(left: str | None, right: str | None, limit: int = 40) -> list[tuple[str, str, str]]:
    """Top-level members on which two arguments texts differ: name, left value, right value, both short or `absent`."""
    first, second = decode(left or "{}"), decode(right or "{}")
    if not isinstance(first, dict) or not isinstance(second, dict):
        return [("the arguments", _short(first, limit), _short(second, limit))]
    names = sorted(name for name in {*first, *second} if first.get(name, NO_JSON) != second.get(name, NO_JSON))
    return [(name, _short(first.get(name, NO_JSON), limit), _short(second.get(name, NO_JSON), limit)) for name in names]


def _short(value: object, limit: int) -> str:
    if value is NO_JSON:
        return "absent"
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
