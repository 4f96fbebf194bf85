"""Where adapters put what they read: one list of tuples per recorded frame, made into frames in blocks."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

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


_BULK_COLUMNS = ("event", "session", "offset", "length", "line", "time", "number", "type", "kind", "turn", "event_id")


def event_number(source: int, record: int, part: int = 0) -> int:
    """The number of one recorded event in the run; sorts by source, record and part."""
    return (source << RECORD_BITS | record) << PART_BITS | min(part, PART_LIMIT)


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the cyclic garbage collector, which would walk millions of new rows again and again (a tenth of reading)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
        self._bulk: dict[str, dict[str, list[Any]]] = {}
        self.count = 0
        """Events taken in bulk since the last `take`; those of `events` come on top."""

    def bulk(self, frame: str, **columns: list[Any]) -> None:
        """Append many rows of one frame, column by column; columns left out are null, always the same for one frame."""
        held = self._bulk.setdefault(frame, {})
        for name in (*columns, *(name for name in held if name not in columns)):
            column = held.get(name)
            if column is None:  # a column that earlier rows did not have
                before = len(held["event"]) - len(columns["event"]) if held else 0
                column = held[name] = [None] * before
            column += columns.get(name) or [None] * len(columns["event"])

    def bulk_events(
        self, base: int, block: Block, indexes: list[int], records: Sequence[Any], kinds: Sequence[str | None]
    ) -> None:
        """Append one event for each of some records of a block of lines, column by column.

        `base` is the event number of the block's first record. The records have `session_id, recorded_at, type, turn_id,
        sequence_number, event_id`.
        """
        times = [record.recorded_at for record in records]
        held = self._bulk.setdefault("events", {name: [] for name in _BULK_COLUMNS})
        held["event"] += [base + (index << PART_BITS) for index in indexes]
        held["session"] += [record.session_id for record in records]
        held["offset"] += [block.offset[index] for index in indexes]
        held["length"] += [block.length[index] for index in indexes]
        held["line"] += [block.line[index] for index in indexes]
        held["time"] += times
        held["number"] += [record.sequence_number for record in records]
        held["type"] += [record.type for record in records]
        held["kind"] += kinds
        held["turn"] += [record.turn_id for record in records]
        held["event_id"] += [record.event_id for record in records]
        if "pointer" in held:
            held["pointer"] += [""] * len(indexes)
        self.count += len(indexes)

    def bulk_parts(self, **columns: list[Any]) -> None:
        """Append events that stand at a `pointer` inside their records; columns of EVENTS left out are null.

        `time` takes texts and numbers as written; the source is part of the event's number.
        """
        held = self._bulk.setdefault("events", {name: [] for name in _BULK_COLUMNS})
        count = len(columns["event"])
        held.setdefault("pointer", [""] * len(held["event"]))
        for name, column in held.items():
            column.extend(columns.get(name) or [None] * count)
        self.count += count

    def undo(self, event: int) -> None:
        """Take back what was appended, row by row, of this event and those after it: it is to be read in another way."""
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

    def take(self) -> dict[str, pl.DataFrame]:
        """The frames of all rows since the last call."""
        frames = {}
        for name, schema in RECORDED.items():
            rows: list[Row] = getattr(self, name)
            setattr(self, name, [])
            columns = self._bulk.get(name, {})
            frames[name] = _events(rows, columns) if name == "events" else _frame(rows, columns, schema)
        self._bulk, self.count = {}, 0
        return frames


def _frame(rows: list[Row], columns: dict[str, list[Any]], schema: pl.Schema) -> pl.DataFrame:
    parts = []
    if rows:
        values = zip(*rows, strict=True)
        parts.append([pl.Series(name, column, dtype=schema[name]) for name, column in zip(schema, values, strict=True)])
    if columns:
        count = len(columns["event"])
        parts.append(
            [
                pl.Series(name, columns[name], dtype=dtype) if name in columns else _null(name, count, dtype)
                for name, dtype in schema.items()
            ]
        )
    if not parts:
        return schema.to_frame()
    frame = pl.concat([pl.DataFrame(part) for part in parts])
    return frame.sort("event", maintain_order=True) if len(parts) > 1 else frame


def _bulk_frame(columns: dict[str, list[Any]], types: pl.Schema) -> pl.DataFrame:
    times = columns.pop("time")
    try:
        text = pl.Series("time_text", times, dtype=pl.String)
        number: pl.Expr | pl.Series = pl.lit(None, pl.Int64).alias("time_us")
    except TypeError:  # numbers among them
        text = pl.Series("time_text", [when if type(when) is str else None for when in times], dtype=pl.String)
        whens = [None if when is None or type(when) is str else microseconds(when) for when in times]
        number = pl.Series("time_us", whens, dtype=pl.Int64)
    series = [pl.Series(name, values, dtype=types[name]) for name, values in columns.items()]
    added = [number] if "pointer" in columns else [number, pl.lit("").alias("pointer")]
    return pl.DataFrame([*series, text]).with_columns(added)


def _null(name: str, count: int, dtype: Any) -> pl.Series:
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, count)


def _events(rows: list[Row], columns: dict[str, list[Any]]) -> pl.DataFrame:
    types = pl.Schema({"time_text": pl.String(), "time_us": pl.Int64(), **EVENTS})
    frame = _frame(rows, {}, pl.Schema({name: types[name] for name in _EVENT_COLUMNS}))
    if columns:
        if not frame["event"].is_sorted():
            frame = frame.sort("event")
        frame = frame.merge_sorted(_bulk_frame(columns, types).select(frame.columns), "event")
    if frame.is_empty():
        return EVENTS.to_frame()
    frame = frame.with_columns(source=pl.col("event") // (1 << RECORD_BITS + PART_BITS))
    text = pl.col("time_text")
    time = pl.col("time_us").cast(TIME)
    if frame["time_text"].null_count() < frame.height:
        zoned = text.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
        local = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False).dt.replace_time_zone("UTC")
        spaced = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False).dt.replace_time_zone("UTC")
        frame = frame.with_columns(time=zoned)
        if frame["time"].null_count() > frame["time_text"].null_count():
            frame = frame.with_columns(time=pl.coalesce("time", local, spaced))
        time = pl.coalesce("time", time)
    return frame.with_columns(time=time).select(list(EVENTS))
