"""Requests that wait at once, of several conversations in one log: of which of them a reply is.

Bodies that are logged apart do not say what they answer. While one request waits, the next reply is its own. While
several do, a reply is kept until a later request resends it, or until only one request is left that it may answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.cursor import Place
from analyzer.read.recover import Fault

NOBODYS = Fault("unknown_item", "", "of which of several requests at once a reply is")
STREAMS = Fault("unknown_item", "", "of which of several streams at once a piece is")
_MOST = 16  # requests that wait
_MOST_HELD = 64
_OVERTAKEN = 8  # replies to later requests, after which no answer to a request is expected any more
C = TypeVar("C")


class Held(msgspec.Struct, Generic[C], eq=False):
    """A reply that may be of several conversations."""

    place: Place
    event: int
    """The number that its first event will have."""
    says: int
    """What it says and asks for, as a digest."""
    exactly: str
    """The arguments of its calls, which tell replies apart that have the same ids."""
    among: list[C]
    append: list[Callable[[C, Place], None]]
    """Append it, and its alternatives, to a conversation."""


class _Asked(msgspec.Struct, Generic[C], eq=False):
    conversation: C
    overtaken: int = 0
    twin_of: C | None = None
    """The conversation that asked for the same before, and may be the one that tries again: its reply comes first."""


class AtOnce(Generic[C]):
    """The requests of one source that wait, and the replies that may be of several of them."""

    def __init__(self) -> None:
        self._open: list[_Asked[C]] = []
        self._held: list[Held[C]] = []

    @property
    def open(self) -> list[C]:
        """The conversations whose last request waits, the latest last."""
        return [each.conversation for each in self._open]

    @property
    def several(self) -> bool:
        """Whether the next reply may be of several conversations."""
        return len(self._open) > 1 and sum(not self._comes_later(each) for each in self._open) > 1

    def _comes_later(self, asked: _Asked[C]) -> bool:
        return asked.twin_of is not None and any(each.conversation == asked.twin_of for each in self._open)

    def ask(self, conversation: C, *, twin_of: C | None = None) -> None:
        """A request of this conversation waits from here on."""
        self.drop(conversation)
        for each in self._open:
            if each.twin_of == conversation:
                each.twin_of = None  # that one has gone on
        self._open.append(_Asked(conversation, twin_of=twin_of))
        if len(self._open) > _MOST:
            del self._open[0]

    def twins(self, conversation: C) -> list[C]:
        """Those that asked for the same after it, and may be this one."""
        return [each.conversation for each in self._open if each.twin_of == conversation]

    def drop(self, conversation: C | None) -> None:
        """No reply to this conversation's request is expected, or it has come."""
        if self._open:
            self._open = [each for each in self._open if each.conversation != conversation]

    def answered(self, conversation: C) -> None:
        """The reply to its request has come."""
        if not self._open:
            return
        for each in self._open:
            if each.conversation == conversation:
                break
            each.overtaken += 1
        self._open = [each for each in self._open if each.conversation != conversation and each.overtaken < _OVERTAKEN]

    def hold(self, held: Held[C]) -> Held[C] | None:
        """Keep a reply, or one more alternative of it; where there are too many, the first is given back."""
        if self._held and self._held[-1].place.event == held.place.event:
            self._held[-1].append += held.append
            return None
        self._held.append(held)
        return self._held.pop(0) if len(self._held) > _MOST_HELD else None

    def also(self, event: int, append: Callable[[C, Place], None]) -> bool:
        """Append something more with the reply of this record, if that is kept; whether it is."""
        held = next((each for each in self._held if each.place.event >> PART_BITS == event >> PART_BITS), None)
        if held is not None:
            held.append.append(append)
        return held is not None

    def went_on(self, conversation: C, says: int, exactly: str) -> Iterator[tuple[Held[C], C]]:
        """A request resends this as the reply before it: the replies of which it is known from now on whose they are.

        They are its own, and those that only one other request is left for.
        """
        alike = [each for each in self._held if each.says == says and conversation in each.among]
        found = next((each for each in alike if each.exactly == exactly), alike[0] if len(alike) == 1 else None)
        return iter(()) if found is None else self.known(found, conversation)

    def known(self, found: Held[C], conversation: C) -> Iterator[tuple[Held[C], C]]:
        """It is known whose a reply is: this one, and those that only one other request is left for."""
        left: Held[C] | None = found
        while left is not None:
            self.remove(left)
            self.answered(conversation)
            yield left, conversation
            for each in self._held:
                each.among = [one for one in each.among if one != conversation]
            left = next((each for each in self._held if len(each.among) == 1), None)
            conversation = conversation if left is None else left.among[0]

    def remove(self, held: Held[C]) -> None:
        """It is kept no longer."""
        self._held.remove(held)

    def left(self) -> list[Held[C]]:
        """The replies of which it was never known, at the end of the source."""
        held, self._held = self._held, []
        return held

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the records of replies lie, which may be appended when their block is gone."""
        for each in self._held:
            each.place = placed(each.place)
