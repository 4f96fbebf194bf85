"""Calls of replies that nothing has shown to be run yet, and which of them an execution is of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from analyzer.read.dialogue.waiting import Waiting
from analyzer.read.values import value_of


class Made(NamedTuple):
    """A call in a reply: what pairs it with its result, and which emission it is."""

    pair_id: str
    call_id: str | None
    name: str | None
    emission: str
    text: str | None


class Unrun:
    """The calls of a session that nothing has shown to be run."""

    def __init__(self) -> None:
        self._waiting: Waiting[Made] = Waiting(_keys_of)
        self._known: set[Made] = set()

    def expect(self, made: list[Made]) -> None:
        """Calls that the model made; another record may show the same ones."""
        for each in made:
            if each not in self._known:
                self._known.add(each)
                self._waiting.add(each)

    def run(self, call_id: str | None, name: str | None, text: str | None) -> Made | None:
        """The call of this id, else of this name, that an execution is of; one with its arguments, else the first."""
        key = ("id", call_id) if call_id is not None else ("name", name)
        found = self._waiting.take((*key, value_of(text)))
        return found if found is not None else self._waiting.take(key)


def _keys_of(made: Made) -> Iterator[Hashable]:
    value = value_of(made.text)
    for key in (("id", made.call_id), ("name", made.name)):
        yield key
        yield (*key, value)
