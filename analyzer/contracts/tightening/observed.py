"""What payloads hold, place by place: the ground that a tighter schema stands on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from analyzer.contracts.tightening.narrow import ITEM, Path

#: Places beyond this many are not looked at: the payloads are data, not arguments.
_MOST_PLACES = 2_000
#: An object with more different members than this, most of them seen once, is a map.
_MAP = 16


@dataclass
class Place:
    """The values at one place: of all calls their numbers and sessions, of the fitted calls the values themselves."""

    calls: set[int] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    members: list[tuple[str, ...]] = field(default_factory=list)

    def names(self) -> list[str]:
        """All member names of the fitted objects, sorted."""
        return sorted({name for names in self.members for name in names})

    def always(self) -> list[str]:
        """The members that every fitted object has."""
        return [name for name in self.names() if all(name in names for names in self.members)]

    def is_map(self) -> bool:
        """Whether the member names are data: many, and hardly one of them twice."""
        counts: dict[str, int] = {}
        for names in self.members:
            for name in names:
                counts[name] = counts.get(name, 0) + 1
        return len(counts) > _MAP and 2 * sum(count == 1 for count in counts.values()) > len(counts)


def places(calls: Iterable[tuple[str, Any, bool]]) -> dict[Path, Place]:
    """Every place of the payloads, sorted, from (session, payload, fitted) per call; maps are not looked into."""
    found: dict[Path, Place] = {}
    for number, (session, payload, fitted) in enumerate(calls):
        for path, value in _walk(payload):
            if path not in found and len(found) >= _MOST_PLACES:
                continue
            place = found.setdefault(path, Place())
            place.calls.add(number)
            place.sessions.add(session)
            if fitted:
                _note(place, value)
    maps = [path for path, place in found.items() if place.is_map()]
    kept = [path for path in found if not any(_below(path, above) for above in maps)]
    return {path: found[path] for path in sorted(kept, key=lambda path: [step or "" for step in path])}


def _note(place: Place, value: Any) -> None:
    place.types.add(type_of(value))
    if isinstance(value, str):
        place.texts.append(value)
    elif isinstance(value, dict):
        place.members.append(tuple(value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        place.numbers.append(value)


def _walk(payload: Any) -> Iterator[tuple[Path, Any]]:
    stack: list[tuple[Path, Any]] = [((), payload)]
    while stack:
        path, value = stack.pop()
        yield path, value
        if isinstance(value, dict):
            stack.extend(((*path, name), child) for name, child in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend(((*path, ITEM), child) for child in reversed(value))


def _below(path: Path, above: Path) -> bool:
    return len(path) > len(above) and path[: len(above)] == above


def type_of(value: Any) -> str:
    """The narrowest JSON Schema type of a JSON value; 5.0 is a number here, as it was written."""
    if isinstance(value, bool):
        return "boolean"
    names = {type(None): "null", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
