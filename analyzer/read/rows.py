"""Where adapters put what they read: one list of tuples per recorded frame, made into frames in blocks."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

import polars as pl

from analyzer.frames import EVENTS, PART_BITS, PART_LIMIT, RECORD_BITS, RECORDED, TIME
from analyzer.read.records import Block
from analyzer.read.values import microseconds

Row = tuple[Any, ...]

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


_ROWS = pl.Schema({name: {"time_text": pl.String(), "time_us": pl.Int64(), **EVENTS}[name] for name in _EVENT_COLUMNS})
_PLAIN_COLUMNS = (
    *("block", "index", "offset", "length", "line", "session", "time", "number", "type", "turn", "event_id"),
)
_PART_COLUMNS = (
    *("event", "session", "offset", "length", "line", "pointer", "time", "number", "type", "kind", "turn", "event_id"),
)


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


class _Numbers(dict[str | None, int]):
    """Numbers of texts, in the order in which they are first asked for."""

    def __missing__(self, name: str | None) -> int:
        number = self[name] = len(self)
        return number


class _Bulk(NamedTuple):
    constant: Mapping[str, str]
    same: Mapping[str, str]
    columns: dict[str, list[Any]]
    long: dict[str, list[pl.Series]]
    lent: dict[str, list[tuple[int, int]]]


class Rows:
    """The rows of the recorded frames, in the column order of `analyzer.frames`.

    Adapters append tuples to the lists; `events` takes the columns of EVENTS without `source` and with
    `time_text, time_us` in the place of `time`. Strings must be valid Unicode (no lone surrogates).
    """

    def __init__(self) -> None:
        self.events: list[Row] = []
        self.faults: list[Row] = []
        self.session_states: list[Row] = []
        self.turn_states: list[Row] = []
        self.tables: list[Row] = []
        self.showings: list[Row] = []
        self.call_sightings: list[Row] = []
        self.result_sightings: list[Row] = []
        self.approvals: list[Row] = []
        self.gates: list[Row] = []
        self.messages: list[Row] = []
        self.summaries: list[Row] = []
        self.shared: dict[str, Any] = {}
        """What adapters keep for all sources of a run, by a name of their own: a session may go on in the next file."""
        self._known_tables: set[str] = set()
        self._columns: dict[str, list[list[Any]]] = {}
        self._bulk: dict[tuple[Any, ...], _Bulk] = {}
        self._plain: dict[str, list[Any]] = {}
        self._parts: dict[str, list[Any]] = {}
        self._names = _Numbers()
        self._kinds: Mapping[str, str] = {}
        self.takes = 0
        self.count = 0
        """Events taken since the last `take`; those of `events` come on top."""

    def bulk(
        self,
        frame: str,
        *,
        constant: Mapping[str, str] | None = None,
        same: Mapping[str, str] | None = None,
        long: Mapping[str, list[str | None]] | None = None,
        lent: Mapping[str, list[int | None]] | None = None,
        **columns: list[Any],
    ) -> int:
        """Append many rows of one frame, column by column, and give the number of the first; what is left out is null.

        `constant` columns have one value in all rows, `same` ones are another column again: neither costs a cell of
        Python. `long` ones are texts to be held as Polars holds them, a fifth of what Python takes for one with an
        emoji in it. `lent` names the rows that have the same long text, which is then kept once; the numbers end with
        the next `take`.
        """
        key = (frame, *(constant or {}).items(), *(same or {}).items(), *(long or {}))
        bulk = self._bulk.setdefault(key, _Bulk(constant or {}, same or {}, {}, {}, {}))
        for name, texts in (long or {}).items():
            bulk.long.setdefault(name, []).append(pl.Series(name, texts, dtype=pl.String))
        held = bulk.columns
        since = len(held.get("event", ()))
        for name, rows in (lent or {}).items():
            bulk.lent.setdefault(name, []).extend(
                (since + place, row) for place, row in enumerate(rows) if row is not None
            )
        for name in (*columns, *(name for name in held if name not in columns)):
            column = held.get(name)
            if column is None:  # a column that earlier rows did not have
                column = held[name] = [None] * since
            column += columns.get(name) or [None] * len(columns["event"])
        return since

    def bulk_events(
        self, base: int, block: Block, indexes: list[int], records: Sequence[Any], kinds: Mapping[str, str]
    ) -> None:
        """Append one event for each of some records of a block of lines, column by column.

        `base` is the event number of the block's first record. The records have `session_id, recorded_at, type,
        turn_id, sequence_number, event_id`; `kinds` has the kind of every type among them.
        """
        held = self._plain or {name: [] for name in _PLAIN_COLUMNS}
        self._plain, self._kinds = held, kinds
        names = self._names
        held["block"].append((base, len(indexes)))
        held["index"] += indexes
        held["offset"] += [block.offset[index] for index in indexes]
        held["length"] += [block.length[index] for index in indexes]
        held["line"] += [block.line[index] for index in indexes]
        held["session"] += [names[record.session_id] for record in records]
        held["time"] += [record.recorded_at for record in records]
        held["number"] += [record.sequence_number for record in records]
        held["type"] += [names[record.type] for record in records]
        held["turn"] += [names[record.turn_id] for record in records]
        held["event_id"] += [record.event_id for record in records]
        self.count += len(indexes)

    def bulk_parts(self, **columns: list[Any]) -> None:
        """Append events that stand at a `pointer` inside their records; columns of EVENTS left out are null.

        `time` takes texts and numbers as written; the source is part of the event's number.
        """
        held = self._parts or {name: [] for name in _PART_COLUMNS}
        self._parts = held
        count = len(columns["event"])
        for name, column in held.items():
            column.extend(columns.get(name) or [None] * count)
        self.count += count

    def undo(self, event: int) -> None:
        """Take back what was appended, row by row, of this event and those after it: it is read in another way."""
        for name in RECORDED:
            rows: list[Row] = getattr(self, name)
            while name != "tables" and rows and rows[-1][0] >= event:
                rows.pop()

    def table(self, text: bytes, shape: str, server: str | None = None) -> str:
        """The digest of a tool table (JSON text of a list), kept once however often it is shown."""
        key = b"" if server is None else server.encode()[:64]
        digest = blake2b(text, digest_size=12, person=shape.encode()[:16], key=key).hexdigest()
        if digest not in self._known_tables:
            self._known_tables.add(digest)
            self.tables.append((digest, shape, text.decode("utf-8", "replace"), server))
        return digest

    def settle(self) -> None:
        """Turn rows into columns; called after each block, while they are near: later it takes four times as long."""
        self.count += len(self.events)
        for name in RECORDED:
            rows: list[Row] = getattr(self, name)
            if rows:
                columns = self._columns.setdefault(name, [[] for _ in rows[0]])
                for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                    column.extend(values)
                rows.clear()

    def take(self) -> dict[str, pl.DataFrame]:
        """The frames of all rows since the last call."""
        self.settle()
        frames = {}
        for name, schema in RECORDED.items():
            columns = self._columns.get(name, [])
            bulks = [bulk for key, bulk in self._bulk.items() if key[0] == name]
            frames[name] = self._events(columns) if name == "events" else _frame(columns, bulks, schema)
        self._columns, self._bulk, self._plain, self._parts, self.count = {}, {}, {}, {}, 0
        self.takes += 1
        self._names = _Numbers()
        return frames

    def _events(self, columns: list[list[Any]]) -> pl.DataFrame:
        frames = []
        if columns:
            frame = _frame(columns, [], _ROWS).sort("event", maintain_order=True)
            time = pl.coalesce(_times(frame["time_text"]), pl.col("time_us").cast(TIME))
            frames.append(_sourced(frame.with_columns(time=time)))
        if self._plain:
            frames.append(_sourced(self._plain_frame(self._plain)))
        if self._parts:
            series = [pl.Series(name, self._parts[name], EVENTS[name]) for name in _PART_COLUMNS if name != "time"]
            frames.append(_sourced(pl.DataFrame([*series, _mixed_times(self._parts["time"])]).sort("event")))
        whole = frames[0] if frames else EVENTS.to_frame()
        for frame in frames[1:]:
            whole = whole.merge_sorted(frame, "event")
        return whole

    def _plain_frame(self, held: dict[str, list[Any]]) -> pl.DataFrame:
        """What repeats is kept once and by its number: every text of Python costs 0.1 s a million, and its bytes."""
        bases, counts = zip(*held["block"], strict=True)
        blocks = pl.DataFrame({"base": bases, "count": counts}, schema={"base": pl.Int64, "count": pl.Int64})
        base = blocks.select(pl.col("base").repeat_by("count").explode()).to_series()
        index = pl.Series("index", held["index"], dtype=pl.Int64)
        names = pl.Series(list(self._names), dtype=pl.String)
        kinds = pl.Series([self._kinds.get(name or "") for name in self._names], dtype=pl.String)
        numbers = {name: pl.Series(held[name], dtype=pl.UInt32) for name in ("session", "type", "turn")}
        return pl.DataFrame(
            [
                (base + index * (1 << PART_BITS)).alias("event"),
                *(
                    pl.Series(name, held[name], EVENTS[name])
                    for name in ("offset", "length", "line", "number", "event_id")
                ),
                *(names.gather(column).alias(name) for name, column in numbers.items()),
                kinds.gather(numbers["type"]).alias("kind"),
                _mixed_times(held["time"]),
            ]
        ).with_columns(pointer=pl.lit(""))


def _frame(settled: list[list[Any]], bulks: list[_Bulk], schema: pl.Schema) -> pl.DataFrame:
    parts = []
    if settled:
        parts.append([_column(name, column, schema[name]) for name, column in zip(schema, settled, strict=True)])
    for constant, same, columns, long, lent in bulks:
        count = len(columns["event"])
        made = {name: pl.Series(name, values, dtype=schema[name]) for name, values in columns.items()}
        made |= {name: _with_lent(pl.concat(texts), lent.get(name, [])) for name, texts in long.items()}
        made |= {name: made[other].alias(name) for name, other in same.items()}
        parts.append([made.get(name, _one(name, constant.get(name), count, dtype)) for name, dtype in schema.items()])
    if not parts:
        return schema.to_frame()
    frame = pl.concat([pl.DataFrame(part) for part in parts])
    return frame.sort("event", maintain_order=True) if len(parts) > 1 else frame


def _column(name: str, values: list[Any], dtype: Any) -> pl.Series:
    if values[0] is None and values.count(None) == len(values):  # Polars would look for a value one by one
        return _one(name, None, len(values), dtype)
    return pl.Series(name, values, dtype=dtype)


def _with_lent(texts: pl.Series, lent: list[tuple[int, int]]) -> pl.Series:
    """Texts with those that another row has; Polars points at the same bytes for both."""
    if not lent:
        return texts
    takers, lenders = zip(*lent, strict=True)
    rows = pl.int_range(texts.len(), eager=True).scatter(takers, lenders)
    return texts.gather(rows)


def _one(name: str, value: str | None, count: int, dtype: Any) -> pl.Series:
    return pl.Series(name, [value], dtype=dtype).new_from_index(0, count)


def _sourced(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(source=pl.col("event") // (1 << RECORD_BITS + PART_BITS)).select(list(EVENTS))


def _mixed_times(times: list[Any]) -> pl.Series:
    """Times as written, texts or numbers."""
    try:
        return _times(pl.Series("time", times, dtype=pl.String))
    except TypeError:  # numbers among them
        texts = _times(pl.Series("time", [when if type(when) is str else None for when in times], dtype=pl.String))
        whens = [None if when is None or type(when) is str else microseconds(when) for when in times]
        return texts.to_frame().select(pl.coalesce("time", pl.Series(whens, dtype=pl.Int64).cast(TIME))).to_series()


def _times(texts: pl.Series) -> pl.Series:
    """Texts as times in UTC; what has no zone is in UTC."""
    if texts.null_count() == texts.len():
        return texts.cast(TIME)
    found = texts.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    if found.null_count() > texts.null_count():
        for way in ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"):
            local = texts.str.to_datetime(way, time_unit="us", strict=False).dt.replace_time_zone("UTC")
            found = pl.select(pl.coalesce(found, local)).to_series()
    return found.alias("time")
