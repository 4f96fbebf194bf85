"""Streamed replies of chat completions: pieces go to the reply that their id names, where several come at once, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.dialogue import Dialogue, unchosen
from analyzer.read.openai.chunks import Choice, Pieces

CHUNK = "chat.completion.chunk"
_MOST = 16  # streams at once


class Streams:
    """Takes the events of streams for the adapter of one source."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self.latest: Pieces | None = None
        """The streamed reply that came last."""
        self._others: dict[str, Pieces] = {}
        """Those before it that are not finished, by id."""

    def take(self, choices: Sequence[Choice], name: str, place: Place, native: str) -> None:
        """An event of a stream."""
        stream = self.of(name, place)
        if not place.opaque:
            self._dialogue.move(place)
            self._dialogue.cursor.event(native, "delta", self._dialogue.session)
        stream.add(choices)

    def of(self, name: str, place: Place) -> Pieces:
        """The streamed reply of that name, which comes here."""
        stream = self.latest
        if stream is None or (name and stream.id and stream.id != name):
            if stream is not None and stream.stop is None and len(self._others) < _MOST:
                self._others[stream.id] = stream
                stream = None
            elif stream is not None:
                self._answer(stream, stream.place)
            stream = self.latest = self._others.pop(name, None) or Pieces(name, place)
        stream.place = place
        return stream

    def end(self) -> None:
        """The streamed replies are whole, or they break off."""
        stream, self.latest = self.latest, None
        if stream is not None:
            others, self._others = self._others, {}
            for each in (*others.values(), stream):
                self._answer(each, stream.place)

    def _answer(self, stream: Pieces, place: Place) -> None:
        place = msgspec.structs.replace(place, opaque=True)
        how: dict[str, Any] = {"native": CHUNK, "reply": stream.id or None, "stage": "stream"}
        if not stream.others:
            self._dialogue.answer(stream.said(), place, stop=stream.stop, **how)
        for index, each in sorted({0: stream, **stream.others}.items()) if stream.others else ():
            how["reply"] = f"{stream.id or place.event}#{index}" if index else how["reply"]
            self._dialogue.answer(unchosen(each.said(), each.stop), place, stop=each.stop, **how)
