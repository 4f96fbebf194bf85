"""What is known of one conversation: which messages were sent, which replies came, how calls and results pair."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from analyzer.frames import UNASKED
from analyzer.read.dialogue.said import Said
from analyzer.read.dialogue.waiting import Waiting

Open = tuple[str, str | None, str | None]
"""A call without a result: what pairs it with one, its own id, and its name."""


def _keys_of(call: Open) -> Iterator[Hashable]:
    _, call_id, name = call
    yield "name", name
    if call_id is not None:
        yield "id", call_id
    else:
        yield "name alone", name
    if not call_id:
        yield ("no id",)


class Emitted(msgspec.Struct, eq=False):
    """The emissions of a conversation, by the place of a call in the history."""

    replies: dict[str, dict[str, int]] = {}
    """The replies that had a call there, each with its number among them, in all conversations of a session: no two
    emissions are called alike."""
    latest: dict[str, int] = {}
    """Which of them was the last of this conversation."""

    def beside(self) -> Emitted:
        """Those of another conversation of the session."""
        return Emitted(self.replies)

    def answered(self, place: str, reply: str) -> int:
        """Which emission the call of a reply at this place is."""
        replies = self.replies.setdefault(place, {})
        nth = self.latest[place] = replies.setdefault(reply, len(replies))
        return nth


class Conversation(msgspec.Struct, eq=False):
    """What is known of one conversation."""

    session: str
    name: str = ""
    """What its session is called, without a number."""
    digests: list[int] = []
    """Of the messages of its last request."""
    head: int = 0
    """How many of these messages are the beginning that it is known by."""
    second: int | None = None
    """Digest of the message after the beginning."""
    replies: list[int] = []
    """Gists of the replies to its last request."""
    exactly: list[int] = []
    """Digests of the ids and arguments of their calls, where gists may be alike."""
    twinned: bool = False
    """Whether another conversation sent the same at once, or it was tried again."""
    twin_of: Conversation | None = None
    """That other one, where it asked first."""
    asked_in: int | None = None
    """The event of the request that it is known by alone so far: that of another one, if it was tried again."""
    failed: bool = False
    answered: dict[str, int] = {}
    """How many results of a call one history held."""
    emitted: Emitted = msgspec.field(default_factory=Emitted)
    """Its emissions."""
    table: bytes = b""
    shape: str = ""
    """Whose form of a table that is."""
    state: tuple[str | bool | None, ...] = ()
    """Model, parallel calls, text format, instructions."""
    wire: str | None = None
    """Another wire than the adapter's, once it is known."""
    walk: Any = None
    """The `Walk` at the end of these messages."""
    text: bytes = b""
    """The JSON text of the last request's messages, without its end; of those that were the last to be continued."""


class Walk(msgspec.Struct, eq=False):
    """The calls and results of one history in their order: names the emission of each, and what pairs them."""

    emitted: Emitted
    positional: bool
    before: Walk | None = None
    """The history that this one goes on with, which stays as it is."""
    calls: dict[str, int] = {}
    results: dict[str, int] = {}
    open: Waiting[Open] = msgspec.field(default_factory=lambda: Waiting(_keys_of))
    closed: dict[str | None, str] = {}
    """By the id that a result named: the call that it answered, for another result that names it."""

    def branch(self) -> Walk:
        """Another one that goes on from here."""
        return Walk(self.emitted, self.positional, self)

    def call(self, call_id: str | None, name: str | None, reply: str | None = None) -> tuple[str, str]:
        """The pair id and the emission of the next call; `reply`: it stands in a reply of the model."""
        placed = self.positional or call_id is None
        word = f"{name}#" if placed else call_id or ""
        nth = self.calls.get(word, 0) if self.before is None else self._calls_after(self.before, word)
        self.calls[word] = nth + 1
        emission = f"{word}{nth + 1}" if placed else word if nth == 0 else f"{word}#{nth + 1}"
        emitted = self.emitted
        if reply is not None:
            nth = emitted.answered(emission, reply)
        elif (latest := emitted.latest.get(emission)) is not None:
            nth = latest
        else:
            nth = max(len(emitted.replies.get(emission, ())) - 1, 0)
        emission = f"{emission}~{nth + 1}" if nth > 0 else emission
        pair_id = emission if placed else word
        self.open.add((pair_id, call_id, name))
        return pair_id, emission

    def result(self, call_id: str | None, name: str | None) -> tuple[str, str, int]:
        """The pair id of the next result, its emission, and how many results of that call came before."""
        pair_id = call_id
        if self.before is not None:
            self._join(self.before)
        if self.positional or call_id is None:
            found = self.open.take(("id", call_id)) if call_id is not None else None
            if call_id is None and name is None:  # order is all there is
                found = self.open.take(("no id",))
            # An id of its own that names another call is no answer to this one.
            found = found or self.open.take(("name" if call_id is None else "name alone", name))
            if found is not None:
                pair_id = found[0]
                self.closed[call_id] = pair_id
            else:
                pair_id = self.closed.get(call_id) or call_id or f"{name}{UNASKED}"
        pair_id = pair_id or ""
        nth = self.results.get(pair_id, 0)
        self.results[pair_id] = nth + 1
        return pair_id, f"{pair_id}/{nth}", nth

    def pass_over(self, sent: Iterable[Said]) -> None:
        """Go past messages that were sent before."""
        for said in sent:
            for call in said.calls:
                self.call(call.call_id, call.name)
            for result in said.results:
                self.result(result.call_id, result.name)

    def _calls_after(self, before: Walk, word: str) -> int:
        return self.calls.get(word, before.calls.get(word, 0))

    def _join(self, before: Walk) -> None:
        """Take over what came before: a reply seldom holds results."""
        self.before = None
        self.calls = before.calls | self.calls
        self.results = before.results | self.results
        self.open = Waiting(_keys_of, (*before.open, *self.open))
        self.closed = before.closed | self.closed


def common(sent: Sequence[int], digests: Sequence[int]) -> int:
    """How many messages of a request are those that were sent before."""
    if sent == digests[: len(sent)]:
        return len(sent)
    for index, (old, new) in enumerate(zip(sent, digests, strict=False)):
        if old != new:
            return index
    return len(digests)
