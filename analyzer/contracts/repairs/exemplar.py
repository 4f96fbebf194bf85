"""The shortest string that a simple regular expression matches.

Simple: literals, classes, groups, alternatives, quantifiers, anchors. Look-around is not followed: a text that ignores
it may still match, so whoever asks checks the answer with the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: A longer text than this is no placeholder; quantifiers that ask for one make the pattern not simple.
LONGEST = 1_000
_DEEPEST = 50
_ESCAPED = {"d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyz0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "s": " \t\n"}
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
#: What to try first when a negated class or a dot leaves the choice.
_PREFERRED = "a0A_-. /:@#!?*+=~,;xyzXYZ1b"


class _NotSimple(Exception):
    pass


@dataclass
class _Reader:
    """Reads a pattern and writes its shortest match at once; `spare` is what optional repeats may still add."""

    pattern: str
    spare: int
    at: int = 0
    depth: int = 0
    written: int = field(default=0)

    def alternatives(self) -> str:
        """The shortest of the alternatives up to a closing parenthesis or the end."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotSimple
        options = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            options.append(self.sequence())
        self.depth -= 1
        return min(options, key=len)

    def sequence(self) -> str:
        """Terms one after another."""
        out: list[str] = []
        while self.peek() not in ("", "|", ")"):
            start = self.at
            text = self.term()
            low, high = self.quantifier()
            repeats = [text] * low
            if low * len(text) > LONGEST:
                raise _NotSimple
            # A repeat is read again for its next round, so that a class in it can be spent on the length asked for.
            while text and len(repeats) < high and self.spare > 0:
                repeats.append(text)
                self.spare -= len(text)
            self.written += 1
            if self.written > 10 * LONGEST or start == self.at:
                raise _NotSimple
            out.extend(repeats)
        return "".join(out)

    def term(self) -> str:
        """One character, class, group or anchor."""
        char = self.pattern[self.at]
        self.at += 1
        if char in "^$":
            return ""
        if char == ".":
            return "a"
        if char == "(":
            return self.group()
        if char == "[":
            return self.choose()
        if char == "\\":
            return self.escape()
        if char in "*+?":
            raise _NotSimple
        return char

    def group(self) -> str:
        """A group after its opening parenthesis."""
        zero_width = False
        if self.peek() == "?":
            for lead in ("?:", "?=", "?!", "?<=", "?<!"):
                if self.pattern.startswith(lead, self.at):
                    zero_width = lead != "?:"
                    self.at += len(lead)
                    break
            else:
                end = self.pattern.find(">", self.at)
                if not self.pattern.startswith("?<", self.at) or end < 0:
                    raise _NotSimple
                self.at = end + 1
        text = self.alternatives()
        if self.peek() != ")":
            raise _NotSimple
        self.at += 1
        return "" if zero_width else text

    def choose(self) -> str:
        """A character of a class, after its opening bracket."""
        negated = self.peek() == "^"
        self.at += negated
        members: list[tuple[str, str]] = []
        while self.peek() != "]":
            low = self.member()
            if len(low) == 1 and self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("", "]"):
                self.at += 1
                members.append((low, self.member()[:1]))
            else:
                members.extend((char, char) for char in low)
        self.at += 1
        if negated:
            for char in _PREFERRED:
                if not any(low <= char <= high for low, high in members):
                    return char
            raise _NotSimple
        for char in _PREFERRED[:3]:
            if any(low <= char <= high for low, high in members):
                return char
        if not members:
            raise _NotSimple
        return members[0][0]

    def member(self) -> str:
        """One member of a class; an escaped set gives all its characters."""
        char = self.peek()
        if not char:
            raise _NotSimple
        self.at += 1
        return self.escape(in_class=True) if char == "\\" else char

    def escape(self, *, in_class: bool = False) -> str:
        """What an escape stands for, after the backslash."""
        char = self.peek()
        self.at += 1
        if char in _ESCAPED:
            return _ESCAPED[char] if in_class else _ESCAPED[char][0]
        if char in ("D", "S", "W") and not in_class:
            return "-" if char == "W" else "a"
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "b" and not in_class:
            return ""
        digits = {"x": 2, "u": 4}.get(char, 0)
        if digits:
            code = self.pattern[self.at : self.at + digits]
            self.at += digits
            try:
                return chr(int(code, 16))
            except ValueError:
                raise _NotSimple from None
        if char.isalnum() or not char:
            raise _NotSimple
        return char

    def quantifier(self) -> tuple[int, int]:
        """How often the term before stands: least and most."""
        low, high = {"*": (0, LONGEST), "+": (1, LONGEST), "?": (0, 1)}.get(self.peek(), (1, 1))
        if self.peek() in ("*", "+", "?"):
            self.at += 1
        elif self.peek() == "{":
            end = self.pattern.find("}", self.at)
            least, comma, most = self.pattern[self.at + 1 : end].partition(",")
            if end < 0 or not least.isdecimal() or len(least) > 4 or (most and not most.isdecimal()):
                raise _NotSimple
            low, high = int(least), min(int(most[:9]), LONGEST) if most else LONGEST if comma else int(least)
            self.at = end + 1
        if self.peek() == "?":
            self.at += 1
        return low, high

    def peek(self) -> str:
        """The next character, or nothing at the end."""
        return self.pattern[self.at : self.at + 1]


def exemplar(pattern: str, *, least: int = 0) -> str | None:
    """A shortest text of at least `least` characters that `pattern` should match; None where it is not simple.

    An unanchored pattern is met by the match alone. Check the answer with the engine.
    """
    if least > LONGEST or len(pattern) > 10 * LONGEST:
        return None
    try:
        short = _read(pattern, 0)
        if len(short) >= least:
            return short
        grown = _read(pattern, least - len(short))
    except _NotSimple:
        return None
    if len(grown) < least and not pattern.endswith("$"):
        grown += "a" * (least - len(grown))
    return grown if len(grown) <= LONGEST else None


def _read(pattern: str, spare: int) -> str:
    reader = _Reader(pattern, spare)
    text = reader.alternatives()
    if reader.at < len(pattern) or len(text) > LONGEST:
        raise _NotSimple
    return text
