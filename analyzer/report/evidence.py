"""The recorded bytes behind a place in the frames, fetched for the few that somebody looks at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import polars as pl

from analyzer import pointer as pointers
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.auditing import Audit


class Recorded:
    """Elements of records, by event and pointer. Use it as a context manager: it keeps files open."""

    def __init__(self, audit: Audit) -> None:
        self._evidence = audit.evidence()
        self._events = audit.frames["events"]
        self._contracts = audit.frames["contracts"]
        self._schemas = audit.frames["schemas"]

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
                raw = json_of(self._evidence.fetch(source, offset, length))
                start, end = pointers.locate(raw, (base or "") + (pointer or ""))
                return msgspec.json.decode(raw[start:end])
            except (AnalyzerError, OSError, LookupError, ValueError, RecursionError):
                return None
        return None

    def record(self, source: int, offset: int, length: int) -> Any:
        """A whole record, decoded; None where it cannot be had any more or is not JSON."""
        try:
            return msgspec.json.decode(json_of(self._evidence.fetch(source, offset, length)))
        except (AnalyzerError, OSError, ValueError, RecursionError):
            return None

    def schema(self, schema_id: str, event: int | None, pointer: str | None) -> Any:
        """A schema with its members in the order in which they were written: in the log, or in a contract file.

        Where that cannot be had any more, or stands in a text, it is the canonical text, whose members are sorted.
        """
        found = self._given(schema_id) if event is None else None
        if event is not None and pointer:
            found = self.element(event, pointer)
        if found is not None:
            return found
        for (text,) in self._schemas.filter(pl.col("schema_id") == schema_id).select("text").head(1).iter_rows():
            return msgspec.json.decode(text)
        return None

    def _given(self, schema_id: str) -> Any:
        mine = self._contracts.filter(pl.col("schema_id") == schema_id).sort("file", "line", "pointer").head(1)
        for file, pointer in mine.select("file", "pointer").iter_rows():
            try:
                return pointers.resolve(msgspec.json.decode(Path(file).read_bytes()), pointer or "")
            except (OSError, LookupError, ValueError, RecursionError):
                return None
        return None


def json_of(record: bytes) -> bytes:
    """The JSON text of a record: of a server-sent event its data lines."""
    if record.lstrip()[:1] in (b"{", b"["):
        return record
    lines = (line for line in record.splitlines() if line.startswith(b"data:"))
    return b"\n".join(line.removeprefix(b"data:").removeprefix(b" ") for line in lines)
