"""Where in the input a reader stands: numbers the events of a record and appends their rows."""

from __future__ import annotations

import msgspec

from analyzer.frames import PART_LIMIT
from analyzer.read.rows import Rows
from analyzer.read.values import microseconds


class Place(msgspec.Struct, frozen=True, gc=False):
    """A record, or a part of one that has its own pointer or its own time."""

    event: int
    """Number of the record's first event."""
    offset: int
    length: int
    line: int
    pointer: str = ""
    when: str | float | None = None
    opaque: bool = False
    """What stands here is inside a text: `pointer` leads to the text and nothing can lead further."""


class Cursor:
    """Appends the events of one source."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._append = rows.whole.append
        self._place = Place(0, 0, 0, 0)
        self._next = 0

    def move(self, place: Place, event: int | None = None) -> None:
        """Go to a record, to `event` where some of its events were appended before."""
        self._place = place
        self._next = place.event if event is None else event

    def advance(self, place: Place) -> None:
        """Go to a place; other events of its record may be behind it."""
        if self._place.event != place.event or self._next < place.event:
            self._next = place.event
        self._place = place

    def within(self, place: Place) -> None:
        """Go to a part of the record that it stands in."""
        self._place = place

    def undo(self) -> None:
        """Take back the rows of the record it stands in."""
        self._rows.undo(self._place.event)
        self._next = self._place.event

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self._place

    @property
    def next(self) -> int:
        """The number that the next event will get."""
        return self._next

    def event(
        self,
        native: str,
        kind: str,
        session: str | None,
        *,
        member: str = "",
        turn: str | None = None,
        number: int | None = None,
        when: str | float | None = None,
    ) -> tuple[int, bool]:
        """Append an event at `member` of the place; its number, and whether pointers into it lead nowhere."""
        place, event = self._place, self._next
        if event & PART_LIMIT == PART_LIMIT:
            # A record of more parts than there are numbers: the last event stands for the rest.
            return event - 1, True
        self._next = event + 1
        when = when if place.when is None else place.when
        opaque = place.opaque
        pointer = place.pointer if opaque or not member else place.pointer + member
        if event >= self._rows.base:
            self._append((event, session, turn, when, number, native, kind, pointer))
            return event, opaque
        text, number_of = (when, None) if when is None or type(when) is str else (None, microseconds(when))  # type: ignore[arg-type]
        where = (event, session, place.offset, place.length, place.line, pointer)
        self._rows.events.append((*where, text, number_of, number, native, kind, turn, None))
        return event, opaque
