"""Every subschema of a document with its JSON Pointer, in one bounded walk without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from analyzer.contracts.places import MANY, NAMED, ONE
from analyzer.contracts.references import REFERENCE_KEYWORDS, References
from analyzer.pointer import join

#: Subschemas of one document that are visited.
MAX_PLACES = 50_000

_HOLDING = frozenset((*NAMED, *MANY, *ONE))
_REFERRING = frozenset(REFERENCE_KEYWORDS)

#: Keywords that lead from one subschema to another.
LEADING = _HOLDING.union(REFERENCE_KEYWORDS)

# Pointers grow with depth and with the names in them, and a hostile schema has both.
_MAX_SPELLED = 20_000_000

_DEEPER = frozenset({"properties", "patternProperties", "additionalProperties", "items", "prefixItems"})


class Place(NamedTuple):
    """One subschema: where it stands, and the keywords' nesting of members and items above it."""

    pointer: str
    schema: object
    levels: int


class NotWalked(Exception):
    """The document has more, or farther, places than are visited."""


def children(schema: object) -> Iterator[tuple[str, tuple[str | int, ...], object]]:
    """The subschemas directly inside one: keyword, the steps that lead there, and the subschema."""
    if not isinstance(schema, dict) or _HOLDING.isdisjoint(schema):
        return
    for keyword, value in schema.items():
        if keyword not in _HOLDING:
            continue
        if keyword in NAMED and isinstance(value, dict):
            for name, child in value.items():
                if isinstance(child, dict | bool):  # `dependencies` also hold lists of names
                    yield keyword, (keyword, name), child
        elif keyword in MANY and isinstance(value, list):
            for position, child in enumerate(value):
                yield keyword, (keyword, position), child
        elif keyword in ONE and isinstance(value, dict | bool):
            yield keyword, (keyword,), value


def walk(root: object, references: References) -> Iterator[Place]:
    """Visit the document's subschemas once each, definitions and targets of references included.

    Raises:
        NotWalked: past `MAX_PLACES` places, when all the places before have been given.
    """
    # A pointer is spelled when its place is reached: all of them at once would be a schema's size squared.
    queue: list[tuple[str, tuple[str | int, ...], object, int]] = [("", (), root, 1)]
    seen: set[int] = set()
    count = spelled = 0
    while queue:
        above, steps, schema, levels = queue.pop()
        if isinstance(schema, dict):
            if id(schema) in seen:
                continue
            seen.add(id(schema))
        pointer = join(above, *steps)
        count += 1
        spelled += len(pointer)
        if count > MAX_PLACES or spelled > _MAX_SPELLED:
            raise NotWalked
        yield Place(pointer, schema, levels)
        if not isinstance(schema, dict) or LEADING.isdisjoint(schema):
            continue
        below: list[tuple[str, tuple[str | int, ...], object, int]] = []
        for keyword in () if _REFERRING.isdisjoint(schema) else REFERENCE_KEYWORDS:
            # Most references lead to places that are walked anyway; some lead to where no keyword does.
            target = references.follow(schema, keyword)
            fragment = str(schema.get(keyword)).partition("#")[2]
            if isinstance(target, dict) and id(target) not in seen and fragment.startswith("/"):
                below.append((unquote(fragment), (), target, levels))
        for keyword, steps, child in children(schema):
            below.append((pointer, steps, child, levels + (keyword in _DEEPER)))
        queue.extend(reversed(below))
