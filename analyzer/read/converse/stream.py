"""Replies of ConverseStream, which come in pieces."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from analyzer.read.at_once import STREAMS
from analyzer.read.converse.messages import ToolUse, use_of
from analyzer.read.cursor import Place
from analyzer.read.dialogue import Call, Dialogue, Said
from analyzer.read.members import held
from analyzer.read.values import ABSENT, Int64, Raw, arguments, first, streamed

EVENTS = (
    *("messageStart", "contentBlockStart", "contentBlockDelta"),
    *("contentBlockStop", "messageStop", "metadata"),
)

_BEHIND = ("contentBlockStop", "messageStop", "metadata")
_MAY_GO_ON = 4  # replies that begin, until a stream that did not end is forgotten


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
    after_cut: bool = False
    """One before it had not ended when it began: nothing says of which of them a piece is."""
    mixed: bool = False
    """Whether a piece came that cannot be of this reply."""
    stop: str | None = None
    """How it ended."""
    stopped: set[int] = set()
    """The blocks that did."""
    calls: dict[int, _Open] = {}
    others: list[_Open] = []
    """Calls whose place another one took."""
    texts: list[str] = []

    def add(self, name: str, piece: _Piece) -> None:
        """Take the next piece."""
        index = piece.contentBlockIndex or 0
        if self.after_cut and (self.stop is not None or index in self.stopped) and name != "metadata":
            self.mixed = True
        if name == "contentBlockStop":
            self.stopped.add(index)
        elif name == "messageStop":
            self.stop = piece.stopReason or "end_turn"
        elif name == "contentBlockStart":
            start = held(_piece, piece.start, _Piece())[0]
            if first(start.toolUse) == b"{":
                if index in self.calls:
                    self.mixed |= self.after_cut
                    self.others.append(self.calls[index])
                self.calls[index] = _Open(held(use_of, start.toolUse, ToolUse())[0])
        elif name == "contentBlockDelta":
            delta = held(_piece, piece.delta, _Piece())[0]
            self.texts += [delta.text] if delta.text else []
            if first(delta.toolUse) == b"{":
                use = held(use_of, delta.toolUse, ToolUse())[0]
                text = arguments(use.input)[0] if use.input else None
                self.mixed |= self.after_cut and index not in self.calls
                self.calls.setdefault(index, _Open(ToolUse())).pieces += [text] if text else []

    def said(self) -> Said:
        """What the pieces say together; where it did not end the last call is not whole."""
        said = Said("assistant", "".join(self.texts) or None)
        if self.after_cut and not all(
            streamed("".join(each.pieces) or "{}") == "object" for each in self.calls.values()
        ):
            self.mixed = True
        if self.mixed:
            named = [each.use for each in (*self.others, *self.calls.values()) if each.use.toolUseId]
            said.calls = [Call(use.toolUseId, use.name, None, "absent", status="in_progress") for use in named]
            said.faults = [STREAMS]
            return said
        cut = "in_progress" if self.stop is None else None
        last = max(self.calls, default=0)
        said.calls = []
        for index, each in sorted(self.calls.items()):
            use, text = each.use, "".join(each.pieces) or "{}"
            status = cut if index == last else None
            said.calls.append(Call(use.toolUseId, use.name, text, streamed(text), status=status))
        return said


_piece = msgspec.json.Decoder(_Piece).decode


class Streaming:
    """Takes the events of streams, one reply at a time: they name none."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._reply: _Reply | None = None
        self._unended = 0
        """How many replies may begin until nothing more is expected of a stream that did not end."""

    def take(self, name: str, raw: Raw, place: Place) -> None:
        """One event of a stream."""
        piece = held(_piece, raw, _Piece())[0]
        if name == "messageStart" or (self._reply is None and name not in _BEHIND):
            self.end()
            cut, self._unended = self._unended > 0, max(self._unended - 1, 0)
            self._reply = _Reply(place, cut, mixed=cut and name != "messageStart")
        self._dialogue.move(place)
        self._dialogue.cursor.event(name, "delta", self._dialogue.session)
        if self._reply is not None:
            self._reply.place = place
            self._reply.add(name, piece)
            if self._reply.stop is not None and not self._reply.after_cut:
                self.end()

    def end(self) -> None:
        """The reply is whole, or it breaks off."""
        reply, self._reply = self._reply, None
        if reply is None:
            return
        place, said = msgspec.structs.replace(reply.place, opaque=True), reply.said()
        if reply.stop is None or reply.mixed:
            self._unended = _MAY_GO_ON
        self._dialogue.answer(said, place, native="converse-stream", stop=reply.stop, stage="stream")

    def place(self, placed: Callable[[Place], Place]) -> None:
        """Say where the record lies that came last of the reply: it may end when its block is gone."""
        if self._reply is not None:
            self._reply.place = placed(self._reply.place)
