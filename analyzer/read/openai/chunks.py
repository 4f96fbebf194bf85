"""Replies of chat completions that come in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.read.at_once import STREAMS
from analyzer.read.cursor import Place
from analyzer.read.dialogue import Call, Said
from analyzer.read.dialogue.conversation import Conversation
from analyzer.read.members import held
from analyzer.read.openai.messages import Function, Piece
from analyzer.read.recover import Fault
from analyzer.read.values import ABSENT, Int64, Raw, streamed, text_of

_END = Fault("unknown_item", "", "the end of a call whose beginning is not recorded")


class Delta(msgspec.Struct, gc=False):
    """A piece of a message."""

    role: str | None = None
    content: Any = None
    refusal: str | None = None
    tool_calls: list[Piece] | None = None
    function_call: Function | None = None


class Choice(msgspec.Struct, gc=False):
    """A piece of one of the alternatives."""

    delta: Delta | None = None
    finish_reason: str | None = None
    index: Int64 | None = None


class Chunk(msgspec.Struct, gc=False):
    """One event of a stream."""

    object: str | None = None
    id: str | None = None
    choices: list[Choice] | None = None
    error: Raw = ABSENT


_choices = msgspec.json.Decoder(list[Choice]).decode
_chunks = msgspec.json.Decoder(list[Chunk]).decode


_MARK = re.compile(r'\\.|[\[\]{}"\\]', re.DOTALL)
_FEW = 64  # pieces of what is neither an object nor a list


class _Open(msgspec.Struct):
    """A call that comes in pieces."""

    id: str | None = None
    name: str = ""
    pieces: list[str] = []
    scanned: int = 0
    """How many of them were looked at for brackets: to parse all of them at each new one would take quadratic time."""
    depth: int = 0
    quoted: bool = False
    escaped: bool = False
    closed: bool = False
    """All brackets were closed once."""
    whole_at: int = -1
    """The number of pieces that are known to be whole; after what is closed and is no JSON nothing is."""

    def whole(self) -> bool:
        """Whether the pieces are JSON as they are."""
        count = len(self.pieces)
        if self.whole_at == count:
            return True
        for text in self.pieces[self.scanned :]:
            self._scan(text)
        self.scanned = count
        if self.depth or self.quoted or (count > _FEW and (not self.closed or self.whole_at == 0)):
            return False
        if streamed("".join(self.pieces)) == "object":
            self.whole_at = count
        elif self.closed:
            self.whole_at = 0
        return self.whole_at == count

    def _scan(self, text: str) -> None:
        marks = _MARK.findall(text, 1 if self.escaped else 0)
        self.escaped = marks[-1:] == ["\\"]
        for mark in marks:
            if mark == '"':
                self.quoted = not self.quoted
            elif not self.quoted and mark in "[{":
                self.depth += 1
            elif not self.quoted and mark in "]}":
                self.depth -= 1
                self.closed = self.closed or self.depth == 0


class Pieces(msgspec.Struct):
    """A reply as far as it has come."""

    id: str
    place: Place
    calls: list[_Open] = []
    latest: dict[int | None, _Open] = {}
    """The call that the next piece of an index is of; under None the one that came last."""
    named: dict[str, _Open] = {}
    """The first call of each id."""
    texts: list[str] = []
    refused: bool = False
    stop: str | None = None
    others: dict[int, Pieces] = {}
    """The other alternatives, by index."""
    asked: Conversation | None = None
    """What it answers, where that is known."""
    session: str | None = None
    since: int = 0
    """The event of its first piece."""
    behind: int | None = None
    """The number behind the event of its last piece; None where that has none."""
    late: bool | None = None
    """Whether the first piece that came goes on with a call that nothing began; None before there was one."""
    came: int = 0
    begun: int = 0
    ended: int = 0
    """How many pieces came, and how many of them begin a message or end one; some hosts write that into each."""

    @property
    def is_whole(self) -> bool:
        """Whether all alternatives have ended."""
        return self.stop is not None and all(each.stop is not None for each in self.others.values())

    def add(self, choices: Sequence[Choice]) -> None:
        """Put the next pieces to those before."""
        for choice in choices:
            if choice.index:
                other = self.others.setdefault(choice.index, Pieces("", self.place))
                other.add([Choice(choice.delta, choice.finish_reason)])
                continue
            delta = choice.delta
            self.came += 1
            self.ended += choice.finish_reason is not None
            if delta is not None:
                self.begun += delta.role is not None
                if delta.content and type(delta.content) is str:
                    self.texts.append(delta.content)
                if delta.refusal:
                    self.texts.append(delta.refusal)
                    self.refused = True
                pieces = delta.tool_calls or ()
                if self.late is None:
                    self.late = bool(pieces) and not any(_begins(each) for each in pieces)
                for position, each in enumerate(pieces):
                    several = position if len(pieces) > 1 else None
                    self._call(each, each.index if each.index is not None else several)
                if delta.function_call is not None:
                    self._call(Piece(function=delta.function_call), -1)
            self.stop = choice.finish_reason or self.stop

    def _call(self, piece: Piece, index: int | None) -> None:
        """Put a piece to its call; one that names none, by index, id or name, is of the call that came last."""
        begun, function = self.latest.get(index), piece.function
        name = function.name if function is not None else None
        begun = self._meant(begun, piece.id, name) if piece.id or name else begun or self.latest.get(None)
        if begun is None:
            begun = _Open()
            self.calls.append(begun)
        self.latest[index] = self.latest[None] = begun
        begun.id = begun.id or piece.id
        if begun.id:
            self.named.setdefault(begun.id, begun)
        if function is not None:
            if name and name != begun.name:
                begun.name = name if name.startswith(begun.name) else begun.name + name
            text = text_of(function.arguments)
            begun.pieces += [text] if text else []

    def _meant(self, begun: _Open | None, call_id: str | None, name: str | None) -> _Open | None:
        """The call that a piece with an id or a name is of, `begun` or another one; None for a new call.

        Some hosts begin every call with index 0 or without one, some repeat the name with every piece, some give every
        piece an id of its own, but then no name.
        """
        if call_id and (begun is None or (begun.id and call_id != begun.id)):
            same = self.named.get(call_id, None if name else begun)
            # A call that is whole is not begun anew: under another index it is another call that has its id.
            return None if begun is None and name and same is not None and same.whole() else same
        if begun is None:
            return None
        told = bool(call_id and begun.id)
        if told or not name or not begun.pieces:
            return begun
        return None if name != begun.name or begun.whole() else begun

    def said(self) -> Said:
        """What they say together."""
        cut = "in_progress" if self.stop is None else None
        if self._is_mixed():
            calls = [
                Call(each.id, each.name, None, "absent", status="in_progress")
                for each in self.calls
                if each.id or each.name
            ]
            return Said("assistant", "".join(self.texts) or None, calls=calls, faults=[STREAMS], refused=self.refused)
        calls = [
            Call(each.id, each.name, "".join(each.pieces), "text", status=cut if each is self.calls[-1] else None)
            for each in self.calls
            if each.id or each.name or (each.pieces and not self.late)
        ]
        faults = [_END] if self.late and not all(each.id or each.name for each in self.calls) else []
        return Said("assistant", "".join(self.texts) or None, calls=calls, faults=faults, refused=self.refused)

    def _is_mixed(self) -> bool:
        """Whether the pieces are those of several streams, or came twice: no more is known of their calls than that.

        More than one message begins or ends in them, and what they say together is no JSON.
        """
        several = 1 < self.begun < self.came or 1 < self.ended < self.came
        return several and not all(each.whole() for each in self.calls if each.pieces)


def _begins(piece: Piece) -> bool:
    return bool(piece.id or (piece.function is not None and piece.function.name))


def pieces_of(raw: Raw) -> list[Choice]:
    """The pieces in the choices of one event."""
    return held(_choices, raw, list[Choice]())[0]


def chunks_of(frames: tuple[bytes, ...]) -> list[Chunk] | None:
    """All events of a stream, read at once; None where one of them is something else."""
    try:
        chunks = _chunks(b"[" + b",".join([frame for frame in frames if frame != b"[DONE]"]) + b"]")
    except (msgspec.DecodeError, RecursionError):
        return None
    plain = all(each.object == "chat.completion.chunk" and each.choices is not None for each in chunks)
    return chunks if plain else None
