"""Several responses that are streamed at once into one log: whose an event is.

Events name an item, and only those that begin or end a response name that. An item belongs to the response that it was
begun in; where its beginning could be of either, to the one that lists it at its end. Until then it waits here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from analyzer.read.openai.bodies import Piece, Record
from analyzer.read.openai.wire import Item
from analyzer.read.recover import Fault

Key = int | str | None
"""The output index; only where the wire leaves it out the item id, which proxies are known to change on the way."""

MOST = 16
"""Streams at once."""
_MOST_WAITING = 4_096
NOBODYS = Fault("unknown_item", "", "of which of several streams at once an item is")


@dataclass(slots=True)
class Held:
    """An item that is begun."""

    item: Item
    event: int
    opaque: bool
    pieces: list[str] = field(default_factory=list)
    told: tuple[str, int, str] | None = None
    """The whole text as the stream gave it at its end, the event that did, and the pointer to it."""
    missing: bool = False
    """Whether events of the stream were not recorded since it was begun: the pieces need not be all."""

    def text(self) -> str:
        """What was streamed so far; where the pieces are left out, what stood at their end."""
        return "".join(self.pieces) or (self.told[0] if self.told is not None else "")


@dataclass(slots=True)
class Stream:
    """One response that is being streamed."""

    response: str | None
    session: str | None
    when: float | None
    held: dict[Key, Held] = field(default_factory=dict)
    done: dict[Key, Item] = field(default_factory=dict)
    numbers: set[tuple[int, str]] = field(default_factory=set)
    items: set[str | None] = field(default_factory=set)
    """Ids of the items that were begun in it."""
    last: int | None = None
    """The number of its last event."""
    unsure: bool = False
    """Whether it may answer one of several requests: what it says is kept until that is known."""

    def reach(self, number: int | None) -> None:
        """Take note of the number of an event."""
        if number is not None and self.last is not None and number > self.last + 1:
            for held in self.held.values():
                held.missing = True
        self.last = number

    def piece(self, key: Key, text: str, number: int | None) -> None:
        """Take a piece of the arguments of an item; one that a resumed stream gives again is the same piece."""
        held = self.held.get(key)
        if held is None or (number is not None and (number, text) in self.numbers):
            return
        held.pieces.append(text)
        if number is not None:
            self.numbers.add((number, text))

    def whole(self, key: Key, text: str, event: int, pointer: str) -> None:
        """Take the arguments as the stream gives them at their end."""
        held = self.held.get(key)
        if held is not None:
            held.told = (text, event, pointer)


class Together:
    """The streams that are open beside the latest one, and the items that may be of any of them."""

    def __init__(self) -> None:
        self.others: list[Stream] = []
        self.waiting: dict[str, Held] = {}

    @property
    def several(self) -> bool:
        """Whether an event may be of another stream than the latest one."""
        return bool(self.others or self.waiting)

    def named(self, response: str | None) -> Stream | None:
        """The stream of a response."""
        return next((each for each in self.others if each.response == response), None)

    def stream_of(self, event: Piece | Record, latest: Stream) -> Stream | None:
        """The stream that an event without a response is of; None where it may be of several."""
        item = event.item if isinstance(event, Record) else None
        name = event.item_id if item is None else item.id
        streams = [latest, *self.others]
        if name is not None:
            found = next((each for each in streams if name in each.items), None)
            if found is not None or name in self.waiting:
                return found
        number = event.sequence_number
        fits = [each for each in streams if number is not None and each.last == number - 1]
        return fits[0] if len(fits) == 1 else None

    def wait(self, item: Item, event: int, *, opaque: bool) -> None:
        """An item is begun, and whose it is will be known when a response lists it."""
        if item.id is not None and len(self.waiting) < _MOST_WAITING:
            self.waiting.setdefault(item.id, Held(item, event, opaque))

    def placed(self, item: Item) -> Held | None:
        """What waited of an item that a response lists."""
        return self.waiting.pop(item.id, None) if self.waiting and item.id is not None else None

    def left(self) -> Iterator[Held]:
        """The items that no response listed."""
        waiting, self.waiting = self.waiting, {}
        yield from waiting.values()
