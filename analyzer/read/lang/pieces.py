"""Messages of the model that come in pieces, or as they are so far: held until the next thing shows them whole."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.values import encoded

_MOST = 64


class Call(msgspec.Struct):
    """A call that comes in pieces."""

    name: str | None = None
    id: str | None = None
    args: list[str] = []


class Held(msgspec.Struct):
    """A message of which more may come."""

    place: Place
    session: str | None = None
    texts: list[str] = []
    calls: dict[Any, Call] = {}
    whole: bytes = b""
    """The message as it was so far, where each piece shows all."""

    def add(self, message: dict[str, Any]) -> None:
        """Take the next piece."""
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            text = part.get("text") if isinstance(part, dict) else part
            self.texts += [text] if isinstance(text, str) else []
        pieces = message.get("tool_call_chunks")
        for nth, each in enumerate(pieces if isinstance(pieces, list) else ()):
            if not isinstance(each, dict):
                continue
            index = each.get("index")
            call = self.calls.setdefault(index if isinstance(index, int | str) else nth, Call())
            name, call_id, args = each.get("name"), each.get("id"), each.get("args")
            call.name = name if isinstance(name, str) and name else call.name
            call.id = call_id if isinstance(call_id, str) and call_id else call.id
            call.args += [args] if isinstance(args, str) else []

    def message(self, name: str) -> bytes:
        """All of it as one message."""
        if self.whole:
            return self.whole
        calls = [{"name": each.name, "args": "".join(each.args) or "{}", "id": each.id} for each in self.calls.values()]
        return encoded({"type": "ai", "id": name, "content": "".join(self.texts), "tool_calls": calls})


class Pieces:
    """The messages of a source of which more may come, by their ids."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}

    @property
    def full(self) -> bool:
        """Whether no more are held."""
        return len(self._held) >= _MOST

    def open(self, name: str, place: Place, session: str | None) -> Held:
        """The message of this id, a piece of which is here."""
        held = self._held.setdefault(name, Held(place, session))
        held.place = place
        return held

    def end(self, shown: bytes) -> list[tuple[Held, bytes]]:
        """They are whole: those that what comes does not show, each with its text."""
        ended, self._held = self._held, {}
        left = [(name, held) for name, held in ended.items() if b'"' + name.encode("utf-8", "replace") not in shown]
        return [(held, held.message(name)) for name, held in left]
