"""Where adapters put what they read: one list of tuples per recorded frame, made into frames in blocks."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import polars as pl

from analyzer.frames import PART_BITS, PART_LIMIT, RECORD_BITS, RECORDED, TIME

Row = tuple[Any, ...]

# EVENTS as adapters append it: the time as written (`time_text`) or as microseconds since 1970 (`time_us`).
_EVENT_COLUMNS = (
    "event",
    "session",
    "source",
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


def event_number(source: int, record: int, part: int = 0) -> int:
    """The number of one recorded event in the run; sorts by source, record and part."""
    return (source << RECORD_BITS | record) << PART_BITS | min(part, PART_LIMIT)


class Rows:
    """The rows of the recorded frames, in the column order of `analyzer.frames`.

    Adapters append tuples to the lists; `events` takes the columns of EVENTS with `time_text, time_us` in the place of
    `time`. Strings must be valid Unicode (no lone surrogates).
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
        self._known_tables: set[str] = set()

    def table(self, text: bytes, shape: str) -> str:
        """The digest of a tool table (JSON text of a list), kept once however often it is shown."""
        digest = blake2b(text, digest_size=12, person=shape.encode()[:16]).hexdigest()
        if digest not in self._known_tables:
            self._known_tables.add(digest)
            self.tables.append((digest, shape, text.decode("utf-8", "replace")))
        return digest

    def take(self) -> dict[str, pl.DataFrame]:
        """The frames of all rows since the last call."""
        frames = {}
        for name, schema in RECORDED.items():
            rows: list[Row] = getattr(self, name)
            setattr(self, name, [])
            frames[name] = _events(rows) if name == "events" else _frame(rows, schema)
        return frames


def _frame(rows: list[Row], schema: pl.Schema) -> pl.DataFrame:
    if not rows:
        return schema.to_frame()
    columns = zip(*rows, strict=True)
    return pl.DataFrame(
        [pl.Series(name, column, dtype=dtype) for (name, dtype), column in zip(schema.items(), columns, strict=True)]
    )


def _events(rows: list[Row]) -> pl.DataFrame:
    schema = RECORDED["events"]
    if not rows:
        return schema.to_frame()
    types = {**schema, "time_text": pl.String(), "time_us": pl.Int64()}
    columns = zip(*rows, strict=True)
    frame = pl.DataFrame(
        [pl.Series(name, column, dtype=types[name]) for name, column in zip(_EVENT_COLUMNS, columns, strict=True)]
    )
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
    return frame.with_columns(time=time).select(list(schema))
