"""What is kept of the partitions that were audited until the last one is: little, for there may be many.

A frame that was cut out of a larger one holds on to all of its texts, so what is kept is written anew. What is asked
for in the end only waits on disk, in a private file, once it is much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import SEEK_END, BytesIO
from tempfile import SpooledTemporaryFile

import polars as pl

from analyzer.findings.details import DETAILS, together
from analyzer.findings.listing import PLACED, cut, places_of, unlisted_of
from analyzer.findings.packed import Packed
from analyzer.frames import Frames

SAME = ("schemas", "schema_facts", "tools", "contracts", "shown_tables")
"""Frames of which partitions hold the same rows again and again."""
_WAITING = ("retries", "offer_events", "offers")
_MUCH = 32 << 20
_LOT = 50_000  # rows that are looked at together
_EVENTS_OF = ("offers", "first_showings", "strays", "retries")  # whose events are looked up in `offer_events`
_SHOWN = pl.struct("call_id", "digest").hash().alias("shown")
_Place = tuple[int, int]  # where bytes begin in the file, and how many they are


class Kept:
    """The answers of partitions, in their order, of whose findings about `most` are listed in the end.

    Where they are not `every` one there is, any of their calls may repeat one elsewhere that failed, and stays.
    """

    def __init__(self, most: int, *, every: bool = True) -> None:
        self._most, self._every = most, every
        self._found: list[Packed] = []
        self._parts: list[Frames] = []  # all frames but those that wait
        self._same: Frames = {}
        self._file = SpooledTemporaryFile(max_size=_MUCH)  # noqa: SIM115 - it goes with this
        self._waiting: list[dict[str, list[_Place]]] = []
        self._detailed: list[dict[str, list[_Place]]] = []

    def add(self, part: Frames, found: Packed, more: Iterable[tuple[str, bytes]] = ()) -> None:
        """Keep what is needed of one more, and its findings; `more` are `lots` of frames that wait."""
        if DETAILS.keys() <= part.keys():
            self._detailed.append({name: self._put(part[name]) for name in DETAILS})
        for name in SAME:
            same = [self._same[name], part[name]] if name in self._same else [part[name]]
            self._same[name] = anew(pl.concat(same).unique(maintain_order=True))
        waiting = {name: self._put(part[name]) for name in _WAITING}
        for name, lot in more:
            waiting[name].append(self._write(lot))
        self._waiting.append(waiting)
        self._parts.append(
            {name: anew(rows) for name, rows in part.items() if name not in (*SAME, *_WAITING, *DETAILS)}
        )
        found.pack()
        self._found.append(found)
        if self._listed() > 2 * self._most:
            self._thin()

    def _listed(self) -> int:
        return sum(found.height for found in self._found)

    def _thin(self) -> None:
        """Leave out what will not be listed in any case."""
        places = pl.concat(places_of(found.select(*PLACED), number) for number, found in enumerate(self._found))
        kept, unlisted = cut(places, self._most, unlisted_of(self._parts))
        del places
        rows = kept.partition_by("part", as_dict=True, include_key=False)
        for number, (part, found) in enumerate(zip(self._parts, self._found, strict=True)):
            mine = rows.get((number,), kept.clear())["row"]
            if mine.len() < found.height:
                found.keep(mine.sort())
                found.leave_out()
            part["unlisted"] = unlisted if number == 0 else unlisted.clear()

    def whole(self) -> tuple[list[Frames], list[Packed]]:
        """The answers and their findings, with every row that may be asked for.

        Of calls that may repeat a failed one, or be one of another session, those that do or are.
        """
        numbers = range(len(self._parts))
        failed = pl.concat([self._failed(number) for number in numbers]).unique()
        shown = pl.concat([self._shown(number) for number in numbers])
        again = shown.filter(shown.is_duplicated()).unique()
        return [self._part(number, failed, again) for number in numbers], [each.copy() for each in self._found]

    def end(self) -> tuple[list[Frames], list[Packed]]:
        """The answers as `whole` has them; they are kept no longer."""
        if self._listed() > self._most:
            self._thin()
        whole = self.whole()
        self._parts.clear()
        self._found.clear()
        return whole

    def details(self) -> Frames:
        """DETAILS of all partitions; without frames where they were not asked for."""
        if not self._detailed:
            return {}
        return together({name: self._read(places) for name, places in each.items()} for each in self._detailed)

    def close(self) -> None:
        """Remove what waits on disk."""
        self._file.close()

    def _part(self, number: int, failed: pl.Series, again: pl.Series) -> Frames:
        repeating = pl.col("digest").is_in(failed.implode()) | _SHOWN.is_in(again.implode())
        repeating = repeating if self._every else pl.lit(value=True)
        part = {
            **self._parts[number],
            "retries": self._get(number, "retries", repeating),
            "offers": self._get(number, "offers"),
        }
        places = pl.concat([part[name]["event"] for name in _EVENTS_OF])
        events = self._get(number, "offer_events", pl.col("event").is_in(places.implode()))
        same = {name: rows if number == 0 else rows.clear() for name, rows in self._same.items()}
        return {**part, **same, "offer_events": events}

    def _failed(self, number: int) -> pl.Series:
        return self._get(number, "retries", pl.col("ended").is_not_null(), "digest")["digest"]

    def _shown(self, number: int) -> pl.Series:
        return self._get(number, "retries", pl.col("call_id").is_not_null(), _SHOWN)["shown"]

    def _put(self, frame: pl.DataFrame) -> list[_Place]:
        return [self._write(lot) for lot in lots(frame)]

    def _write(self, lot: bytes) -> _Place:
        since = self._file.seek(0, SEEK_END)
        return since, self._file.write(lot)

    def _get(self, number: int, name: str, asked: pl.Expr | None = None, columns: pl.Expr | str = "*") -> pl.DataFrame:
        return self._read(self._waiting[number][name], asked, columns)

    def _read(self, places: list[_Place], asked: pl.Expr | None = None, columns: pl.Expr | str = "*") -> pl.DataFrame:
        """The frame, or those of its rows and columns that are asked for."""
        found = []
        for since, length in places:
            self._file.seek(since)
            rows = pl.read_ipc_stream(self._file.read(length))
            found.append(rows if asked is None else anew(rows.filter(asked).select(columns)))
        return pl.concat(found)


def lots(frame: pl.DataFrame) -> Iterator[bytes]:
    """The rows, compressed, some at a time."""
    for rows in frame.iter_slices(_LOT) if frame.height else [frame]:
        written = BytesIO()
        rows.write_ipc_stream(written, compression="lz4")
        yield written.getvalue()


def anew(frame: pl.DataFrame) -> pl.DataFrame:
    """The same frame, holding on to nothing else."""
    if frame.is_empty():
        return frame.clear()
    written = BytesIO()
    frame.write_ipc_stream(written, compression="uncompressed")
    return pl.read_ipc_stream(written.getvalue())
