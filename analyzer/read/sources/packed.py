"""Compressed streams: every member of a gzip, bzip2 or xz file, every frame of a zstd one; a word where one is cut."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

#: A compressed stream of more than so many bytes, and so many times its size, is a bomb: gzip itself ends near 1,030.
FREE_BYTES, MOST_TIMES = 1 << 30, 1_000
_MOST_MEMORY = 256 << 20  # that an xz stream may ask for


ENDINGS = (".gz", ".zst", ".bz2", ".xz")
"""Of the names of compressed files."""

_GZIP, _ZSTD, _BZIP2, _XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zX"


class _Readable(Protocol):
    """What is compressed."""

    def read(self, size: int, /) -> bytes: ...


def unpacked(file: _Readable, magic: bytes) -> Members | None:
    """The plain bytes of a stream that begins with `magic`; None where it is not compressed."""
    if magic.startswith(_GZIP):
        return Members(file, _gzip_member, 1 << 16)
    if magic == _ZSTD:
        return Members(file, _zstd_frame, 1 << 11)
    if magic.startswith(_BZIP2):
        return Members(file, _bzip2_stream, 1 << 11)
    return Members(file, _xz_stream, 1 << 11) if magic == _XZ else None


def plain_name(name: str) -> str:
    """A file's name without what says that it is compressed."""
    for ending in ENDINGS:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


class _Member(Protocol):
    """One gzip member or zstd frame on its way; both libraries have these names."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _gzip_member() -> _Member:
    try:
        from isal import isal_zlib  # 0.3 of the parse instead of 0.8, where there is a wheel
    except ImportError:
        return zlib.decompressobj(31)
    member: _Member = isal_zlib.decompressobj(31)
    return member


def _zstd_frame() -> _Member:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


def _bzip2_stream() -> _Member:
    import bz2

    return bz2.BZ2Decompressor()


def _xz_stream() -> _Member:
    import lzma

    return lzma.LZMADecompressor(memlimit=_MOST_MEMORY)


class Members:
    """All members of a gzip file or frames of another one, one after the other.

    `cut` is true where the last one has no end. They are fed by hand: the libraries' readers end silently inside a cut
    frame, or lose what they had of it. The pieces are so small that a bomb makes at most some 64 MB of each.
    """

    def __init__(self, file: _Readable, make: Callable[[], _Member], piece: int) -> None:
        self._file = file
        self._make = make
        self._piece = piece
        self._member = make()
        self._ready: list[bytes] = []
        self._size = 0
        self._rest = b""
        self._taken = self._made = 0
        self.cut = False

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; raises OSError where the stream is broken, after what came before it was given."""
        while self._size < size:
            if self._made > FREE_BYTES and self._made > self._taken * MOST_TIMES:
                if self._size:
                    break
                raise OSError(f"{FREE_BYTES} bytes and {MOST_TIMES} times its own size are passed, which is the limit")
            piece = self._rest
            if not piece:
                piece = self._file.read(self._piece)
                self._taken += len(piece)
            self._rest = b""
            if not piece:
                break
            try:
                more = self._member.decompress(piece)
            except Exception as error:  # each library has its own
                if self._size:
                    self._rest = piece
                    self._member = self._make()
                    break
                raise OSError(str(error)) from error
            self._made += len(more)
            self._ready.append(more)
            self._size += len(more)
            self.cut = not self._member.eof
            if self._member.eof:
                self._rest = self._member.unused_data.lstrip(b"\0")  # some writers pad
                self._member = self._make()
        whole = b"".join(self._ready)
        self._ready = [whole[size:]] if len(whole) > size else []
        self._size = max(0, len(whole) - size)
        return whole[:size]
