"""Streamed replies of chat completions: pieces go to the reply that their id names, where several come at once, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.dialogue import Dialogue, unchosen
from analyzer.read.dialogue.conversation import Conversation
from analyzer.read.ledger import Recent
from analyzer.read.openai.chunks import Choice, Pieces

CHUNK = "chat.completion.chunk"
_MOST = 16  # streams at once
_ENDED = 256  # that are remembered


class Streams:
    """Takes the events of streams for the adapter of one source."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        dialogue.broke_off, dialogue.comes = self._broke_off, self._comes
        self._latest: Pieces | None = None
        """The streamed reply that came last."""
        self._others: dict[str, Pieces] = {}
        """Those before it that are not finished, by id."""
        self._ended: Recent[str, str | None] = Recent(_ENDED)
        """The sessions of those that are, by id."""

    @property
    def any(self) -> bool:
        """Whether a stream is open."""
        return self._latest is not None or bool(self._others)

    def take(self, choices: Sequence[Choice], name: str, place: Place, native: str) -> None:
        """An event of a stream."""
        after_end = not choices and name in self._ended and not (self._latest is not None and self._latest.id == name)
        stream = None if after_end else self.of(name, place)  # what it took is told behind its end
        if not place.opaque:
            self._dialogue.move(place)
            session = self._ended[name] if stream is None else stream.session
            self._dialogue.cursor.event(native, "delta", session)
        if stream is not None:
            stream.behind = None if place.opaque else self._dialogue.cursor.next
            stream.add(choices)

    def of(self, name: str, place: Place) -> Pieces:
        """The streamed reply of that name, which comes here."""
        stream = self._latest
        if stream is None or (name and stream.id and stream.id != name):
            self._put_aside()
            stream = self._others.pop(name, None) or self._begun(name, place)
            self._latest = stream
        stream.place, stream.behind = place, None
        return stream

    def _begun(self, name: str, place: Place) -> Pieces:
        asked = self._dialogue.begun(name or None, place)
        unsure = asked is None and self._dialogue.unsure(place)
        session = self._dialogue.session if asked is None else asked.session
        return Pieces(name, place, asked=asked, session=None if unsure else session or None, since=place.event)

    def _put_aside(self) -> None:
        """Another stream, or something else, comes: the latest one is whole, or it may go on."""
        stream, self._latest = self._latest, None
        if stream is not None and stream.id and not stream.is_whole and len(self._others) < _MOST:
            self._others[stream.id] = stream
        elif stream is not None:
            self._answer(stream)

    def pause(self) -> None:
        """A request comes, or a whole reply: streams that are not may go on behind it."""
        self._put_aside()

    def fail(self) -> None:
        """A failure comes: if there is one stream that it may be of, that breaks off."""
        self._put_aside()
        if len(self._others) == 1:
            self.end()

    def end(self) -> None:
        """The streamed replies are whole, or they break off."""
        others, self._others = self._others, {}
        for each in others.values():
            self._answer(each)
        stream, self._latest = self._latest, None
        if stream is not None:
            self._answer(stream)

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the records lie that came last of each stream: it may end when their block is gone."""
        for stream in self._open():
            stream.place = placed(stream.place)

    def _open(self) -> Iterator[Pieces]:
        yield from self._others.values()
        if self._latest is not None:
            yield self._latest

    def _comes(self, conversation: Conversation) -> bool:
        return any(each.asked is conversation for each in self._open())

    def _broke_off(self, conversation: Conversation) -> None:
        for stream in [each for each in self._open() if each.asked is conversation]:
            self._others.pop(stream.id, None)
            self._latest = None if stream is self._latest else self._latest
            self._answer(stream)

    def _answer(self, stream: Pieces) -> None:
        tried = None if stream.asked is None else stream.asked.twin_of
        if tried is not None and stream.asked is not None and stream.asked.asked_in is not None:
            before = [each for each in self._open() if each.asked is tried]
            if before and all(each.place.event < stream.since for each in before):
                stream.asked = tried  # nothing came of the first one since: it broke off, and was tried again
                self._broke_off(tried)
        event, place = stream.behind, msgspec.structs.replace(stream.place, opaque=True)
        if stream.id:
            self._ended[stream.id] = stream.session
            self._ended.trim()
        how: dict[str, Any] = {"native": CHUNK, "reply": stream.id or None, "stage": "stream", "of": stream.asked}
        if not stream.others:
            self._dialogue.answer(stream.said(), place, stop=stream.stop, event=event, **how)
        for index, each in sorted({0: stream, **stream.others}.items()) if stream.others else ():
            how["reply"] = f"{stream.id or place.event}#{index}" if index else how["reply"]
            said = unchosen(each.said(), each.stop)
            event = self._dialogue.answer(said, place, stop=each.stop, event=event, **how) + 1
