"""The rows of EVENTS: a number for each event of a record, and the session that one without a name belongs to."""

from __future__ import annotations

import msgspec

from analyzer.frames import PART_LIMIT
from analyzer.read.agents_api.wire import Record
from analyzer.read.rows import Rows
from analyzer.read.values import microseconds


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event's record lies, and what stands around it."""

    offset: int
    length: int
    line: int
    session: str | None = None
    when: str | float | None = None
    number: int | None = None
    accepted: bool | None = None
    key: str | None = None


class Events:
    """Appends events; `next` is the number of the next one."""

    def __init__(self, rows: Rows) -> None:
        self.next = 0
        self._rows = rows
        self.last: str | None = None
        """The session that was named last."""
        self._session_of_turn: dict[str, str] = {}

    @property
    def full(self) -> bool:
        """Whether the record at hand has no number left for one more event."""
        return self.next & PART_LIMIT == PART_LIMIT

    @property
    def session(self) -> str | None:
        """The session that a record without one belongs to: the one named last."""
        if self.last is None:
            self._rows.need_source()
        return self.last

    @session.setter
    def session(self, session: str) -> None:
        self.last = session

    def session_of(self, turn: str) -> str | None:
        """The session that a record of this turn belongs to."""
        if turn in self._session_of_turn:
            return self._session_of_turn[turn]
        self._rows.need_source()
        return self.session

    def regular(self, record: Record) -> None:
        """Take note of an event that names its session, and whose row is there."""
        if record.turn_id is not None and record.session_id is not None:
            self._session_of_turn[record.turn_id] = record.session_id

    def add(  # noqa: PLR0917 - a row of EVENTS
        self,
        record: Record,
        native: str,
        kind: str,
        session: str | None,
        turn: str | None,
        pointer: str,
        place: Place,
    ) -> int:
        """Append one event and give its number."""
        if session is not None:
            self.session = session
            if turn is not None:
                self._session_of_turn[turn] = session
        when = record.recorded_at if record.recorded_at is not None else place.when
        event = self.next
        if not self.full:
            self.next = event + 1
        elif self._rows.events.last == event:
            return event  # the last number of a record stands for all parts that have none of their own
        else:
            pointer = ""
        self._rows.events.add(
            event=event,
            session=session,
            offset=place.offset,
            length=place.length,
            line=place.line,
            pointer=pointer,
            time_text=when if isinstance(when, str) else None,
            time_us=None if isinstance(when, str) or when is None else microseconds(when),
            number=record.sequence_number if record.sequence_number is not None else place.number,
            type=native,
            kind=kind,
            turn=turn,
            event_id=record.event_id,
        )
        return event
