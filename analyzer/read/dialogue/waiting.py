"""Things that wait in their order until something takes them: each is found by any of its keys in constant time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Waiting(Generic[T]):
    """What waits, in its order; `keys_of` says by what each is found."""

    __slots__ = ("_heads", "_indexed", "_keys_of", "_left", "_places", "_things")

    def __init__(self, keys_of: Callable[[T], Iterable[Hashable]], things: Iterable[T] = ()) -> None:
        self._keys_of = keys_of
        self._things: list[T | None] = [*things]
        self._left = len(self._things)
        self._indexed = 0  # nothing is looked for in most histories: what has come since the last time
        self._places: dict[Hashable, list[int]] = {}
        self._heads: dict[Hashable, int] = {}  # how many at the beginning of a list of places wait no more

    def add(self, thing: T) -> None:
        """It waits, behind all others."""
        self._things.append(thing)
        self._left += 1

    def first(self, key: Hashable) -> T | None:
        """The first that has this key, which goes on waiting."""
        place = self._first(key)
        return None if place is None else self._things[place]

    def take(self, key: Hashable) -> T | None:
        """The first that has this key, which then waits no more."""
        place = self._first(key)
        if place is None:
            return None
        thing, self._things[place] = self._things[place], None
        self._left -= 1
        if not self._left:
            self._things, self._places, self._heads, self._indexed = [], {}, {}, 0
        return thing

    def __iter__(self) -> Iterator[T]:
        """What waits, in its order."""
        return (each for each in self._things if each is not None)

    def _first(self, key: Hashable) -> int | None:
        """The place of the first that has a key."""
        things = self._things
        for place in range(self._indexed, len(things)):
            thing = things[place]
            for each in self._keys_of(thing) if thing is not None else ():
                self._places.setdefault(each, []).append(place)
        self._indexed = len(things)
        places = self._places.get(key, ())
        head = since = self._heads.get(key, 0)
        while head < len(places) and things[places[head]] is None:  # taken by another key
            head += 1
        if head > since:
            self._heads[key] = head
        return places[head] if head < len(places) else None
