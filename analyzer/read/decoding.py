"""The records of a block decoded into one struct: all of them at once where they are sound, else each with care.

An adapter declares its struct and says what a record means. What the fast decoder refuses (another type than the wire
says, invalid UTF-8, a lone surrogate, something inside that cannot be decoded) is read once more from a text without
what was wrong, which is kept as a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Body, Recorded
from analyzer.read.records import Block, with_surrogates
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import first

R = TypeVar("R")

_SURROGATES = (b"\\ud", b"\\uD")
_NONE: Sequence[Fault] = ()


class Opened(NamedTuple, Generic[R]):
    """A record, its JSON text without what cannot be kept, and what was wrong."""

    record: R
    text: bytes
    faults: Sequence[Fault] = ()


class Decoding(Generic[R]):
    """Reads blocks for the adapter of one source.

    `decode` reads the struct; of what it could decode `owns`, of what it could not `knows` says whether it is of the
    format. `when` says when a record was written, `session` whose the faults are.
    """

    def __init__(
        self,
        source: int,
        rows: Rows,
        decode: Callable[[bytes], R],
        knows: Callable[[Any], float],
        *,
        owns: Callable[[R], bool] | None = None,
        when: Callable[[R], str | float | None] | None = None,
        session: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.decode = decode
        self._source = source
        self._rows = rows
        self._knows = knows
        self._owns = owns
        self._when = when
        self._session = session

    def read(
        self,
        block: Block,
        take: Callable[[R, bytes, Place], bool],
        alone: Callable[[R, Place], bool],
    ) -> list[int]:
        """Hand each record to `take`, which says whether it is one; the indexes of the others.

        `take` may raise msgspec.DecodeError where something deeper in the record is wrong: it gets it once more, clean.
        Where that does not help, `alone` appends an event for the record and nothing else, or says that it does not.
        """
        others: list[int] = []
        base = event_number(self._source, block.first)
        records = self.decoded(block)
        pointers = block.pointer
        event = base - (1 << PART_BITS)
        each = zip(block.raw, records, block.offset, block.length, block.line, strict=True)
        for index, (raw, record, offset, length, line) in enumerate(each):
            event += 1 << PART_BITS
            text, faults = raw, _NONE
            if record is None:
                found = self._cleaned(raw)
                if found is None:
                    others.append(index)
                    continue
                record, text, faults = found  # noqa: PLW2901
            elif self._owns is not None and not self._owns(record):
                others.append(index)
                continue
            pointer = "" if pointers is None else pointers[index]
            place = Place(event, offset, length, line, pointer, None if self._when is None else self._when(record))
            try:
                taken = take(record, text, place)
            except (msgspec.DecodeError, RecursionError):
                taken, faults = self._again(raw, place, take, alone)
            if not taken:
                others.append(index)
            elif faults:
                self._rows.faults += [(event, self._session(), *fault) for fault in faults]
        return others

    def decoded(self, block: Block) -> list[R | None]:
        """The records of a block; None for those to be read with care. Lines that several share are taken apart."""
        records, wrong = self._decoded(block)
        if wrong and block.part(wrong):
            records, _ = self._decoded(block)
        return records

    def _decoded(self, block: Block) -> tuple[list[R | None], list[int]]:
        records: list[R | None] = []
        wrong: list[int] = []
        rest = map(self.decode, block.raw)
        while len(records) < len(block.raw):
            try:
                records.extend(rest)  # all that are sound, at once
            except (msgspec.DecodeError, RecursionError):
                wrong.append(len(records))
                records.append(None)
        doubtful = with_surrogates(block.raw) if block.utf8 else range(len(block.raw))
        for index in doubtful:
            if not _is_sound(block.raw[index]):
                wrong.append(index)
                records[index] = None
        return records, wrong

    def opened(self, raw: bytes) -> Opened[R] | None:
        """A record inside another one, which is UTF-8; None where it is none of the format."""
        try:
            record = self.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return self._cleaned(raw)
        if (_SURROGATES[0] in raw or _SURROGATES[1] in raw) and not _is_sound(raw):
            return self._cleaned(raw)
        return Opened(record, raw)

    def enveloped(self, record: Recorded, place: Place, take: Callable[[R, bytes, Place], bool]) -> bool:
        """Hand over what stands inside a recorder's envelope; whether it was taken."""
        for member, inner in (("event", record.event), ("data", record.data), ("message", record.message)):
            found = self.opened(bytes(inner)) if first(inner) == b"{" else None
            if found is None:
                continue
            when = record.recorded_at if record.recorded_at is not None else record.timestamp
            inside = msgspec.structs.replace(place, pointer=f"{place.pointer}/{member}", when=when)
            if take(found.record, found.text, inside):
                self._rows.faults += [(place.event, self._session(), *fault) for fault in found.faults]
                return True
        return False

    def body(self, body: Body[R] | None) -> R | None:
        """The value of a body that is no stream."""
        if body is None or body.stream or body.record is not None:
            return None if body is None else body.record
        found = self.opened(body.frames[0])
        return None if found is None else found.record

    def values(self, body: Body[R], frames: Sequence[bytes]) -> Iterator[Opened[R]]:
        """What the frames of a body hold, without those that cannot be read."""
        if body.record is not None:
            yield Opened(body.record, body.frames[0])
            return
        for frame in frames:
            found = self.opened(frame)
            if found is not None:
                yield found

    def _cleaned(self, raw: bytes) -> Opened[R] | None:
        parsed = parse(raw)
        if isinstance(parsed, Unreadable) or not self._knows(parsed[0]):
            return None
        found = typed(self.decode, parsed[0])
        if found is None:
            return None
        return Opened(found[0], msgspec.json.encode(parsed[0]), parsed[1] + found[1])

    def _again(
        self,
        raw: bytes,
        place: Place,
        take: Callable[[R, bytes, Place], bool],
        alone: Callable[[R, Place], bool],
    ) -> tuple[bool, Sequence[Fault]]:
        """A record in whose depths something cannot be decoded: once more from a clean text, else as an event alone."""
        self._rows.undo(place.event)
        found = self._cleaned(raw)
        if found is None:
            return False, ()
        try:
            return take(found.record, found.text, place), found.faults
        except (msgspec.DecodeError, RecursionError):
            self._rows.undo(place.event)
            if not alone(found.record, place):
                return False, ()
            detail = "something inside has another type than the wire says; the record was left out"
            return True, (*found.faults, Fault("member_type", "", detail))


def _is_sound(raw: bytes) -> bool:
    """Whether a record is UTF-8 without lone surrogates, in the members too that a struct passes over."""
    try:
        raw.decode()
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
