"""Strings that a regular expression most likely matches, made from its text and never by running it.

Only what schemas use is read: literals, classes, groups, alternatives, counts, anchors. The rest gives no string, and
whoever asks checks what comes out against the expression.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["samples"]

#: Strings kept for one part of an expression, characters of one string, characters of an expression.
MAX_SAMPLES = 4
MAX_LENGTH = 300
MAX_PATTERN = 2_000
_CLASSES = {"d": "07", "w": "aZ_9", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_LETTERS = "aZ0_-. /:@"


class _Unread(Exception):
    """A construct that this reader does not know."""


def samples(pattern: str) -> list[str]:
    """Return up to four distinct strings that the pattern most likely matches, shortest first; none when unread."""
    if len(pattern) > MAX_PATTERN:
        return []
    reader = _Reader(pattern)
    try:
        found = reader.alternatives(0)
    except (_Unread, ValueError):
        return []
    return sorted(found, key=lambda one: (len(one), one)) if reader.at == len(pattern) else []


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def alternatives(self, level: int) -> list[str]:
        if level > 50:
            raise _Unread
        found = self.sequence(level)
        while self.peek() == "|":
            self.take()
            found += self.sequence(level)
        return _few(found)

    def sequence(self, level: int) -> list[str]:
        found = [""]
        while self.peek() not in ("", "|", ")"):
            part = self.counted(self.atom(level))
            firsts = [one + part[0] for one in found]
            found = _few([firsts[0], *(found[0] + other for other in part[1:]), *firsts[1:]])
        return found

    def atom(self, level: int) -> list[str]:
        char = self.take()
        if char in "^$":
            return [""]
        if char == ".":
            return ["a", "0"]
        if char == "(":
            return self.group(level)
        if char == "[":
            return self.char_class()
        if char == "\\":
            return self.escape()
        return [char]

    def group(self, level: int) -> list[str]:
        if self.peek() == "?":
            self.take()
            if self.peek() == ":":
                self.take()
            elif self.text.startswith("<", self.at) and self.text[self.at + 1 : self.at + 2] not in ("=", "!"):
                self.at = self.text.index(">", self.at) + 1
            else:
                raise _Unread  # looks around: what it allows depends on its surroundings
        found = self.alternatives(level + 1)
        if self.take() != ")":
            raise _Unread
        return found

    def escape(self) -> list[str]:
        char = self.take()
        if char in "bB":
            return [""]
        if char in _CLASSES:
            return list(_CLASSES[char])[:2]
        if char in "xu":
            digits = self.text[self.at : self.at + (2 if char == "x" else 4)]
            self.at += len(digits)
            return [chr(int(digits, 16))]
        if not char or char.isalnum():
            raise _Unread
        return [char]

    def char_class(self) -> list[str]:
        negated = self.peek() == "^"
        self.at += negated
        chars: list[str] = []
        while self.peek() != "]":
            low = self.member()
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "") and len(low) == 1:
                self.take()
                low = [low[0], self.member()[0]]
                if negated:
                    low = [chr(code) for code in range(ord(low[0]), min(ord(low[1]), ord(low[0]) + 200) + 1)]
            chars += low
        self.take()
        if negated:
            return [char for char in _LETTERS if char not in chars][:2] or ["\u20ac"]
        if not chars:
            raise _Unread
        return _few(chars)[:2]

    def member(self) -> list[str]:
        char = self.take()
        if not char:
            raise _Unread
        return self.escape() if char == "\\" else [char]

    def counted(self, part: list[str]) -> list[str]:
        char = self.peek()
        if char in ("*", "+", "?") and char:
            self.take()
            low, high = {"*": (0, 2), "+": (1, 2), "?": (0, 1)}[char]
        elif char == "{" and "}" in self.text[self.at :]:
            end = self.text.index("}", self.at)
            bounds = self.text[self.at + 1 : end].split(",")
            low = int(bounds[0])
            high = int(bounds[-1]) if bounds[-1] else low + 1
            self.at = end + 1
        else:
            return part
        if self.peek() in ("?", "+"):
            self.take()
        if low > MAX_LENGTH:
            raise _Unread
        high = min(high, MAX_LENGTH)
        return _few([part[0] * low, part[0] * high, *(one * low for one in part[1:])])


def _few(found: Iterable[str]) -> list[str]:
    kept = list(dict.fromkeys(found))[:MAX_SAMPLES]
    if any(len(one) > MAX_LENGTH for one in kept):
        raise _Unread
    return kept
