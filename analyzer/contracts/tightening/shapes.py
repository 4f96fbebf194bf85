"""The common shape of observed identifiers, as an anchored pattern with a length: linear in any engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SEPARATOR = re.compile(r"([^A-Za-z0-9])")
_RUN = re.compile(r"[A-Z]+|[a-z]+|[0-9]+")
_PLAIN = re.compile(r"[\x20-\x7e]+")
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}/]")
#: A word that stands in one place of an identifier in so few variants, each so often, is a code of a list.
_FEW_WORDS, _OFTEN = 5, 6
#: Below that many different texts, a shape without fixed columns is no shape.
_ENOUGH = 5
_MOST_SEPARATORS = 6
_LONGEST = 512


class Shape(NamedTuple):
    """An anchored pattern and the most characters a text of this shape has."""

    pattern: str
    max_length: int


def free_text(texts: Sequence[str]) -> bool:
    """Whether the texts are written for people: many different ones with spaces, or beyond printable ASCII."""
    distinct = {text for text in texts if text}
    spaced = sum(" " in text.strip() for text in distinct)
    foreign = any(not _PLAIN.fullmatch(text) for text in distinct)
    return foreign or (len(distinct) > 2 and 3 * spaced > len(distinct))


def identifier(texts: Sequence[str]) -> bool:
    """Whether the texts number things, so that others of the same shape must be expected: no list of codes."""
    return any(_UUID.fullmatch(text) or re.search(r"[0-9]{3}", text) for text in texts)


def shape(texts: Sequence[str]) -> Shape | None:
    """The shape that all the texts share, or None: prose, words, or nothing in common."""
    if not texts or any(not _PLAIN.fullmatch(text) or len(text) > _LONGEST for text in texts):
        return None
    if all(_UUID.fullmatch(text) for text in texts):
        digit = _one_of([text.replace("-", "") for text in texts], hexadecimal=True)
        return Shape(f"^{digit}{{8}}(?:-{digit}{{4}}){{3}}-{digit}{{12}}$", 36)
    split = [_SEPARATOR.split(text) for text in texts]
    if len({tuple(parts[1::2]) for parts in split}) == 1:
        found = _columns(split)
        if found is not None:
            return found
    found = _words(texts)
    # Texts of separators alone have no words.
    return found if found and all(re.search(found.pattern, text) for text in texts) else None


def _columns(split: list[list[str]]) -> Shape | None:
    """Texts with the same separators in the same places: `ord_204418`, `2026-11-17`, `EUR:12`."""
    pattern, longest, told = "", 0, False
    for index, column in enumerate(zip(*split, strict=True)):
        if index % 2:
            pattern, longest = pattern + _literal(column[0]), longest + 1
        elif any(column):
            field = _field(column)
            if field is None:
                return None
            pattern, longest = pattern + field.pattern, longest + field.max_length
            fixed = len(set(map(len, column))) == 1
            told = (
                told or any(c.isdigit() for text in column for c in text) or (fixed and all(map(str.isupper, column)))
            )
    return Shape(f"^{pattern}$", longest) if told else None


def _field(column: Sequence[str]) -> Shape | None:
    if not all(column):
        return None
    distinct = sorted(set(column))
    if len(distinct) == 1 and distinct[0].isalpha():
        return Shape(distinct[0], len(distinct[0]))
    if len(distinct) <= _FEW_WORDS and len(column) >= _OFTEN * len(distinct) and all(map(str.isalpha, distinct)):
        return Shape(f"(?:{'|'.join(distinct)})", max(map(len, distinct)))
    runs_of = [_RUN.findall(text) for text in column]
    kinds = {tuple(_one_of([run]) for run in runs) for runs in runs_of}
    if len(kinds) == 1 and len(next(iter(kinds))) <= 4:
        parts = [_run(run, kind) for run, kind in zip(zip(*runs_of, strict=True), next(iter(kinds)), strict=True)]
        return Shape("".join(part.pattern for part in parts), sum(part.max_length for part in parts))
    kind = _one_of(column, hexadecimal=True) or _one_of(column)
    return _counted(kind, column)


def _run(run: Sequence[str], kind: str) -> Shape:
    if len(set(run)) == 1 and kind != "[0-9]":
        return Shape(run[0], len(run[0]))
    return _counted(kind, run)


def _counted(kind: str, texts: Sequence[str]) -> Shape:
    low, high = min(map(len, texts)), max(map(len, texts))
    if low == high:
        return Shape(f"{kind}{{{low}}}" if low > 1 else kind, low)
    # Lengths that vary will vary more than half of the sessions showed.
    low, high = max(1, 2 * low - high), 2 * high - low
    return Shape(f"{kind}{{{low},{high}}}", high)


def _words(texts: Sequence[str]) -> Shape | None:
    """Words with separators between them, in any number: paths, slugs, versions, addresses."""
    separators = sorted({char for text in texts for char in text if not char.isalnum()})
    distinct = sorted(set(texts))
    if " " in separators or len(separators) > _MOST_SEPARATORS or len(distinct) < _ENOUGH:
        return None
    if not separators and not all(any(char.isdigit() for char in text) for text in texts):
        return None
    prefix = _prefix(distinct)
    rests = [text[len(prefix) :] for text in distinct]
    if not all(rests):
        return None
    kind = _one_of([char for rest in rests for char in rest if char.isalnum()])
    between = "".join("\\" + char if char in "\\]^-[" else char for char in separators)
    runs = [len(run) for rest in rests for run in re.findall(r"[^A-Za-z0-9]+", rest[1:-1])]
    most = max(runs, default=1)
    joint = f"[{between}]{{1,{most}}}" if most > 1 else f"[{between}]"
    # A separator may lead or end only where one was seen to: `..` and `/etc` stay out of relative paths.
    lead = f"[{between}]?" if any(not rest[0].isalnum() for rest in rests) else ""
    tail = f"[{between}]?" if any(not rest[-1].isalnum() for rest in rests) else ""
    body = f"{kind}+(?:{joint}{kind}+)*" if separators else f"{kind}+"
    longest = max(map(len, texts))
    return Shape(f"^{_literal(prefix)}{lead}{body}{tail}$", longest + max(4, longest // 4))


def _prefix(texts: Sequence[str]) -> str:
    """What all texts begin with, up to a separator."""
    common = "".join(chars[0] for chars in takewhile(lambda chars: len(set(chars)) == 1, zip(*texts, strict=False)))
    end = max((n + 1 for n, char in enumerate(common) if not char.isalnum()), default=0)
    return common[:end]


def _one_of(texts: Sequence[str], *, hexadecimal: bool = False) -> str:
    """The smallest class of characters that holds all texts; with `hexadecimal` of digits of base 16, or nothing."""
    chars = set("".join(texts))
    lower, upper, digits = (any(map(test, chars)) for test in (str.islower, str.isupper, str.isdigit))
    if hexadecimal:
        if not chars <= set("0123456789abcdefABCDEF") or not digits:
            return ""
        return f"[0-9{'A-F' * upper}{'a-f' * lower}]"
    return f"[{'A-Z' * upper}{'a-z' * lower}{'0-9' * digits}]"


def _literal(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0] if match[0] != "/" else "/", text)
