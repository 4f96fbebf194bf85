"""What has been streamed of one response: items that are begun, and the pieces of their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from analyzer.read.openai.items import Item
from analyzer.read.values import arguments, text_of

Key = int | str | None
"""The output index; only where the wire leaves it out the item id, which proxies are known to change on the way."""


@dataclass(slots=True)
class Held:
    """An item that is begun."""

    item: Item
    event: int
    opaque: bool
    pieces: list[str] = field(default_factory=list)
    told: tuple[str, int, str] | None = None
    """The whole text as the stream gave it at its end, the event that did, and the pointer to it."""

    def text(self) -> str:
        """What was streamed so far."""
        return "".join(self.pieces)

    def differing(self, item: Item) -> Iterator[tuple[str, int, str]]:
        """The texts that the stream gave and that are not those of the finished item: text, event, pointer."""
        final = text_of(item.input) if item.type == "custom_tool_call" else arguments(item.arguments)[0]
        pieces = self.text()
        if pieces and pieces != final:
            yield pieces, self.told[1] if self.told is not None else self.event, ""
        if self.told is not None and self.told[0] not in {final, pieces}:
            yield self.told


@dataclass(slots=True)
class Stream:
    """One response that is being streamed."""

    response: str | None
    session: str | None
    when: float | None
    held: dict[Key, Held] = field(default_factory=dict)
    done: dict[Key, Item] = field(default_factory=dict)

    def piece(self, key: Key, text: str) -> None:
        """Take a piece of the arguments of an item."""
        held = self.held.get(key)
        if held is not None:
            held.pieces.append(text)

    def whole(self, key: Key, text: str, event: int, pointer: str) -> None:
        """Take the arguments as the stream gives them at their end."""
        held = self.held.get(key)
        if held is not None:
            held.told = (text, event, pointer)
