"""How often a schema looks at one value: thirty definitions that each name the next one twice look a billion times.

The engine remembers what a recursive reference said of a value, so recursion is safe for a verdict; it does not for
other references, nor for any while it writes down why a payload failed. Both are counted before it starts, because a
clock would give another answer on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analyzer.contracts.references import References

#: Looks at all values of a payload beyond which it is not judged: about a second of the engine.
MAX_LOOKS = 50_000_000

#: Looks beyond which a failure is told in one line: about a tenth of a second of the engine.
MAX_TOLD = 2_000

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


def telling(root: object, references: References, payload: object) -> int:
    """Count the looks that telling why `payload` fails takes, stopping a little past `MAX_TOLD`."""
    looks = 0
    stack: list[tuple[object, object]] = [(root, payload)]
    while stack and looks <= MAX_TOLD:
        schema, value = stack.pop()
        looks += 1
        for label, child in _children(references, schema):
            stack.extend((child, at) for at in _looked_at(label, value))
    return looks


def _looked_at(label: str | None, value: object) -> list[object]:
    if label is _SAME:
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict | list)] if label == _ITEM else []
    if not isinstance(value, dict):
        return []
    if label == _MEMBER:
        return [member for member in value.values() if isinstance(member, dict | list)]
    return [value[label[1:]]] if label[0] == "." and label[1:] in value else []


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
