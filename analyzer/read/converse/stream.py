"""Replies of ConverseStream, which come in pieces."""

from __future__ import annotations

import msgspec

from analyzer.read.converse.messages import ToolUse, use_of
from analyzer.read.cursor import Place
from analyzer.read.dialogue import Call, Dialogue, Said
from analyzer.read.members import held
from analyzer.read.values import ABSENT, Int64, Raw, arguments, first, streamed

EVENTS = (
    *("messageStart", "contentBlockStart", "contentBlockDelta"),
    *("contentBlockStop", "messageStop", "metadata"),
)


class _Piece(msgspec.Struct, gc=False):
    contentBlockIndex: Int64 | None = None  # noqa: N815 - the wire's names
    start: Raw = ABSENT
    delta: Raw = ABSENT
    stopReason: str | None = None  # noqa: N815
    toolUse: Raw = ABSENT  # noqa: N815
    text: str | None = None


class _Open(msgspec.Struct):
    """A call that comes in pieces."""

    use: ToolUse
    pieces: list[str] = []


class _Reply(msgspec.Struct):
    """A reply that comes in pieces."""

    place: Place
    calls: dict[int, _Open] = {}
    texts: list[str] = []

    def add(self, name: str, piece: _Piece) -> None:
        """Take the next piece."""
        index = piece.contentBlockIndex or 0
        if name == "contentBlockStart":
            start = held(_piece, piece.start, _Piece())[0]
            if first(start.toolUse) == b"{":
                self.calls[index] = _Open(held(use_of, start.toolUse, ToolUse())[0])
        elif name == "contentBlockDelta":
            delta = held(_piece, piece.delta, _Piece())[0]
            self.texts += [delta.text] if delta.text else []
            if first(delta.toolUse) == b"{":
                use = held(use_of, delta.toolUse, ToolUse())[0]
                text = arguments(use.input)[0] if use.input else None
                self.calls.setdefault(index, _Open(ToolUse())).pieces += [text] if text else []

    def said(self, stop: str | None) -> Said:
        """What the pieces say together; without `stop` the last call is not whole."""
        cut = "in_progress" if stop is None else None
        last = max(self.calls, default=0)
        calls = []
        for index, each in sorted(self.calls.items()):
            use, text = each.use, "".join(each.pieces) or "{}"
            status = cut if index == last else None
            calls.append(Call(use.toolUseId, use.name, text, streamed(text), status=status))
        return Said("assistant", "".join(self.texts) or None, calls=calls)


_piece = msgspec.json.Decoder(_Piece).decode


class Streaming:
    """Takes the events of streams, one reply at a time."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._reply: _Reply | None = None

    def take(self, name: str, raw: Raw, place: Place) -> None:
        """One event of a stream."""
        piece = held(_piece, raw, _Piece())[0]
        if name == "messageStart" or (self._reply is None and name != "metadata"):
            self.end()
            self._reply = _Reply(place)
        self._dialogue.move(place)
        self._dialogue.cursor.event(name, "delta", self._dialogue.session)
        if self._reply is not None:
            self._reply.place = place
            self._reply.add(name, piece)
            if name == "messageStop":
                self.end(piece.stopReason or "end_turn")

    def end(self, stop: str | None = None) -> None:
        """The reply is whole, or without `stop` it breaks off."""
        reply, self._reply = self._reply, None
        if reply is not None:
            place = msgspec.structs.replace(reply.place, opaque=True)
            self._dialogue.answer(reply.said(stop), place, native="converse-stream", stop=stop, stage="stream")
