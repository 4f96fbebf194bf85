"""The recorded bytes behind a place in the frames, fetched for the few that somebody looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec
import polars as pl

from analyzer import pointer as pointers
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.audit import Audit


class Recorded:
    """Elements of records, by event and pointer. Use it as a context manager: it keeps files open."""

    def __init__(self, audit: Audit) -> None:
        self._evidence = audit.evidence()
        self._events = audit.frames["events"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._evidence.close()

    def element(self, event: int | None, pointer: str | None) -> Any:
        """The decoded element, members in the order of the log; None where it cannot be had any more."""
        for source, offset, length, base in (
            self._events.filter(pl.col("event") == event).select("source", "offset", "length", "pointer").iter_rows()
        ):
            try:
                raw = _json(self._evidence.fetch(source, offset, length))
                start, end = pointers.locate(raw, (base or "") + (pointer or ""))
                return msgspec.json.decode(raw[start:end])
            except (AnalyzerError, OSError, LookupError, ValueError, RecursionError):
                return None
        return None


def _json(record: bytes) -> bytes:
    """The JSON text of a record: of a server-sent event its data lines."""
    if record.lstrip()[:1] in (b"{", b"["):
        return record
    lines = (line for line in record.splitlines() if line.startswith(b"data:"))
    return b"\n".join(line.removeprefix(b"data:").removeprefix(b" ") for line in lines)
