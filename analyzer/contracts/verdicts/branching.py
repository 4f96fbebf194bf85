"""How often a schema looks at one value: thirty definitions that each name the next one twice look a billion times.

The engine remembers what a recursive reference said of a value, so recursion is safe for a verdict; it does not for
other references, nor for any while it writes down why a payload failed. Both are counted before it starts, because a
clock would give another answer on another machine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from analyzer.contracts.references import References
from analyzer.contracts.schemas import canonical

#: Looks at all values of a payload beyond which it is not judged: about 20 milliseconds of the engine.
MAX_LOOKS = 5_000_000

# Nanoseconds of the engine: to write down one failure, and for each byte of the value and of the keyword it names, of
# which ten are kept. A failure is told in one line beyond so many, and so many more for each value and byte.
_FAILURE, _PER_BYTE, _PER_WORD = 4_000, 30, 15
_FREE, _FREE_PER_VALUE, _FREE_PER_BYTE, _MOST = 30_000_000, 50_000, 1_000, 1_000_000_000
# What is surely far below that without a look at the schema.
_FEW_LOOKS, _FEW_BYTES = 1_000, 1_000_000

# What a keyword's subschemas look at: the same value, any member, any item; a named member is spelled `.name`.
_SAME, _MEMBER, _ITEM = None, "", "[]"
_LOOKS_AT = {
    **dict.fromkeys(("not", "if", "then", "else", "allOf", "anyOf", "oneOf"), _SAME),
    **dict.fromkeys(("dependentSchemas", "dependencies"), _SAME),
    **dict.fromkeys(("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"), _MEMBER),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"), _ITEM),
}
# Whoever asks which members a schema has not seen runs its parts again, and theirs again (measured: 2.6 times).
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_AGAIN = 3
_NAMED = ("dependentSchemas", "dependencies", "patternProperties")
# Keywords that never fail themselves; how many names of `required` are missing is counted.
_NOTES = frozenset({"title", "description", "default", "examples", "properties", "items", "prefixItems", "required"})
# What lets a value be looked at more often than the schema has places.
_MULTIPLY = (b'"$ref"', b'"$dynamicRef"', b'"$recursiveRef"', b'"unevaluated')


class Branching(NamedTuple):
    """The most looks at any one value, capped at `MAX_LOOKS` + 1, and whether a reference leads back to itself.

    `chain` bounds how many subschemas stand inside one another at one value, by nesting and by references. `endless`
    says that a loop of references comes round without leaving the value, so that the schema defines nothing.
    """

    looks: int
    recursive: bool
    chain: int = 1
    endless: bool = False


def surely_few(text: bytes, most: int) -> bool:
    """Whether a schema's canonical text alone proves that it looks at no value more than `most` times, by no loop.

    Every look is at a value of the schema's own, and in JSON each of these but one stands behind a colon, a comma or a
    bracket.
    """
    if any(word in text for word in _MULTIPLY):
        return False
    return text.count(b":") + text.count(b",") + text.count(b"[") < most


def branching(root: object, references: References) -> Branching:
    """Bound the looks of a schema at one value from the schema alone; a loop of references counts once."""
    if not isinstance(root, dict):
        return Branching(1, recursive=False)
    # Per subschema: how often one value is looked at here, and the worst number at this or any value below.
    here: dict[int, int] = {}
    worst: dict[int, int] = {}
    open_: set[int] = set()
    chains: dict[int, int] = {}
    beside: dict[int, list[int]] = {}
    recursive = looping = False
    stack: list[tuple[object, bool]] = [(root, False)]
    while stack:
        schema, done = stack.pop()
        key = id(schema)
        if not done:
            if key in worst:
                continue
            if key in open_:
                recursive = True
                continue
            open_.add(key)
            stack.append((schema, True))
            stack.extend((child, False) for _, child in _children(references, schema) if isinstance(child, dict))
            continue
        open_.discard(key)
        same, below = 1 + _compared(schema), {_MEMBER: 0}
        deepest_same = chain = 0
        for label, child in _children(references, schema):
            if label is _SAME:
                same += here.get(id(child), 1)
                chain = max(chain, chains.get(id(child), 1))
                beside.setdefault(key, []).append(id(child))
                looping = looping or id(child) in open_
                deepest_same += worst.get(id(child), 1)
            else:
                below[label] = below.get(label, 0) + worst.get(id(child), 1)
        chains[key] = chain + 1
        # Keywords that look at every member add to each one that has a schema of its own.
        anywhere = below.pop(_MEMBER)
        under = max([anywhere, *(anywhere + count for count in below.values())])
        again = _AGAIN if isinstance(schema, dict) and not _UNEVALUATED.isdisjoint(schema) else 1
        here[key] = min(same * again, MAX_LOOKS + 1)
        worst[key] = min(max(same * again, deepest_same * again, under), MAX_LOOKS + 1)
    # Around a loop at one value a chain may pass every subschema there is.
    longest = len(chains) if looping else max(chains.values())
    return Branching(worst[id(root)], recursive, longest, recursive and _cyclic(beside))


def _cyclic(edges: dict[int, list[int]]) -> bool:
    """Whether a graph has a cycle: what is left when nodes that lead nowhere are taken away, again and again."""
    pending = {node: len(ends) for node, ends in edges.items()}
    into: dict[int, list[int]] = {}
    for node, ends in edges.items():
        for end in ends:
            into.setdefault(end, []).append(node)
    ready = [end for end in into if end not in pending]
    while ready:
        for node in into.get(ready.pop(), ()):
            pending[node] -= 1
            if not pending[node]:
                ready.append(node)
    return any(pending.values())


def _compared(schema: object) -> int:
    """Objects and arrays in an enum, which the engine compares one by one."""
    choices = schema.get("enum") if isinstance(schema, dict) else None
    return sum(isinstance(choice, dict | list) for choice in choices) if isinstance(choices, list) else 0


class Telling:
    """Bounds what it takes to tell why payloads fail a schema; `text` is its canonical spelling."""

    def __init__(self, root: object, references: References, text: bytes, bound: Branching) -> None:
        """Nothing is counted yet."""
        self._root, self._references, self._bound, self._length = root, references, bound, len(text)
        self._asserts: dict[int, tuple[int, Collection[str], int]] = {}

    def costly(self, payload: object) -> bool:
        """Whether all failures of the payload are too many words: each holds what it is about."""
        values, size = _extent(payload)
        looks = values * self._bound.looks
        few = looks <= _FEW_LOOKS and max(looks * size, looks * self._length, self._length * size // 5) <= _FEW_BYTES
        if few and not self._bound.recursive:
            return False
        most = min(_FREE + _FREE_PER_VALUE * values + _FREE_PER_BYTE * size, _MOST)
        sizes: dict[int, int] = {}
        cost = 0
        stack: list[tuple[object, object]] = [(self._root, payload)]
        while stack and cost <= most:
            schema, value = stack.pop()
            keywords, required, own = self._own(schema)
            if isinstance(value, dict):
                keywords += sum(name not in value for name in required)
            cost += keywords * (_FAILURE + _PER_BYTE * _size(value, sizes)) + own
            for label, child in _children(self._references, schema):
                stack.extend((child, at) for at in _looked_at(label, value))
        return cost > most

    def _own(self, schema: object) -> tuple[int, Collection[str], int]:
        """How many keywords of a schema may fail, the names it requires, and the cost of telling what it expects."""
        if not isinstance(schema, dict):
            return (1 if schema is False else 0), (), 0
        known = self._asserts.get(id(schema))
        if known is None:
            required = schema.get("required")
            told = len(canonical([schema.get(word) for word in ("enum", "const", "not")]))
            known = (
                sum(word not in _NOTES for word in schema),
                frozenset(filter(_is_text, required)) if isinstance(required, list) else (),
                told * _PER_WORD,
            )
            self._asserts[id(schema)] = known
        return known


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _extent(value: object) -> tuple[int, int]:
    """How many values a JSON value is made of, and about how long its text is."""
    values = size = 0
    stack = [value]
    while stack:
        item = stack.pop()
        values += 1
        if isinstance(item, dict):
            size += sum(map(len, item))
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        else:
            size += len(item) if isinstance(item, str) else 4
    return values, size


def _size(value: object, known: dict[int, int]) -> int:
    """The length of a value's text, about; that of containers is kept."""
    if not isinstance(value, dict | list):
        return len(value) if isinstance(value, str) else 4
    if id(value) not in known:
        stack: list[tuple[dict[str, object] | list[object], bool]] = [(value, False)]
        while stack:
            item, done = stack.pop()
            below = item.values() if isinstance(item, dict) else item
            if done:
                known[id(item)] = sum(_size(each, known) for each in below) + sum(
                    map(len, item if isinstance(item, dict) else ())
                )
            else:
                stack.append((item, True))
                stack.extend((each, False) for each in below if isinstance(each, dict | list) and id(each) not in known)
    return known[id(value)]


def _looked_at(label: str | None, value: object) -> Iterable[object]:
    if label is _SAME:
        return (value,)
    if isinstance(value, list):
        return value if label == _ITEM else ()
    if not isinstance(value, dict):
        return ()
    if label == _MEMBER:
        return value.values()
    return (value[label[1:]],) if label[0] == "." and label[1:] in value else ()


def _children(references: References, schema: object) -> Iterator[tuple[str | None, object]]:
    """The subschemas that take part in a verdict, with what they look at."""
    if not isinstance(schema, dict):
        return
    yield from ((_SAME, target) for target in references.targets(schema))
    for keyword, value in schema.items():
        if keyword not in _LOOKS_AT:
            continue
        label = _LOOKS_AT[keyword]
        if isinstance(value, list):
            yield from ((label, child) for child in value)
        elif keyword in _NAMED and isinstance(value, dict):
            yield from ((label, child) for child in value.values())
        else:
            yield label, value
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield from ((f".{name}", child) for name, child in properties.items())
