"""What the query bar finds: an expression over one value, or over the records of many events; it can be cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from analyzer.errors import AnalyzerError
from analyzer.masking import masked, masked_at
from analyzer.tui.query import Query, Unanswered, decode, pointer_of
from analyzer.visible import visible_value

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.case import Case

MOST_HITS = 10_000
SECONDS = 5.0
_LOOK_UP = 2_000  # events between two looks at the clock
_LOOK_UP_BYTES = 16 << 20  # and bytes: records may be long
_POSTED = 0.25  # seconds between partial results
_MOST_BYTES = 16 << 20  # of a record that is decoded


class Hit(NamedTuple):
    """One match: in which event (None: in the one shown) of which session, at which normalized path.

    The value is safe text.
    """

    event: int | None
    session: str | None
    seq: int | None
    path: str
    value: str


class Found(NamedTuple):
    """The matches so far; what there is to say of the search, in few words; and why values could not be asked."""

    hits: list[Hit]
    state: str
    reason: str = ""


def over_value(
    query: Query, value: Any, prefix: str = "$", *, session: str | None = None, seq: int | None = None
) -> Found:
    """The matches in one value; `prefix` is its path in its record, `session` and `seq` say which record that is."""
    hits = []
    try:
        for path, found in _masked(query, value):
            hits.append(Hit(None, session, seq, prefix + path[1:] if path else "", visible_value(found, limit=300)))
            if len(hits) >= MOST_HITS:
                return Found(hits, f"stopped at {MOST_HITS:,}")
    except Unanswered as error:
        return Found(hits, "cannot be run on it", str(error))
    return Found(hits, "")


def _masked(query: Query, value: Any) -> Iterator[tuple[str, Any]]:
    """The matches with credentials masked: a name that says so may stand above them."""
    if query.language == "JMESPath":  # it makes new values, of which nobody knows where they stood
        yield from query.find(masked(value))
    else:
        for path, found in query.find(value):
            yield path, masked_at(pointer_of(path), found, value)


def over_events(
    query: Query,
    case: Case,
    events: pl.Series | None,
    post: Callable[[Found], None],
    cancelled: Callable[[], bool],
) -> None:
    """The matches in the records of events (by number; None: all), posted as they come with words on the state.

    It stops at `MOST_HITS` matches or after `SECONDS`, and says so, and how many records it could not search.
    """
    import polars as pl

    search = _Search(query, case)
    started = posted = time.monotonic()
    table = case.scan("events").select("event", "source", "offset", "length").collect()
    who = case.events.select(pl.col("session").cast(pl.String), "seq")
    if events is not None:
        kept = table["event"].is_in(events.implode())
        table, who = table.filter(kept), who.filter(kept)
    seen, read = None, 0
    for at, ((event, source, offset, length), (session, seq)) in enumerate(
        zip(table.iter_rows(), who.iter_rows(), strict=True), 1
    ):
        if (source, offset) != seen:
            seen = (source, offset)
            read += search.record(seen, length, (event, session, seq))
            if len(search.hits) >= MOST_HITS:
                post(Found(search.hits, f"stopped at {MOST_HITS:,}; narrow the scope", search.reason))
                return
        if at % _LOOK_UP and read < _LOOK_UP_BYTES:
            continue
        read, now = 0, time.monotonic()
        if cancelled():
            return
        if now - started > SECONDS and at < table.height:
            said = f"stopped after {SECONDS:.0f} s at {at:,} of {table.height:,} events; narrow the scope"
            post(Found(search.hits, said, search.reason))
            return
        if now - posted > _POSTED:
            posted = now
            post(Found(list(search.hits), f"searching, {at * 100 // table.height} %"))
    post(Found(search.hits, search.words(), search.reason))


class _Search:
    """The hits, and what had to be passed over, so that nobody takes it for searched."""

    def __init__(self, query: Query, case: Case) -> None:
        self._query, self._case = query, case
        self.hits: list[Hit] = []
        self.reason = ""
        """Why the first of those could not be asked that could not."""
        self._lost = self._large = self._unread = self._unasked = 0

    def record(self, place: tuple[int, int], length: int, event: tuple[int, str | None, int]) -> int:
        """Add the matches in the record of an event (number, session, seq), and give the bytes that were read."""
        if length > _MOST_BYTES:
            self._large += 1
            return 0
        try:
            raw = self._case.records.fetch(*place, length)
        except AnalyzerError:
            self._lost += 1
            return 0
        if not self._query.may_match(raw):
            return length
        value = decode(raw)
        if value is None:
            self._unread += 1
            return length
        try:
            for path, found in _masked(self._query, value):
                self.hits.append(Hit(*event, path, visible_value(found, limit=300)))
                if len(self.hits) >= MOST_HITS:
                    break
        except Unanswered as error:
            self._unasked += 1
            self.reason = self.reason or str(error)
        return length

    def words(self) -> str:
        """How many records were not searched, and why."""
        told = (
            (self._unasked, "cannot be asked"),
            (self._unread, "are no JSON"),
            (self._large, f"over {_MOST_BYTES >> 20} MB"),
            (self._lost, "unavailable"),
        )
        return ", ".join(f"{count:,} {what}" for count, what in told if count)
