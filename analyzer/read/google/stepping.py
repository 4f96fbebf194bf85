"""Interactions that are streamed: steps that begin, come in pieces, and end."""

from __future__ import annotations

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.dialogue import Dialogue, Said
from analyzer.read.google.steps import Step, call_of
from analyzer.read.members import held
from analyzer.read.values import ABSENT, Int64, Raw, first, streamed, text_of

_STEP = msgspec.json.Decoder(Step)


class Event(msgspec.Struct, gc=False):
    """An event of a stream; the earlier revision of the API calls steps contents."""

    event_type: str | None = None
    index: Int64 | None = None
    step: Raw = ABSENT
    content: Raw = ABSENT
    delta: Raw = ABSENT


class _Open(msgspec.Struct):
    """A step that comes in pieces."""

    step: Step
    pieces: list[str] = []
    texts: list[str] = []
    whole: bool = False


class _Reply(msgspec.Struct):
    """The steps of an interaction so far."""

    name: str | None
    place: Place
    steps: dict[int, _Open] = {}


class Stepping:
    """Takes the events of streams, one interaction at a time."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._reply: _Reply | None = None

    def begin(self, name: str | None, place: Place) -> None:
        """An interaction begins."""
        self.end()
        self._reply = _Reply(name, place)

    def move(self, place: Place) -> None:
        """Another event of the stream: what is put together stands where the last one does."""
        if self._reply is not None:
            self._reply.place = place

    def take(self, event: Event, place: Place) -> None:
        """A step that begins or ends, or a piece of one."""
        if self._reply is None:
            self.begin(None, place)
        assert self._reply is not None
        index = event.index or 0
        begun = event.step or event.content
        word = (event.event_type or "").rpartition(".")[2]
        if word == "start":
            self._reply.steps[index] = _Open(held(_STEP.decode, begun, Step())[0])
            return
        found = self._reply.steps.setdefault(index, _Open(Step()))
        if word == "stop":
            found.whole = True
        elif first(event.delta) == b"{":
            _add(found, held(_STEP.decode, event.delta, Step())[0])

    def end(self, stop: str | None = None) -> None:
        """The interaction is over, or without `stop` it breaks off."""
        reply, self._reply = self._reply, None
        if reply is None or not reply.steps:
            return
        said = Said("assistant")
        texts: list[str] = []
        for _, each in sorted(reply.steps.items()):
            texts += each.texts
            if not (each.step.type or "").endswith("_call"):
                continue
            call = call_of(each.step, "")
            if each.pieces:
                call.text = "".join(each.pieces)
                call.container = streamed(call.text)
            call.status = None if each.whole or stop is not None else "in_progress"
            said.calls.append(call)
        said.text = "".join(texts) or None
        place = msgspec.structs.replace(reply.place, opaque=True)
        self._dialogue.answer(said, place, native="interaction", reply=reply.name, stop=stop, stage="stream")


def _add(found: _Open, delta: Step) -> None:
    """Take a piece: of the arguments, of a text, or a whole call."""
    if delta.type == "arguments_delta":
        found.pieces += [text_of(delta.arguments) or ""]
    elif (delta.type or "").endswith("_call"):
        step = found.step
        found.step = msgspec.structs.replace(
            delta,
            id=delta.id or step.id,
            name=delta.name or step.name,
            server_name=delta.server_name or step.server_name,
            arguments=delta.arguments or step.arguments,
        )
    elif delta.text is not None and delta.type == "text":
        found.texts.append(delta.text)
