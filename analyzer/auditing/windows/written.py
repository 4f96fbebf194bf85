"""The windows of a large session on disk: each with its own rows and those that hang together with them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl

from analyzer.auditing.windows.index import Index
from analyzer.auditing.windows.links import LAST_STATES
from analyzer.auditing.windows.seen import BIG, SHOWN, keys_of_rows
from analyzer.frames import RECORDED, Frames
from analyzer.read.spilled.spill import Large

_PLACED = pl.Schema({**RECORDED["events"], "order": pl.String(), "seq": pl.Int64(), "copy": pl.String()})
_OWN_ONLY = ("turn_states",)
_KEPT_WHOLE = ("showings", "approvals", "gates", "summaries")


class _Piece(NamedTuple):
    frame: str
    offset: int
    length: int


class Written:
    """Writes the windows of a session into a folder and reads them back, one at a time."""

    def __init__(self, whole: Large, index: Index, folder: Path) -> None:
        self._index, self._folder = index, folder
        self._pieces: list[list[_Piece]] = [[] for _ in range(len(index.windows))]
        events = pl.concat([index.links.events, index.ghosts]).unique().sort("event", "target")
        for name, rows in whole.frames("events", "faults", *BIG):
            placed = index.seats.seated(rows)
            own = index.windows.owners(placed["seq"]).alias("target")
            if name == "events":
                placed = self._placed(placed)
            self._write(name, placed.with_columns(own))
            if name == "faults":  # a list that was cut short says something about every call
                cut = placed.with_columns(own).filter(pl.col("fault") == "more_pages")
                links = cut.select("event", own="target").join(index.windows.every(), how="cross")
                links = links.filter(pl.col("own") != pl.col("target")).drop("own").unique()
                placed = placed.filter(pl.col("fault") == "more_pages")
            else:
                links = events if name == "events" else index.links.events
            beside = placed.join(links, on="event", maintain_order="left")
            self._write(name, self._together(name, beside) if name in SHOWN else beside)

    def _together(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that hang together with a window: an event may show others besides."""
        keys = rows.select("target", **keys_of_rows(name)).with_row_index("row")
        mine = [
            keys.join(links, on=[by, "target"], how="semi")["row"]
            for by, links in (("pair", self._index.links.pairs), ("turn", self._index.links.turns))
        ]
        return rows[pl.concat(mine).unique().sort()]

    def load(self, window: int) -> Frames:
        """The recorded frames of a window, placed in its session."""
        found: dict[str, list[pl.DataFrame]] = {name: [schema.to_frame()] for name, schema in RECORDED.items()}
        found["events"] = [_PLACED.to_frame()]
        with self._path(window).open("rb") as file:
            for piece in self._pieces[window]:
                file.seek(piece.offset)
                found[piece.frame].append(pl.read_ipc_stream(file.read(piece.length)))
        frames = {
            name: pl.concat(found[name]).sort("event", maintain_order=True) for name in ("events", "faults", *BIG)
        }
        since, until = self._index.windows.span(window)
        small = self._index.small
        frames |= {name: small[name].filter(pl.col("seq").is_between(since, until)) for name in _OWN_ONLY}
        frames |= {name: small[name] for name in _KEPT_WHOLE}
        frames["session_states"] = _lasting(small["session_states"], since, until)
        return {**frames, "tables": self._index.tables}

    def done(self, window: int) -> None:
        """A window is not needed any more."""
        self._path(window).unlink()

    def _placed(self, events: pl.DataFrame) -> pl.DataFrame:
        marked = events.with_columns(order=pl.lit(self._index.seats.order, pl.String))
        return marked.join(self._index.seats.copies, on="event", how="left", maintain_order="left").select(
            list(_PLACED)
        )

    def _path(self, window: int) -> Path:
        return self._folder / f"{window:06}.arrows"

    def _write(self, name: str, rows: pl.DataFrame) -> None:
        for (window,), mine in rows.partition_by(
            "target", maintain_order=True, as_dict=True, include_key=False
        ).items():
            self._append(int(window), name, mine)

    def _append(self, window: int, name: str, rows: pl.DataFrame) -> None:
        with self._path(window).open("ab") as file:
            since = file.tell()
            (rows if name == "events" else rows.drop("seq", strict=False)).write_ipc_stream(file, compression="lz4")
            self._pieces[window].append(_Piece(name, since, file.tell() - since))


def _lasting(states: pl.DataFrame, since: int, until: int) -> pl.DataFrame:
    """The states of a window, the last ones before it, the last list of what is pending, and all instructions."""
    own = pl.col("seq").is_between(since, until)
    states = states.sort("seq", "event").with_row_index("row")
    before = states.filter(pl.col("seq") < since)
    last = [
        before.filter(pl.col(name).is_not_null()).tail(1) for name in ("agent", "parallel", "text_format", "pending")
    ]
    last.append(before.tail(LAST_STATES))
    version = before.filter(pl.col("agent").str.contains(r"/[0-9]")).tail(1)
    pending = states.filter(pl.col("pending").is_not_null()).tail(1)
    told = states.filter(pl.col("instructions").is_not_null()).unique("instructions", keep="first", maintain_order=True)
    rows = pl.concat([states.filter(own), *last, version, pending, told])
    return rows.unique("row", keep="first").sort("event", "row").drop("row")
