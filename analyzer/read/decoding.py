"""The records of a block decoded into one struct: all of them at once where they are sound, else each with care.

An adapter declares its struct and says what a record means. What the fast decoder refuses (another type than the wire
says, invalid UTF-8, a lone surrogate, something inside that cannot be decoded) is read once more from a text without
what was wrong, which is kept as a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from inspect import GEN_CLOSED, getgeneratorstate
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read import broken
from analyzer.read.cursor import Place
from analyzer.read.exchange import STRANGE, Body
from analyzer.read.recorded import Recorded, beside, enclosed
from analyzer.read.records import SURROGATE, Block, with_surrogates
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import first

R = TypeVar("R")
Q = TypeVar("Q")

_NONE: Sequence[Fault] = ()
_MOST_TABLES = 10_000
_OF_ERRORS = {
    *("error", "type", "code", "message", "status", "status_code", "request_id", "requestId", "sequence_number"),
    *("timestamp", "recorded_at", "id", "custom_id", "response"),
}


class Usual(NamedTuple, Generic[Q]):
    """What takes the records of the usual kinds, nearly all of a long log, with as little as can be done for each.

    `decode` reads what `take` needs; that appends the rows of a record, given the number of its event, and says whether
    it is of a usual kind. It may raise msgspec.DecodeError, and appends and remembers nothing where it does or where it
    gives false: the record is then read as any other. Its rows go to sheets and to `Rows.whole`.
    """

    decode: Callable[[bytes], Q]
    take: Callable[[Q, int], bool]


class Opened(NamedTuple, Generic[R]):
    """A record, its JSON text without what cannot be kept, and what was wrong."""

    record: R
    text: bytes
    faults: Sequence[Fault] = ()


class Decoding(Generic[R]):
    """Reads blocks for the adapter of one source.

    `decode` reads the struct; of what it could decode `owns`, of what it could not `knows` says whether it is of the
    format. `when` says when a record was written, `session` whose the faults are; `usual` takes what it can before all
    others.
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
        usual: Usual[Any] | None = None,
    ) -> None:
        self.decode = decode
        self._source = source
        self._rows = rows
        self._knows = knows
        self._owns = owns
        self._when = when
        self._session = session
        self.usual = usual
        """May be another one for the next block."""
        self._tables: set[int] = set()
        self._index = 0
        """Of the record at hand in its block."""

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
        self._rows.base = event_number(self._source, block.first)
        usual = self.usual if block.pointer is None else None
        each = self.each(block, self.decode if usual is None else usual.decode)
        records = enumerate(each)
        while True:
            try:
                self._hand_over(records, block, usual, take, alone, others=others)
                break
            except broken.MEANT:
                raise
            except broken.BROKEN as error:
                if getgeneratorstate(each) == GEN_CLOSED:  # what comes behind it cannot be had
                    raise
                place = self._place(block, self._index)
                self._rows.undo(place.event)
                broken.left_out(self._rows, place, "it broke its reader", error)
        self._rows.place(block.offset, block.length, block.line)
        return others

    def _hand_over(
        self,
        records: Iterator[tuple[int, Any]],
        block: Block,
        usual: Usual[Any] | None,
        take: Callable[[R, bytes, Place], bool],
        alone: Callable[[R, Place], bool],
        *,
        others: list[int],
    ) -> None:
        take_usual = None if usual is None else usual.take
        when, simple = self._when, usual is None and self._owns is None
        base = event_number(self._source, block.first)
        for index, found in records:
            self._index, event = index, base + (index << PART_BITS)
            if take_usual is not None and found is not None:
                try:
                    if take_usual(found, event):
                        continue
                except (msgspec.DecodeError, RecursionError):
                    self._rows.undo(event)
            raw = block.raw[index]
            if simple and found is not None:
                record, text, faults = found, raw, _NONE
            else:
                sure = found is not None or (usual is not None and _is_sound(raw))
                opened = self._odd(raw, found if usual is None else None, sure=sure)
                if opened is None:
                    others.append(index)
                    continue
                record, text, faults = opened
            place = self._place(block, index, None if when is None else when(record))
            try:
                taken = take(record, text, place)
            except (msgspec.DecodeError, RecursionError):
                taken, faults = self._again(raw, place, take, alone)
            if not taken:
                others.append(index)
            elif faults:
                self._rows.faults += [(event, self._session(), *fault) for fault in faults]

    def _place(self, block: Block, index: int, when: str | float | None = None) -> Place:
        event = event_number(self._source, block.first + index)
        pointer = "" if block.pointer is None else block.pointer[index]
        return Place(event, block.offset[index], block.length[index], block.line[index], pointer, when)

    def own(self, raw: bytes, table: bytes = b"") -> bool:
        """Whether a record that has the members of one is known for one: several formats have some in common.

        `table` is the tool table in it, if any: a record with one that stood in a record of the format is one, too.
        """
        if self.seen(table):
            return True
        parsed = parse(raw)
        own = not isinstance(parsed, Unreadable) and self._knows(parsed[0]) > 0
        if own and table and len(self._tables) < _MOST_TABLES:
            self._tables.add(hash(table))
        return own

    def fails(self, record: Recorded, raw: bytes) -> bool:
        """Whether a record is an error in the place of a body, and nothing else that happens to have failed."""
        if first(record.error) != b"{":
            return False
        parsed = parse(raw)
        members = parsed[0] if not isinstance(parsed, Unreadable) and isinstance(parsed[0], dict) else {}
        return members.keys() <= _OF_ERRORS or self._knows(members) > 0

    def seen(self, table: bytes) -> bool:
        """Whether a tool table stood in a record of the format."""
        return bool(table) and hash(table) in self._tables

    def placed(self, block: Block, place: Place) -> Place:
        """A place of the block, of which only the event was said, as where its record lies."""
        index = place.event - event_number(self._source, block.first) >> PART_BITS
        if index < 0 or place.length:
            return place
        where = (block.offset[index], block.length[index], block.line[index])
        return Place(place.event, *where, place.pointer, place.when, place.opaque)

    def cleaned(self, block: Block) -> tuple[list[R | None], dict[int, Sequence[Fault]]]:
        """The records of a block, None for those that are not of the format; what was wrong with them, by index."""
        records, faults = list(self.each(block, self.decode)), {}
        for index, record in enumerate(records):
            if record is None and (found := self._cleaned(block.raw[index])) is not None:
                records[index], faults[index] = found.record, found.faults
        return records, faults

    def _odd(self, raw: bytes, record: R | None, *, sure: bool) -> Opened[R] | None:
        """A record of no usual kind, decoded already or not; `sure` where all in it can be."""
        if record is None:
            try:
                record = self.decode(raw) if sure else None
            except (msgspec.DecodeError, RecursionError):
                record = None
        if record is None:
            return self._cleaned(raw)
        return Opened(record, raw, _NONE) if self._owns is None or self._owns(record) else None

    def each(self, block: Block, decode: Callable[[bytes], Q]) -> Generator[Q | None, None, None]:
        """The records of a block, each decoded when it is asked for; None for those to be read with care.

        Lines that several records share are taken apart on the way, so that indexes hold from there on.
        """
        doubtful = _doubtful(block)
        rest, index = map(decode, block.raw), 0
        while index < len(block.raw):
            try:
                for record in rest:
                    yield None if doubtful and index in doubtful and not _is_sound(block.raw[index]) else record
                    index += 1
            except (msgspec.DecodeError, RecursionError):
                if block.part([index]):
                    doubtful, rest = _doubtful(block), map(decode, block.raw[index:])
                else:
                    yield None
                    index += 1

    def opened(self, raw: bytes) -> Opened[R] | None:
        """A record inside another one, which is UTF-8; None where it is none of the format."""
        try:
            record = self.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return self._cleaned(raw)
        if SURROGATE.search(raw) and not _is_sound(raw):
            return self._cleaned(raw)
        return Opened(record, raw)

    def enveloped(self, record: Recorded, place: Place, take: Callable[[R, bytes, Place], bool]) -> bool:
        """Hand over what stands inside a recorder's envelope; whether it was taken."""
        for member, inner in enclosed(record):
            found = self.opened(bytes(inner)) if first(inner) == b"{" else None
            if found is None:
                continue
            when = record.recorded_at if record.recorded_at is not None else record.timestamp
            inside = msgspec.structs.replace(place, pointer=place.pointer + member, when=when)
            if take(found.record, found.text, inside):
                self._rows.faults += [(place.event, self._session(), *fault) for fault in found.faults]
                return True
        return False

    def beside(self, record: Recorded, place: Place, take: Callable[[R, bytes, Place], bool]) -> list[Fault]:
        """Hand over what a logger put beside the members of a request; what of it could not be read."""
        faults: list[Fault] = []
        for member, values, telling in beside(record):
            taken = False
            for to, text in values:
                found = self.opened(text)
                inside = msgspec.structs.replace(place, pointer=place.pointer + to)
                taken |= found is not None and take(found.record, found.text, inside)
            if telling and not taken:
                faults.append(STRANGE._replace(pointer=member))
        return faults

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


def _doubtful(block: Block) -> Collection[int]:
    """The indexes of the records that may hold what is no Unicode in members that a struct passes over."""
    return frozenset(with_surrogates(block)) if block.utf8 else range(len(block.raw))


def _is_sound(raw: bytes) -> bool:
    """Whether a record is UTF-8 without lone surrogates, in the members too that a struct passes over."""
    try:
        raw.decode()
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
