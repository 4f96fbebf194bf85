"""A disk without room: told from other failures, also where a library does not say so."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MAKE_ROOM = "make room where the output, the store and temporary files go"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_PROBE = 1 << 20  # bytes: more than what a failed write has left of the disk's last ones


def no_room(error: BaseException) -> str | None:
    """What the system says where a failure is that there is no room to write; a library tells its number in words."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    number = int(told[1]) if told else getattr(error, "errno", None)
    return os.strerror(number) if number in _NO_ROOM else None


def advice(error: BaseException) -> str | None:
    """What to do about it, where a failure is that there is no room."""
    return MAKE_ROOM if no_room(error) else None


def write_parquet(frame: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a Parquet file. Raises OSError, also where there is no room, of which Polars says only that it failed.

    What is not yet in memory is never there as a whole.
    """
    import polars as pl

    try:
        if isinstance(frame, pl.LazyFrame):
            frame.sink_parquet(file)
        else:
            frame.write_parquet(file)
    except pl.exceptions.PolarsError:
        with file.open("ab") as probe:
            probe.write(bytes(_PROBE))
        raise
