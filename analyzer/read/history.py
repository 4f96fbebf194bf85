"""What is remembered of conversations: which messages were sent, which replies came, and how calls and results pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

_CONVERSATIONS = 20_000
_CALLS = 400_000


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One message as it was sent."""

    digest: int
    calls: tuple[tuple[str | None, str | None], ...] = ()
    results: tuple[tuple[str | None, str | None], ...] = ()


class Conversation(msgspec.Struct, eq=False):
    """What is known of one conversation."""

    session: str
    sent: list[Sent] = []
    replies: list[int] = []
    """Gists of the replies to its last request."""
    failed: bool = False
    answered: dict[str, int] = {}
    """How many results of a call one history held."""
    emitted: dict[str, list[str]] = {}
    """The replies that had a call at this place of the history."""
    table: bytes = b""
    state: tuple[str | bool | None, ...] = ()
    """Model, parallel calls, text format, instructions."""
    walk: Any = None
    """The `Walk` at the end of `sent`."""
    text: bytes = b""
    """The JSON text of the last request's messages, without its end."""


Found = tuple[Conversation, int, list[bytes], list[int]]
"""A conversation, how many messages of a request it has seen, the texts of the others, and their digests."""


class Memory:
    """The conversations of a run; only so many are remembered."""

    def __init__(self) -> None:
        self.beginnings: dict[int, list[Conversation]] = {}
        self.named: dict[str, Conversation] = {}
        self.owners: dict[str, Conversation] = {}
        self.names: dict[str, int] = {}

    def trim(self) -> None:
        """Forget the older half of what there is too much of."""
        kept: tuple[tuple[dict[Any, Any], int], ...] = (
            (self.beginnings, _CONVERSATIONS),
            (self.named, _CONVERSATIONS),
            (self.owners, _CALLS),
        )
        for held_, limit in kept:
            if len(held_) > limit:
                for key in list(held_)[: len(held_) - limit // 2]:
                    del held_[key]


class Walk:
    """The calls and results of one history in their order: names the emission of each, and what pairs them."""

    def __init__(self, emitted: dict[str, list[str]], *, positional: bool) -> None:
        self._emitted = emitted
        self._positional = positional
        self._calls: dict[str, int] = {}
        self._results: dict[str, int] = {}
        self._open: list[tuple[str, str | None, str | None]] = []

    def call(self, call_id: str | None, name: str | None, reply: str | None = None) -> tuple[str, str]:
        """The pair id and the emission of the next call; `reply`: it stands in a reply of the model."""
        placed = self._positional or call_id is None
        word = f"{name}#" if placed else call_id or ""
        nth = _next(self._calls, word)
        emission = f"{word}{nth + 1}" if placed else word if nth == 0 else f"{word}#{nth + 1}"
        replies = self._emitted.get(emission)
        if reply is not None:
            replies = self._emitted.setdefault(emission, [])
            if reply not in replies:
                replies.append(reply)
            nth = replies.index(reply)
        else:
            nth = len(replies) - 1 if replies else 0
        emission = f"{emission}~{nth + 1}" if nth > 0 else emission
        pair_id = emission if placed else word
        self._open.append((pair_id, call_id, name))
        return pair_id, emission

    def result(self, call_id: str | None, name: str | None) -> tuple[str, str, int]:
        """The pair id of the next result, its emission, and how many results of that call came before."""
        pair_id = call_id
        if self._positional or call_id is None:
            found = [each for each in self._open if call_id is not None and each[1] == call_id]
            found = found or [each for each in self._open if each[2] == name]
            pair_id = found[0][0] if found else call_id or f"{name} unasked"
            if found:
                self._open.remove(found[0])
        pair_id = pair_id or ""
        nth = _next(self._results, pair_id)
        return pair_id, f"{pair_id}/{nth}", nth

    def pass_over(self, sent: Sequence[Sent]) -> None:
        """Go past messages that were sent before."""
        for each in sent:
            for call_id, name in each.calls:
                self.call(call_id, name)
            for call_id, name in each.results:
                self.result(call_id, name)

    def copy(self) -> Walk:
        """Another one at the same place."""
        other = Walk(self._emitted, positional=self._positional)
        other._calls, other._results, other._open = dict(self._calls), dict(self._results), list(self._open)
        return other


def common(sent: Sequence[Sent], digests: Sequence[int]) -> int:
    """How many messages of a request are those that were sent before."""
    count = 0
    for before, now in zip(sent, digests, strict=False):
        if before.digest != now:
            break
        count += 1
    return count


def _next(counts: dict[str, int], name: str) -> int:
    nth = counts.get(name, 0)
    counts[name] = nth + 1
    return nth
