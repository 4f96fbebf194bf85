"""Did you mean: the nearest name among the names that exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from analyzer.visible import reads_as

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W_0-9A-Za-z]+")
#: Longer names are compared by their words only: edit distance is quadratic in the length.
_LONGEST = 80
#: Candidates looked at by edit distance.
_MOST = 2_000


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` most likely stands for, or None when none is near.

    One that looks the same comes first; then case, separators and snake or camel spelling are ignored, then the order
    of the words, then up to a third of the letters may differ (a swap of two neighbours counts once). Ties go to the
    candidate that sorts first.
    """
    names = sorted(set(candidates))
    if name in names:
        return name
    for alike in (reads_as, _joined, _sorted_words):
        wanted = alike(name)
        if not wanted:
            return None
        for near in names:
            if alike(near) == wanted:
                return near
    joined = _joined(name)
    best: tuple[int, int, str] | None = None
    letters = Counter(joined)
    if len(joined) > _LONGEST:
        return None
    for near in names[:_MOST]:
        other = _joined(near)
        allowed = max(len(joined), len(other)) // 3
        if not other or len(other) > _LONGEST or abs(len(other) - len(joined)) > allowed:
            continue
        # No way is shorter than the letters that one has and the other lacks, and to count them is cheap.
        common = sum(min(count, other.count(letter)) for letter, count in letters.items())
        if max(len(joined), len(other)) - common > (allowed if best is None else min(allowed, best[0])):
            continue
        distance = edit_distance(joined, other)
        if distance <= allowed:
            # Numbers are not misspelt: `line_12` is no slip for `line_2`.
            numbers = _digits(other) != _digits(joined)
            ranked = (distance + numbers, abs(len(near) - len(name)), near)
            best = ranked if best is None else min(best, ranked)
    return best[2] if best else None


def edit_distance(a: str, b: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _joined(name: str) -> str:
    return "".join(_words(name))


def _sorted_words(name: str) -> str:
    return " ".join(sorted(_words(name)))


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]
