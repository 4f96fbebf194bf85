"""Columns on their way from Python's values to Polars'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import polars as pl

from analyzer.frames import TIME

SHARED: Final = "shared"
"""The type of a column of texts that come as numbers: each is kept once."""
QUOTED: Final = "quoted"
"""The type of a column of texts that may come as JSON strings, in bytes: they are decoded many at once."""

_WAITING = 2048
_MOST = 1e17  # as a number of microseconds, the year 5138
_NONE_AS = {QUOTED: pl.String, TIME: pl.String}
_REPEATED = (pl.String, pl.Boolean)
# Formats that Polars reads at a third of the time that it takes for any ISO 8601, by the length of the text.
_PRECISE = {20: "%Y-%m-%dT%H:%M:%SZ", 24: "%Y-%m-%dT%H:%M:%S.%3fZ", 27: "%Y-%m-%dT%H:%M:%S.%6fZ"}
_LOCAL = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")


class Columns:
    """The columns of one frame while they grow.

    Values wait as Python's until there are enough to make Polars' of them, and no longer: a value that has left the
    cache of the processor takes four times as long to turn, and what it took is not there for the next one.
    """

    def __init__(self, types: Mapping[str, Any]) -> None:
        self._types = types
        self._waiting: dict[str, list[Any]] = {name: [] for name in types}
        self._made: dict[str, list[pl.Series]] = {name: [] for name in types}
        self._made_height = 0
        self.height = 0

    def extend(self, columns: Mapping[str, Iterable[Any]], height: int) -> None:
        """Append `height` rows."""
        for name, values in columns.items():
            self._waiting[name] += values
        self.height += height
        if self.height - self._made_height >= _WAITING:
            self._make()

    def _make(self) -> None:
        self._made_height = self.height
        for name, values in self._waiting.items():
            if values:
                self._made[name].append(_series(values, self._types[name]))
                values.clear()

    def cut(self, height: int) -> None:
        """Keep the first `height` rows, also where what came after them came in part."""
        for name, waiting in self._waiting.items():
            pieces = self._made[name]
            made = sum(map(len, pieces))
            del waiting[max(height - made, 0) :]
            while made > height:
                last = pieces.pop()
                made -= len(last)
                if made < height:
                    pieces.append(last.head(height - made))
                    made = height
        self.height = height
        self._made_height = min(self._made_height, height)

    def series(self, shared: pl.Series) -> dict[str, pl.Series]:
        """What has come, by the names of the columns; `shared` are the texts that numbers stand for."""
        self._make()
        return {
            name: _finished(pieces, self._types[name], shared).alias(name)
            for name, pieces in self._made.items()
            if pieces
        }


def _series(values: list[Any], kind: Any) -> pl.Series:
    value = values[0]
    plain = value is None or kind in _REPEATED
    if plain and value is values[-1] and values.count(value) == len(values):  # Polars would look at them one by one
        return pl.Series([value], dtype=_NONE_AS.get(kind, kind)).new_from_index(0, len(values))
    if kind == SHARED:
        return pl.Series(values, dtype=pl.UInt32)
    if kind == QUOTED:
        return _unquoted(values)
    if kind == TIME:
        for written in (pl.String, pl.Float64):  # made times at the end, all at once
            with suppress(TypeError, OverflowError):
                return pl.Series(values, dtype=written)
        return _mixed_times(values)
    return pl.Series(values, dtype=kind)


def _finished(pieces: list[pl.Series], kind: Any, shared: pl.Series) -> pl.Series:
    if kind == TIME:
        if any(piece.dtype != pieces[0].dtype for piece in pieces):
            pieces = [_times(piece) for piece in pieces]
        return _times(pl.concat(pieces))
    whole = pl.concat(pieces, rechunk=True)
    return shared.gather(whole) if kind == SHARED else whole


def _unquoted(values: list[str | bytes | None]) -> pl.Series:
    quoted = [value if type(value) is bytes else None for value in values]
    # They are valid, as msgspec has seen to: UTF-8, and surrogates in pairs.
    texts = pl.Series(quoted, dtype=pl.Binary).cast(pl.String).str.json_decode(pl.String)
    plain = {place: value for place, value in enumerate(values) if type(value) is str}
    return texts.scatter(list(plain), list(plain.values())) if plain else texts


def _mixed_times(times: list[Any]) -> pl.Series:
    """Times of which some are written as texts, others as numbers, of which some may be of any size."""
    numbers = [float(when) if type(when) in {int, float} and -_MOST < when < _MOST else None for when in times]
    texts = iso_times(pl.Series([when if type(when) is str else None for when in times], dtype=pl.String))
    found = _moments(pl.Series(numbers, dtype=pl.Float64))
    return pl.select(pl.coalesce(found, texts)).to_series()


def _times(written: pl.Series) -> pl.Series:
    return written if written.dtype == TIME else iso_times(written) if written.dtype == pl.String else _moments(written)


def _moments(numbers: pl.Series) -> pl.Series:
    """The same as `values.microseconds` of many."""
    size = numbers.abs()
    factor = pl.when(size >= 1e14).then(1.0).when(size >= 1e11).then(1e3).otherwise(1e6)
    found = pl.when(size < _MOST).then((numbers * factor).round(mode="half_to_even"))
    return pl.select(found.cast(pl.Int64).cast(TIME)).to_series()


def times(values: list[Any]) -> pl.Series:
    """Times as they are written, texts and numbers, as microseconds since 1970; null where one is none."""
    return _times(_series(values, TIME)) if values else pl.Series([], dtype=TIME)


def iso_times(texts: pl.Series) -> pl.Series:
    """Texts as times in UTC; what has no zone is in UTC, what is no time is null."""
    missing = texts.null_count()
    if missing == texts.len():
        return texts.cast(TIME)
    precise = _PRECISE.get(len(texts.drop_nulls()[0]))
    if precise is not None:
        found = texts.str.to_datetime(precise, time_unit="us", strict=False)
        if found.null_count() == missing:
            return found.dt.replace_time_zone("UTC")
    found = texts.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    if found.null_count() > missing:
        for way in _LOCAL:
            local = texts.str.to_datetime(way, time_unit="us", strict=False).dt.replace_time_zone("UTC")
            found = pl.select(pl.coalesce(found, local)).to_series()
    return found
