"""Which patterns can take a backtracking engine exponential time, decided without running them.

The pattern becomes an automaton with one state per character it names (Glushkov), which counts the ways from state to
state. A state that leads back to itself over one word in two ways doubles the work with each turn: that is looked for
in the product of the automaton with itself. Where a loop is left to accept at once, nothing is ever tried twice, and
the pattern is not blamed. A pattern that cannot be read, or is too large to decide, is not blamed either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

_MOST_CHARACTERS = 2_000
_MOST_STATES = 150
_MOST_STEPS = 20_000
_MOST_NESTING = 40
# From here a bounded repeat is as good as an unbounded one to whoever waits for it.
_MANY = 16

# A set of characters is a bit mask: ASCII one by one, then letters, digits, blanks and the rest of Unicode.
_ASCII = (1 << 128) - 1
_LETTER, _DIGIT, _BLANK, _OTHER = (1 << bit for bit in range(128, 132))
_ANY = _ASCII | _LETTER | _DIGIT | _BLANK | _OTHER
# What asserts without reading still stands between two turns of a loop, so it counts as a character of its own.
_END, _EDGE = 1 << 132, 1 << 133


def _mask(text: Iterable[str]) -> int:
    return sum({1 << ord(char) for char in text})


_D = _mask("0123456789")
_W = _D | _mask("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_S = _mask(" \t\n\r\f\v") | _BLANK
_CLASSES = {"d": _D, "D": _ANY & ~_D, "w": _W, "W": _ANY & ~_W, "s": _S, "S": _ANY & ~_S}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|c([A-Za-z])")
_PROPERTY = re.compile(r"[pP](?:\{(\w+)(?:=(\w+))?\}|(\w))")
_REPEAT = re.compile(r"\{([0-9]{1,9})(,([0-9]{0,9}))?\}")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|[a-z]*(?:-[a-z]+)?:)")
_LOOK = re.compile(r"\?<?[=!]")
_BACK = re.compile(r"[1-9][0-9]*|k<\w+>")


class _Unreadable(Exception):
    pass


class _Part:
    """A piece of the automaton: the states it begins and ends with, counted, and whether it may match nothing."""

    __slots__ = ("empty", "first", "last")

    def __init__(self, *, empty: bool, first: Counter[int], last: Counter[int]) -> None:
        self.empty, self.first, self.last = empty, first, last


@lru_cache(maxsize=1_000)  # the same few patterns stand in schema after schema
def explosive(pattern: str) -> bool:
    """Say whether a pattern can take exponential time where the engine backtracks."""
    if len(pattern) > _MOST_CHARACTERS:
        return False
    automata = [_Automaton()]
    try:
        reader = _Reader(pattern, automata)
        reader.whole()
        return any(automaton.ambiguous() for automaton in automata)
    except _Unreadable:
        return False


class _Automaton:
    def __init__(self) -> None:
        self.sets: list[int] = []
        self.follow: list[Counter[int]] = []
        self.accepting: set[int] = set()

    def state(self, characters: int) -> _Part:
        if len(self.sets) >= _MOST_STATES:
            raise _Unreadable
        self.sets.append(characters)
        self.follow.append(Counter())
        one = Counter({len(self.sets) - 1: 1})
        return _Part(empty=False, first=one, last=one)

    def nothing(self) -> _Part:
        return _Part(empty=True, first=Counter(), last=Counter())

    def then(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        first = left.first + right.first if left.empty else left.first
        last = right.last + left.last if right.empty else right.last
        return _Part(empty=left.empty and right.empty, first=first, last=last)

    def either(self, left: _Part, right: _Part) -> _Part:
        return _Part(empty=left.empty or right.empty, first=left.first + right.first, last=left.last + right.last)

    def loop(self, body: _Part) -> _Part:
        self._link(body.last, body.first)
        return body

    def _link(self, last: Counter[int], first: Counter[int]) -> None:
        for state, ways in last.items():
            for following, more in first.items():
                # Two ways are as bad as any number, and a number that doubles soon is a long one.
                self.follow[state][following] = min(2, self.follow[state][following] + ways * more)

    def ambiguous(self) -> bool:
        """Say whether some state comes back to itself over one word in two ways, and may fail afterwards."""
        loops = _components(self.follow)
        return any(self._doubles(loop) for loop in loops if not loop & self.accepting)

    def _doubles(self, loop: set[int]) -> bool:
        pairs: dict[tuple[int, int], int] = {}
        edges: list[list[int]] = []
        doubled: list[tuple[int, int]] = []
        queue = [(state, state) for state in sorted(loop)]
        pairs.update({pair: position for position, pair in enumerate(queue)})
        edges.extend([] for _ in queue)
        steps = 0
        for left, right in queue:  # grows while it is walked
            for one, ways in self.follow[left].items():
                for other in self.follow[right]:
                    steps += 1
                    if steps > _MOST_STEPS:
                        raise _Unreadable
                    if one not in loop or other not in loop or not self.sets[one] & self.sets[other]:
                        continue
                    if (one, other) not in pairs:
                        pairs[one, other] = len(edges)
                        edges.append([])
                        queue.append((one, other))
                    edges[pairs[left, right]].append(pairs[one, other])
                    if left == right and one == other and ways > 1:
                        doubled.append((pairs[left, right], pairs[one, other]))
        for component in _components(edges):
            same = any(queue[node][0] == queue[node][1] for node in component)
            apart = any(queue[node][0] != queue[node][1] for node in component)
            if same and (apart or any(a in component and b in component for a, b in doubled)):
                return True
        return False


class _Reader:
    """Reads ECMA-262 patterns, as far as they matter here, straight into an automaton."""

    def __init__(self, text: str, automata: list[_Automaton]) -> None:
        self._text, self._at, self._nesting = text, 0, 0
        self._automata = automata
        self._auto = automata[0]

    def whole(self) -> None:
        part = self._alternatives()
        if self._at < len(self._text):
            raise _Unreadable
        self._auto.accepting.update(part.last)

    def _peek(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        match = expression.match(self._text, self._at)
        if match:
            self._at = match.end()
        return match

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _Unreadable
        self._at += 1
        return self._text[self._at - 1]

    def _alternatives(self) -> _Part:
        part = self._sequence()
        while self._peek("|"):
            part = self._auto.either(part, self._sequence())
        return part

    def _sequence(self) -> _Part:
        part = self._auto.nothing()
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._auto.then(part, self._repeated())
        return part

    def _repeated(self) -> _Part:
        start = self._at
        part = self._atom()
        least, most = self._bounds()
        if (least, most) == (1, 1):
            return part
        end = self._at
        if most is None or most >= _MANY:
            looped = self._auto.loop(part)
            if part.empty and least >= _MANY:
                self._auto.loop(part)  # turns that have to be taken may match nothing, and each of them may be the one
            return _Part(empty=looped.empty or least == 0, first=looped.first, last=looped.last)
        # A few copies stand for a few turns; each is read again, because each has states of its own.
        copies = [part] + [self._again(start) for _ in range(min(max(least, 1), 3) - 1)]
        if most > max(least, 1):
            extra = self._again(start)
            copies.append(_Part(empty=True, first=extra.first, last=extra.last))
        self._at = end
        whole = self._auto.nothing()
        for copy in copies:
            whole = self._auto.then(whole, copy)
        return _Part(empty=whole.empty or least == 0, first=whole.first, last=whole.last)

    def _again(self, start: int) -> _Part:
        self._at = start
        return self._atom()

    def _bounds(self) -> tuple[int, int | None]:
        least: int = 1
        most: int | None = 1
        if self._peek("*"):
            least, most = 0, None
        elif self._peek("+"):
            least, most = 1, None
        elif self._peek("?"):
            least, most = 0, 1
        elif match := self._match(_REPEAT):
            least = int(match[1])
            most = least if match[2] is None else (int(match[3]) if match[3] else None)
        else:
            return 1, 1
        if self._peek("+"):
            raise _Unreadable  # possessive: never backtracks, and no ECMA pattern
        self._peek("?")
        return least, most

    def _atom(self) -> _Part:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._auto.state(self._set())
        if char == ".":
            return self._auto.state(_ANY & ~_mask("\n"))
        if char == "^":
            return self._auto.nothing()
        if char == "$":
            return self._auto.state(_END)
        if char == "\\":
            return self._escape()
        if char in "*+?":
            raise _Unreadable
        return self._auto.state(_of(char))

    def _group(self) -> _Part:
        self._nesting += 1
        if self._nesting > _MOST_NESTING:
            raise _Unreadable
        looking = bool(self._match(_LOOK))
        outer = self._auto
        if looking:
            # What is looked at is matched on its own, and begun anew wherever it stands.
            self._auto = _Automaton()
            self._automata.append(self._auto)
        elif self._text.startswith("?", self._at) and not self._match(_GROUP):
            raise _Unreadable
        part = self._alternatives()
        if not self._peek(")"):
            raise _Unreadable
        self._nesting -= 1
        if looking:
            self._auto.accepting.update(part.last)
            self._auto = outer
            return outer.nothing()
        return part

    def _escape(self) -> _Part:
        if self._match(_BACK):
            return self._auto.nothing()
        if self._peek("b") or self._peek("B"):
            return self._auto.state(_EDGE)
        if self._peek("Z") or self._peek("z"):
            return self._auto.state(_END)
        return self._auto.state(self._escaped())

    def _escaped(self) -> int:
        if match := self._match(_HEX):
            digits = match[1] or match[2] or match[3]
            code = int(digits, 16) if digits else ord(match[4]) % 32
            return _of(chr(code)) if code < 0x110000 else _OTHER
        if match := self._match(_PROPERTY):
            name = (match[2] or match[1] or match[3]).lower()
            known = _LETTER | (_W & ~_D) if name[0] == "l" else _D | _DIGIT if name in {"n", "nd"} else _ANY & ~_ASCII
            return known if match[0][0] == "p" else _ANY & ~known
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        return _of(_CONTROLS.get(char, char))

    def _set(self) -> int:
        negated = self._peek("^")
        characters = 0
        while not self._peek("]"):
            low = self._member()
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                characters |= _between(low, self._member())
            else:
                characters |= low
        return _ANY & ~characters if negated else characters

    def _member(self) -> int:
        char = self._next()
        if char != "\\":
            return _of(char)
        return _of("\b") if self._peek("b") else self._escaped()


def _of(char: str) -> int:
    if char.isascii():
        return 1 << ord(char)
    return _LETTER if char.isalpha() else _DIGIT if char.isdigit() else _BLANK if char.isspace() else _OTHER


def _between(low: int, high: int) -> int:
    if low.bit_count() > 1 or high.bit_count() > 1 or low > _ASCII:
        return low | high  # `\w-z` is no range
    if high < low:
        raise _Unreadable
    return ((high << 1) - low) & _ASCII if high <= _ASCII else (_ANY & ~(low - 1))


def _components(edges: Sequence[Iterable[int]]) -> list[set[int]]:
    """Find the strongly connected components that hold a loop (Tarjan, with a stack of our own)."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[set[int]] = []
    for root in range(len(edges)):
        if root in number:
            continue
        work = [(root, iter(edges[root]))]
        number[root] = lowest[root] = len(number)
        path.append(root)
        on_path.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    component = set[int]()
                    while node not in component:
                        component.add(path.pop())
                    on_path -= component
                    if len(component) > 1 or node in edges[node]:
                        found.append(component)
            elif following not in number:
                number[following] = lowest[following] = len(number)
                path.append(following)
                on_path.add(following)
                work.append((following, iter(edges[following])))
            elif following in on_path:
                lowest[node] = min(lowest[node], number[following])
    return found
