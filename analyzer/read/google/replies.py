"""Replies of generateContent: whole ones, and those that come in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.dialogue import Call, Dialogue, Said, unchosen
from analyzer.read.google.contents import said_of
from analyzer.read.google.pieces import go_on
from analyzer.read.members import held
from analyzer.read.recover import Fault
from analyzer.read.values import ABSENT, Int64, Raw


class Candidate(msgspec.Struct, gc=False, rename="camel"):
    """One of the alternatives of a response."""

    content: Raw = ABSENT
    finish_reason: str | int | None = None
    finish_message: str | None = None
    index: Int64 | None = None
    stopped: str | int | None = msgspec.field(default=None, name="finish_reason")
    why: str | None = msgspec.field(default=None, name="finish_message")

    @property
    def stop(self) -> str | None:
        """How it ended; dumps of protocol buffers hold the number of the reason, others its name in the client."""
        reason = self.finish_reason if self.finish_reason is not None else self.stopped
        if isinstance(reason, int):
            return _NUMBERED.get(reason, str(reason))
        return None if reason is None else reason.removeprefix("FinishReason.")


class _Stream(msgspec.Struct):
    """A reply that comes in pieces: each holds whole parts."""

    id: str
    place: Place
    said: Said
    texts: list[str] = []
    stop: str | None = None
    why: str | None = None
    """What the provider says of its stopping."""
    others: dict[int, _Stream] = {}
    """The other alternatives, by index."""
    behind: int | None = None
    """The number behind the event of its last piece; None where that has none."""

    def add(self, said: Said, stop: str | None, why: str | None) -> None:
        """Take the next piece."""
        for call in said.calls:
            go_on(self.said.calls, call)
        self.said.results += said.results
        self.texts += [] if said.text is None else [said.text]
        self.stop, self.why = stop or self.stop, why or self.why


_MOST = 16  # streams at once
_MALFORMED = "MALFORMED_FUNCTION_CALL"
# Of the numbers those that both of the provider's APIs write for the same reason.
_NUMBERED = {0: None, 1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}
_CALLED = re.compile(r"([A-Za-z_][\w-]*)\(")
_candidates = msgspec.json.Decoder(list[Candidate]).decode


class Replies:
    """Takes responses; pieces go to the reply that their id names, where several come at once, too."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._stream: _Stream | None = None
        self._others: dict[str, _Stream] = {}
        """Those before it that have not ended, by the id of their response."""

    def take(self, raw: Raw, response: str | None, place: Place) -> tuple[int | None, list[Fault]]:
        """The candidates of a response, whole or the next piece of one; its event, if whole, and what is wrong."""
        candidates, faults = held(_candidates, raw, list[Candidate]())
        name = response or ""
        if self._stream is not None and self._stream.id != name:
            self._put_aside()
        if self._stream is None and name in self._others:
            self._stream = self._others.pop(name)
        nth, chosen = next(
            ((nth, each) for nth, each in enumerate(candidates) if each.index in (None, 0)), (0, Candidate())
        )
        if self._stream is None and not place.opaque and (chosen.stop is not None or not candidates):
            several = len(candidates) > 1
            event = self._whole(chosen, place, nth, response or None, several=several)
            for other, each in enumerate(candidates):
                if other != nth:  # another alternative
                    self._whole(each, place, other, f"{response or place.event}#{other}", several=several)
            return event, faults
        if self._stream is None:
            self._stream = _Stream(name, place, Said("assistant"))
        if not place.opaque:
            self._dialogue.move(place)
            self._dialogue.cursor.event("streamGenerateContent", "delta", self._dialogue.session)
        self._stream.place, self._stream.behind = place, None if place.opaque else self._dialogue.cursor.next
        for number, each in enumerate(candidates):
            index = each.index if each.index is not None else number
            stream = self._stream
            if number != nth and index:
                stream = stream.others.setdefault(index, _Stream(name, place, Said("assistant")))
            said = said_of(bytes(each.content)) if each.content else Said()
            stream.add(said, each.stop, each.finish_message or each.why)
        return None, []

    def _whole(self, candidate: Candidate, place: Place, nth: int, reply: str | None, *, several: bool) -> int:
        """One of the alternatives of a response that is whole."""
        said = said_of(bytes(candidate.content)) if candidate.content else Said()
        to, stop = f"/candidates/{nth}", candidate.stop
        if several:
            unchosen(said, stop)
        answer = self._dialogue.answer
        event = answer(said, place, native="generateContent", to=f"{to}/content", reply=reply, stop=stop)
        why = candidate.finish_message or candidate.why
        if _is_refused(stop, why, said):
            where = "finishMessage" if candidate.finish_message else "finish_message"
            self._dialogue.refused(_malformed(why), event, 0, f"{to}/{where}" if why else to)
        return event

    def _put_aside(self) -> None:
        """Another reply comes: the latest one is whole, or it may go on."""
        stream, self._stream = self._stream, None
        if stream is not None and stream.id and stream.stop is None and len(self._others) < _MOST:
            self._others[stream.id] = stream
        elif stream is not None:
            self._answer(stream)

    def end(self) -> None:
        """The streamed replies are whole, or they break off."""
        others, self._others = self._others, {}
        for each in others.values():
            self._answer(each)
        stream, self._stream = self._stream, None
        if stream is not None:
            self._answer(stream)

    def _answer(self, stream: _Stream) -> None:
        """A streamed reply is over."""
        behind = stream.behind
        place = msgspec.structs.replace(stream.place, opaque=True)
        for index, each in sorted({0: stream, **stream.others}.items()):
            said, stop = each.said, each.stop
            said.text = "".join(each.texts) if each.texts else None
            if stream.others:
                unchosen(said, stop)
            reply = f"{stream.id or place.event}#{index}" if index else stream.id or None
            native = "streamGenerateContent"
            how: dict[str, Any] = {"native": native, "reply": reply, "stop": stop, "stage": "stream"}
            event = self._dialogue.answer(said, place, event=behind, **how)
            behind = None if behind is None else event + 1
            if _is_refused(stop, each.why, said):
                self._dialogue.refused(_malformed(each.why), event, 0, "")

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the records lie that came last of streams: they may end when their block is gone."""
        for stream in (*self._others.values(), self._stream):
            if stream is not None:
                stream.place = placed(stream.place)


def _is_refused(stop: str | None, why: str | None, said: Said) -> bool:
    """Whether the provider read no call in what the model wrote for one."""
    numbered = stop is not None and stop.isdigit() and (why or "").startswith("Malformed function call")
    return stop == _MALFORMED or (numbered and not said.calls)


def _malformed(message: str | None) -> Call:
    """The call that the model wrote and the provider could not read, of which its message tells."""
    names = [name for name in _CALLED.findall(message or "") if name != "print"]
    return Call(None, names[0] if names else None, message or _MALFORMED, "text", status="failed", owed_by="nobody")
