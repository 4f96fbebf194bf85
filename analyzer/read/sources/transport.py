"""Bytes as a transport or an editor left them: UTF-16 and UTF-32, HTTP headers before a body, CR alone as line end."""

from __future__ import annotations

import codecs
import re
from typing import Protocol

_MAGIC = 4  # bytes
# As `curl -i` prints them: several where the server said more than one thing first.
_RESPONSES = re.compile(rb"(?:HTTP/[0-9.]+ [0-9]{3}[^\n]*\n(?:[!-9;-~]+:[^\n]*\n)*\r?\n)+")


class Readable(Protocol):
    """A binary stream; fewer bytes than asked for are no end, none are."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes."""
        ...


class Digest(Protocol):
    """What takes the bytes as they pass."""

    def update(self, data: bytes, /) -> None:
        """Take the next bytes."""
        ...


class Transcoded:
    """A file of UTF-16 or UTF-32 as UTF-8; what is no character comes as U+FFFD."""

    def __init__(self, file: Readable, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        while piece := self._file.read(max(size // 2, 2)):  # two bytes become three at most
            text = self._decoder.decode(piece)
            if text:
                return text.encode()
        return self._decoder.decode(b"", final=True).encode()


def wide(magic: bytes) -> str | None:
    """The encoding of a text that begins so, if it is UTF-16 or UTF-32: by its mark, else by bytes that are zero."""
    if magic.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if magic.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(magic) < _MAGIC:
        return None
    odd, even = magic[1:_MAGIC:2], magic[:_MAGIC:2]
    if not any(odd) and even.isascii() and all(even):
        return "utf-16-le"
    return "utf-16-be" if not any(even) and odd.isascii() and all(odd) else None


class Behind:
    """A stream some of whose bytes were read before."""

    def __init__(self, read: bytes, stream: Readable) -> None:
        self._read = read
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        if self._read:
            piece, self._read = self._read[:size], self._read[size:]
            return piece
        return self._stream.read(size)


class LineFeeds:
    """A stream with LF in the place of CR; the bytes as they were pass `digest`, and no digest sees the others."""

    def __init__(self, stream: Readable, digest: Digest) -> None:
        self._stream = stream
        self._digest = digest

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        piece = self._stream.read(size)
        self._digest.update(piece)
        return piece.replace(b"\r", b"\n")

    def update(self, data: bytes, /) -> None:
        """Pass over what was counted before."""


def headers(head: bytes) -> int:
    """How many bytes of HTTP responses without their body the stream that begins with `head` begins with."""
    found = _RESPONSES.match(head)
    return found.end() if found else 0
