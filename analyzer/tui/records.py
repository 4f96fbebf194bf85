"""The bytes of the logs behind an audit, and whether they are the ones that were audited."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from analyzer.errors import EvidenceUnavailable, InputError

if TYPE_CHECKING:
    from analyzer.read.sources.files import Evidence

_SSE = (b"data:", b"event:", b"id:", b"retry:", b":")
_DIGESTED = 64 << 20  # bytes of a source whose digest is taken before the first evidence is shown
_PIECE = 1 << 20


class Records:
    """Records by source (SOURCES by number) and offset. Everything here may be called from any thread."""

    def __init__(self, sources: Mapping[int, dict[str, Any]]) -> None:
        self._sources = sources
        self._checked: dict[int, str | None] = {}
        self._reading = Lock()

    def fetch(self, source: int, offset: int, length: int) -> bytes:
        """So many bytes of a source. Raises EvidenceUnavailable where the log is another one, or is not there."""
        trouble = self.trouble(source)
        if trouble:
            raise EvidenceUnavailable(trouble)
        try:
            with self._reading:  # one file, one position
                raw = self._fetcher.fetch(source, offset, length)
        except (InputError, OSError, KeyError, ValueError) as error:  # ValueError: closed, because read anew
            raise EvidenceUnavailable(f"the log cannot be read: {error}") from error
        if len(raw) < length:
            raise EvidenceUnavailable("the log is shorter than it was")
        return raw

    @cached_property
    def _fetcher(self) -> Evidence:
        # The readers come with it, which the first rows need not wait for.
        from analyzer.read.sources.files import Evidence, Source

        return Evidence([Source(number, row["path"]) for number, row in self._sources.items()])

    def trouble(self, source: int) -> str | None:
        """Why the records of a source are not the audited ones; None: they are, or it is too big to say at once."""
        if source not in self._checked:
            row = self._sources.get(source, {})
            self._checked[source] = None
            if (row.get("bytes") or 0) <= _DIGESTED:
                self.verify(source)
        return self._checked[source]

    def verify(self, source: int) -> str | None:
        """Take the digest of a source now, and say what is wrong with it."""
        row = self._sources[source]
        try:
            digest, at = hashlib.sha256(), 0
            until = row["bytes"]  # a log that grew is still the audited one as far as it was audited
            while piece := self._piece(source, at, _PIECE if until is None else min(_PIECE, until - at)):
                digest.update(piece)
                at += len(piece)
        except (InputError, OSError, ValueError) as error:
            self._checked[source] = f"the log cannot be read: {error}"
        else:
            changed = row["sha256"] is not None and digest.hexdigest() != row["sha256"]
            self._checked[source] = "the log has changed since the audit" if changed else None
        return self._checked[source]

    def _piece(self, source: int, at: int, size: int) -> bytes:
        with self._reading:
            return self._fetcher.fetch(source, at, size)

    def close(self) -> None:
        """Close the logs."""
        if "_fetcher" in self.__dict__:
            self._fetcher.close()


def document(raw: bytes) -> bytes:
    """The JSON text of a record: of an event stream's record its data."""
    if not raw.lstrip().startswith(_SSE):
        return raw
    lines = [
        line for line in raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n") if line.startswith(b"data:")
    ]
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines) if lines else raw
