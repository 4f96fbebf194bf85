"""Calls that a tracer names by their items of Responses (`fc_...`), while their results name the calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_ITEM = "fc_"


class Items:
    """The calls of a session that were named so, and which call id each of them turned out to have."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._waiting: list[str] = []
        self._item_of: dict[str, str] = {}

    def told(self, ids: Iterable[Any]) -> None:
        """Ids of calls, in their order."""
        for each in ids:
            if isinstance(each, str) and each.startswith(_ITEM) and each not in self._known:
                self._known.add(each)
                self._waiting.append(each)

    def named(self, messages: list[Any]) -> list[Any]:
        """The messages with results under the ids of their calls: where as many came as waited, in their order."""
        parts = [part for message in messages for part in _parts(message)]
        self.told(part.get("id") for part in parts if part.get("type") == "tool_call")
        if not self._known:
            return messages
        ids = [part.get("id") for part in parts if part.get("type") == "tool_call_response"]
        foreign = list(dict.fromkeys(each for each in ids if isinstance(each, str) and each not in self._known))
        new = [each for each in foreign if each not in self._item_of]
        self._waiting = [each for each in self._waiting if each not in ids]
        if len(new) == len(self._waiting):
            self._item_of |= zip(new, self._waiting, strict=True)
            self._waiting = []
        return [self._renamed(message) for message in messages] if foreign else messages

    def _renamed(self, message: Any) -> Any:
        if not _parts(message):
            return message
        parts = [
            {**part, "id": self._item_of.get(part["id"], part["id"])}
            if isinstance(part, dict) and part.get("type") == "tool_call_response" and isinstance(part.get("id"), str)
            else part
            for part in message["parts"]
        ]
        return {**message, "parts": parts}


def _parts(message: Any) -> list[dict[str, Any]]:
    parts = message.get("parts") if isinstance(message, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
