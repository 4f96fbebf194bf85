"""Replies of generateContent: whole ones, and those that come in pieces."""

from __future__ import annotations

import re

import msgspec

from analyzer.read.dialogue import Call, Dialogue, Said
from analyzer.read.google.contents import said_of
from analyzer.read.members import held
from analyzer.read.openai.cursor import Place
from analyzer.read.recover import Fault
from analyzer.read.values import ABSENT, Int64, Raw


class Candidate(msgspec.Struct, gc=False, rename="camel"):
    """One of the alternatives of a response."""

    content: Raw = ABSENT
    finish_reason: str | None = None
    finish_message: str | None = None
    index: Int64 | None = None
    stopped: str | None = msgspec.field(default=None, name="finish_reason")
    why: str | None = msgspec.field(default=None, name="finish_message")


class _Stream(msgspec.Struct):
    """A reply that comes in pieces: each holds whole parts."""

    id: str
    place: Place
    said: Said
    texts: list[str] = []
    stop: str | None = None
    why: str | None = None
    """What the provider says of its stopping."""

    def add(self, said: Said, stop: str | None, why: str | None) -> None:
        """Take the next piece."""
        self.said.calls += said.calls
        self.said.results += said.results
        self.texts += [] if said.text is None else [said.text]
        self.stop, self.why = stop or self.stop, why or self.why


_MALFORMED = "MALFORMED_FUNCTION_CALL"
_CALLED = re.compile(r"([A-Za-z_][\w-]*)\(")
_candidates = msgspec.json.Decoder(list[Candidate]).decode


class Replies:
    """Takes responses, one reply at a time."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._stream: _Stream | None = None

    def take(self, raw: Raw, response: str | None, place: Place) -> tuple[int | None, list[Fault]]:
        """The candidates of a response, whole or the next piece of one; its event, if whole, and what is wrong."""
        candidates, faults = held(_candidates, raw, list[Candidate]())
        name = response or ""
        if self._stream is not None and self._stream.id != name:
            self.end()
        chosen = next((each for each in candidates if each.index in (None, 0)), Candidate())
        said = said_of(bytes(chosen.content)) if chosen.content else Said()
        stop, why = chosen.finish_reason or chosen.stopped, chosen.finish_message or chosen.why
        if self._stream is None and not place.opaque and (stop is not None or not candidates):
            native, to = "generateContent", "/candidates/0/content"
            event = self._dialogue.answer(said, place, native=native, to=to, reply=response or None, stop=stop)
            if stop == _MALFORMED:
                self._dialogue.refused(_malformed(why), event, 0, "/candidates/0/finishMessage")
            return event, faults
        if self._stream is None:
            self._stream = _Stream(name, place, Said("assistant"))
        if not place.opaque:
            self._dialogue.move(place)
            self._dialogue.cursor.event("streamGenerateContent", "delta", self._dialogue.session)
        self._stream.place = place
        self._stream.add(said, stop, why)
        return None, []

    def end(self) -> None:
        """The streamed reply is whole, or it breaks off."""
        stream, self._stream = self._stream, None
        if stream is not None:
            place = msgspec.structs.replace(stream.place, opaque=True)
            native, reply = "streamGenerateContent", stream.id or None
            said, stop = stream.said, stream.stop
            said.text = "".join(stream.texts) if stream.texts else None
            event = self._dialogue.answer(said, place, native=native, reply=reply, stop=stop, stage="stream")
            if stop == _MALFORMED:
                self._dialogue.refused(_malformed(stream.why), event, 0, "")


def _malformed(message: str | None) -> Call:
    """The call that the model wrote and the provider could not read, of which its message tells."""
    names = [name for name in _CALLED.findall(message or "") if name != "print"]
    return Call(None, names[0] if names else None, message or _MALFORMED, "text", status="failed", owed_by="nobody")
