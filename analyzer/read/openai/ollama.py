"""Ollama's own chat replies: a message beside `done`, whole or in pieces that hold whole calls; ids may be missing."""

from __future__ import annotations

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.dialogue import Dialogue, Said
from analyzer.read.openai.messages import said_of
from analyzer.read.values import Raw

WIRE = "ollama"
_NATIVE = "api.chat"


class _Open(msgspec.Struct):
    """A reply as far as it has come."""

    place: Place
    said: Said
    texts: list[str] = []


class Replies:
    """Takes replies, one at a time."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self.open: _Open | None = None
        """The reply that comes in pieces."""

    def take(self, message: Raw, place: Place, *, done: bool, stop: str | None) -> None:
        """A reply, or the next piece of one, which `done` ends."""
        said, begun = said_of(bytes(message)), self.open
        if begun is None and done and not place.opaque:
            self._dialogue.answer(said, place, native=_NATIVE, to="/message", stop=_stop(said, stop), wire=WIRE)
            return
        if not place.opaque:
            self._dialogue.move(place)
            self._dialogue.cursor.event(_NATIVE, "delta", self._dialogue.session)
        if begun is None:
            begun = self.open = _Open(place, Said("assistant"))
        begun.place = place
        begun.said.calls += said.calls
        begun.said.faults += said.faults
        begun.texts += [said.text] if said.text else []
        if done:
            self.end(stop or "stop")

    def end(self, stop: str | None = None) -> None:
        """The reply is whole, or without `stop` it breaks off."""
        begun, self.open = self.open, None
        if begun is not None:
            place = msgspec.structs.replace(begun.place, opaque=True)
            begun.said.text = "".join(begun.texts) or None
            stop = _stop(begun.said, stop)
            self._dialogue.answer(begun.said, place, native=_NATIVE, stop=stop, stage="stream", wire=WIRE)


def _stop(said: Said, stop: str | None) -> str | None:
    """How a reply ended; with calls too it is written as `stop`, which says nothing of them."""
    return None if said.calls and stop == "stop" else stop
