"""Where adapters put what they read: one sheet of rows per recorded frame, made into frames in blocks."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Literal

import polars as pl

from analyzer.frames import EVENTS, PART_BITS, PART_LIMIT, RECORD_BITS, RECORDED, TIME, no_rows
from analyzer.read import inside
from analyzer.read.columns import QUOTED, SHARED, Columns, iso_times
from analyzer.read.sheets import Sheet
from analyzer.read.unowned import owned
from analyzer.read.wires import Wires

Scope = Literal["run", "sources", "range"]
_NEVER = 1 << 62
_TABLES, _LONGEST = 1024, 1 << 16  # whose texts are kept, so that one seen before costs a look; bytes of each

# EVENTS as adapters append it: the time as written (`time_text`) or as microseconds since 1970 (`time_us`); the source
# is part of the number.
_EVENT_COLUMNS = (
    "event",
    "session",
    "offset",
    "length",
    "line",
    "pointer",
    "time_text",
    "time_us",
    "number",
    "type",
    "kind",
    "turn",
    "event_id",
)


_TYPES = {"time_text": pl.String(), "time_us": pl.Int64(), **EVENTS}
_ROWS = pl.Schema({name: _TYPES[name] for name in _EVENT_COLUMNS})


def event_number(source: int, record: int, part: int = 0) -> int:
    """The number of one recorded event in the run; sorts by source, record and part."""
    return (source << RECORD_BITS | record) << PART_BITS | min(part, PART_LIMIT)


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the cyclic garbage collector, which would walk millions of new rows again and again (a tenth of reading).

    Rows and frames hold no cycles, so nothing is lost by it but time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # What is new goes to the oldest generation as it is: else the next young collection would walk all of it.
            gc.freeze()
            gc.unfreeze()
            gc.enable()


class NotAlone(Exception):
    """What is read depends on what is read elsewhere: it has to be read with all before it."""


class _Numbers(dict[str | None, int]):
    """Numbers of texts, in the order in which they are first asked for."""

    def __missing__(self, name: str | None) -> int:
        number = self[name] = len(self)
        return number


class _Bulk:
    """Rows of one frame that come column by column, all in the same way."""

    def __init__(self, frame: str, constant: Mapping[str, str], same: Mapping[str, str], columns: Columns) -> None:
        self.frame = frame
        self._constant = constant
        self._same = same
        self.columns = columns
        self.lent: dict[str, list[tuple[int, int]]] = {}

    def made(self, texts: pl.Series) -> pl.DataFrame:
        """The rows as a frame; `texts` are those that shared columns have the numbers of."""
        schema, count = RECORDED[self.frame], self.columns.height
        made = self.columns.series(texts)
        made |= {name: _with_lent(made[name], lent) for name, lent in self.lent.items()}
        made |= {name: made[other].alias(name) for name, other in self._same.items()}
        if self.frame == "events":
            made["source"] = (made["event"] // (1 << RECORD_BITS + PART_BITS)).alias("source")
        for name in schema:
            if name not in made:
                made[name] = pl.Series(name, [self._constant.get(name)], schema[name]).new_from_index(0, count)
        return pl.DataFrame([made[name] for name in schema])


class Rows:
    """The rows of the recorded frames of `analyzer.frames`.

    Adapters add rows to the sheets by the names of their columns; where a sheet is hot they append tuples in the order
    of the columns. `events` takes the columns of EVENTS without `source` and with `time_text, time_us` in the place of
    `time`. Strings must be valid Unicode (no lone surrogates). `scope` is what of
    a run is read into these rows: all of it, some whole sources, or a range of one; the rest is read elsewhere.
    """

    def __init__(self, scope: Scope = "run") -> None:
        self.events = Sheet(_EVENT_COLUMNS)
        self.faults = Sheet(RECORDED["faults"].names())
        self.session_states = Sheet(RECORDED["session_states"].names())
        self.turn_states = Sheet(RECORDED["turn_states"].names())
        self.tables = Sheet(RECORDED["tables"].names())
        self.showings = Sheet(RECORDED["showings"].names())
        self.call_sightings = Sheet(RECORDED["call_sightings"].names())
        self.result_sightings = Sheet(RECORDED["result_sightings"].names())
        self.approvals = Sheet(RECORDED["approvals"].names())
        self.gates = Sheet(RECORDED["gates"].names())
        self.messages = Sheet(RECORDED["messages"].names())
        self.summaries = Sheet(RECORDED["summaries"].names())
        self.scope = scope
        self.label = ""
        """The name of the source that is read; see `Source`."""
        self._shared: dict[str, Any] = {}
        self.base = _NEVER
        """The first event of the block that is read, where its reader calls `place` at its end."""
        self.whole = Sheet(("event", "session", "turn", "time", "number", "type", "kind", "pointer"))
        """Events of that block."""
        self.stood: list[inside.Stood] = []
        """Of records that stand inside others: where, and when."""
        self._known_tables: set[str] = set()
        self._digests: dict[tuple[bytes, str, str | None], str] = {}
        self._wires = Wires()
        self._settled: dict[str, Columns] = {}
        self._bulk: dict[tuple[Any, ...], _Bulk] = {}
        self._waiting: dict[str, tuple[Callable[[Sheet], None], Sheet]] = {}
        self._numbers = _Numbers()
        self._last: tuple[int, str | None] = (-1, None)
        """The last event that was taken, and its session."""
        self.takes = 0
        """How often the numbers of rows have ended: with each `take`, and where a block was given up."""
        self.count = 0
        """Events taken since the last `take`; those of `events` come on top."""

    @property
    def shared(self) -> dict[str, Any]:
        """What adapters keep for all sources of a run, by a name of their own: a session may go on in the next file.

        Raises NotAlone where other sources are read elsewhere.
        """
        if self.scope != "run":
            raise NotAlone
        return self._shared

    def need_source(self) -> None:
        """Say that what comes depends on what the source held before. Raises NotAlone where that is read elsewhere."""
        if self.scope == "range":
            raise NotAlone

    def bulk(
        self,
        frame: str,
        *,
        constant: Mapping[str, str] | None = None,
        same: Mapping[str, str] | None = None,
        shared: Mapping[str, Sequence[str | None]] | None = None,
        lent: Mapping[str, list[int | None]] | None = None,
        quoted: Mapping[str, list[str | bytes | None]] | None = None,
        **columns: Sequence[Any],
    ) -> int:
        """Append many rows of one frame, column by column, and give the number of the first; what is left out is null.

        The `time` of events takes texts and numbers as written; their `source` is part of their number. `constant`
        columns have one value in all rows, `same` ones are another column again: neither costs a cell. `shared` ones
        are texts that recur: each is kept once. `quoted` ones are texts that may come as they stand in valid JSON,
        in bytes. `lent` names the rows, of those that came in the same way, that have the same text: it is kept once
        as well. Numbers of rows end with the next `take`.
        """
        constant, same, shared, quoted = constant or {}, same or {}, shared or {}, quoted or {}
        key = (frame, *constant.items(), *same.items(), *shared, "", *quoted, "", *columns)
        bulk = self._bulk.get(key)
        if bulk is None:
            types: dict[str, Any] = {name: RECORDED[frame][name] for name in columns}
            types |= dict.fromkeys(quoted, QUOTED) | dict.fromkeys(shared, SHARED)
            bulk = self._bulk[key] = _Bulk(frame, constant, same, Columns(types))
        since, height = bulk.columns.height, len(columns["event"])
        number = self._numbers.__getitem__
        numbered = {name: map(number, texts) for name, texts in shared.items()}
        bulk.columns.extend({**columns, **quoted, **numbered}, height)
        for name, rows in (lent or {}).items():
            bulk.lent.setdefault(name, []).extend(
                (since + place, row) for place, row in enumerate(rows) if row is not None
            )
        if frame == "events":
            self.count += height
        return since

    def place(self, offset: Sequence[int], length: Sequence[int], line: Sequence[int]) -> None:
        """The block is read: say where the records of the events in `whole` lie."""
        base, self.base = self.base, _NEVER
        if not self.whole:
            return
        event, session, turn, time, number, native, kind, pointer = self.whole.columns()
        self.whole.clear()
        if event != list(range(base, base + (len(offset) << PART_BITS), 1 << PART_BITS)):
            # Of a block of long records there are few: a query of Polars' costs more than to look each of them up.
            record = [each - base >> PART_BITS for each in event]
            offset, length, line = (list(map(column.__getitem__, record)) for column in (offset, length, line))
        self.bulk(
            "events",
            shared={"type": native, "kind": kind},
            event=event,
            session=session,
            turn=turn,
            offset=offset,
            length=length,
            line=line,
            pointer=pointer,
            time=time,
            number=number,
        )

    def waiting(self, name: str, width: int, append: Callable[[Sheet], None]) -> Sheet:
        """A sheet for rows in an adapter's own form, the event first; `append` gets them when their block is read.

        What is the same work for each of them is then done for many at once. There is one sheet of a name.
        """
        return self._waiting.setdefault(name, (append, Sheet([str(place) for place in range(width)])))[1]

    def undo(self, event: int) -> None:
        """Take back what was appended, row by row, of this event and those after it: it is read in another way."""
        sheets: list[Sheet] = [getattr(self, name) for name in RECORDED if name != "tables"]
        for sheet in (self.whole, *sheets, *(sheet for _, sheet in self._waiting.values())):
            sheet.undo(event)

    def mark(self) -> dict[tuple[Any, ...], int]:
        """How many rows came column by column, for `give_up`."""
        return {key: bulk.columns.height for key, bulk in self._bulk.items()}

    def give_up(self, event: int, mark: Mapping[tuple[Any, ...], int]) -> None:
        """Take back what was appended, in any way, of the block that begins with this event: its reader broke."""
        self.undo(event)
        self.base = _NEVER
        self.takes += 1  # rows that are gone lend nothing
        for key, bulk in self._bulk.items():
            height, before = mark.get(key, 0), bulk.columns.height
            bulk.columns.cut(height)
            bulk.lent = {name: [pair for pair in lent if pair[0] < height] for name, lent in bulk.lent.items()}
            if bulk.frame == "events":
                self.count -= before - height

    def table(self, text: bytes, shape: str, server: str | None = None) -> str:
        """The digest of a tool table (JSON text of a list), kept once however often it is shown."""
        known = self._digests.get((text, shape, server))
        if known is not None:
            return known
        key = b"" if server is None else server.encode()[:64]
        digest = blake2b(text, digest_size=12, person=shape.encode()[:16], key=key).hexdigest()
        if digest not in self._known_tables:
            self._known_tables.add(digest)
            self.tables.append((digest, shape, text.decode("utf-8", "replace"), server))
        if len(self._digests) < _TABLES and len(text) <= _LONGEST:
            self._digests[text, shape, server] = digest
        return digest

    def settle(self) -> None:
        """Turn rows into columns; called after each block, while they are near: later it takes four times as long."""
        for append, waiting in self._waiting.values():
            if waiting:
                append(waiting)
                waiting.clear()
        self.count += len(self.events)
        for name, schema in RECORDED.items():
            sheet: Sheet = getattr(self, name)
            if sheet:
                names = _ROWS if name == "events" else schema
                settled = self._settled.setdefault(name, Columns(names))
                settled.extend(dict(zip(names, sheet.columns(), strict=True)), len(sheet))
                sheet.clear()

    def take(self) -> dict[str, pl.DataFrame]:
        """The frames of all rows since the last call, each sorted by event."""
        self.settle()
        texts = pl.Series(list(self._numbers), dtype=pl.String)
        frames = inside.placed({name: self._frame(name, texts) for name in RECORDED}, self.stood)
        if frames["gates"]["session"].null_count():
            frames = owned(frames, self._last)
        self._last = next(frames["events"].select("event", "session").tail(1).iter_rows(), self._last)
        self._settled, self._bulk, self._numbers, self.count = {}, {}, _Numbers(), 0
        self.stood = []
        self.takes += 1
        return self._wires.join(frames)

    def _frame(self, name: str, texts: pl.Series) -> pl.DataFrame:
        parts = [bulk.made(texts) for bulk in self._bulk.values() if bulk.frame == name and bulk.columns.height]
        if name in self._settled:
            settled = pl.DataFrame(self._settled[name].series(texts))
            parts.append(_as_events(settled) if name == "events" else settled)
        if not parts:
            return no_rows(name)
        whole = pl.concat(parts)
        if name == "tables" or whole["event"].is_sorted():
            return whole
        return whole.sort("event", maintain_order=True)


def _as_events(rows: pl.DataFrame) -> pl.DataFrame:
    time = pl.coalesce(iso_times(rows["time_text"]), pl.col("time_us").cast(TIME))
    source = pl.col("event") // (1 << RECORD_BITS + PART_BITS)
    return rows.with_columns(time=time, source=source).select(list(EVENTS))


def _with_lent(texts: pl.Series, lent: list[tuple[int, int]]) -> pl.Series:
    """Texts with those that another row has; Polars points at the same bytes for both."""
    if not lent:
        return texts
    takers, lenders = zip(*lent, strict=True)
    rows = pl.int_range(texts.len(), eager=True).scatter(takers, lenders)
    return texts.gather(rows)
