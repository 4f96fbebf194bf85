"""One input, opened as a plain byte stream; and what lies where in it, for those who look again."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol, Self

from analyzer.errors import InputError
from analyzer.read.sources import remote, zips
from analyzer.read.sources.archives import PARQUET
from analyzer.read.sources.packed import Members, unpacked
from analyzer.read.sources.transport import Behind, Transcoded, wide

STDIN = "-"
_TAR, _TAR_AT = b"ustar", 257
_ZIPPED = (".zip", ".eval")
_MOST_LAYERS = 3  # of compression around one file
_SPOOL_LIMIT = 64 << 30  # bytes of standard input kept on disk


@dataclass(frozen=True)
class Source:
    """One input: `path` as shown to people; `named` is true where it has to be a log.

    That is where the user gave it, and where a folder held it under a log's name.
    `real` is what the system calls it, where that is no text: a file's name is bytes, and need not be UTF-8.
    `label` is its name among the inputs of the run, for sessions that have none of their own: the same whatever lies
    beside it. `copies` are paths that hold the same bytes, and are not read.
    """

    number: int
    path: str
    named: bool = True
    real: str | None = None
    label: str = ""
    copies: tuple[str, ...] = ()
    _kept: list[_Spool] = field(default_factory=list, compare=False, repr=False)

    def open(self) -> IO[bytes]:
        """A new binary stream of its bytes as they stand on disk. Raises OSError."""
        path = self.real or self.path
        if remote.is_remote(path):
            return remote.opened(path)
        member = zips.parts(path)
        if member is not None:
            return zips.opened(*member)
        if not is_once(path):
            return open(path, "rb")  # noqa: PTH123
        if not self._kept:
            self._kept.append(_Spool(path))
        spool = os.fdopen(os.dup(self._kept[0].number), "rb")
        spool.seek(0)
        return spool


def is_once(path: str) -> bool:
    """Whether what the path names can be read once only: standard input, a pipe such as a shell's `<(...)`."""
    if path == STDIN:
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


class Stream:
    """The decompressed bytes of a source, as a binary stream that never raises in the middle.

    `problem` says after the end what stopped it early ("the gzip stream is cut"), else None.
    """

    def __init__(self, source: Source) -> None:
        """Raise InputError where the source cannot be opened."""
        self.problem: str | None = None
        try:
            self._file = source.open()
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror or error}", file=source.path) from error
        magic = self._file.read(4)
        self._file.seek(0)
        self._head = b""
        self._inner: IO[bytes] | Members | Transcoded = self._file
        for _ in range(_MOST_LAYERS):
            more = unpacked(Behind(self._head, self._inner), magic)
            if more is None:
                break
            self._inner, self._head = more, b""
            magic = self.peek(len(magic))
        if (encoding := wide(magic)) is not None:
            self._inner, self._head = Transcoded(Behind(self._head, self._inner), encoding), b""
        if self.peek(len(zips.MAGIC)) == zips.MAGIC and source.path.lower().endswith(_ZIPPED):
            self._file.close()
            raise InputError("a zip file inside another file is not opened", file=source.path, advice="unpack it")
        if self.peek(_TAR_AT + len(_TAR)).endswith(_TAR):
            self._file.close()
            raise InputError("a tar archive is not opened", file=source.path, advice="unpack it, or make a zip of it")

    @property
    def plain(self) -> IO[bytes] | None:
        """The file itself, where nothing has to be decompressed."""
        return self._file if self._inner is self._file else None

    def peek(self, size: int) -> bytes:
        """The first bytes, which `read` gives again."""
        while len(self._head) < size:
            piece = self._pull(size - len(self._head))
            if not piece:
                break
            self._head += piece
        return self._head[:size]

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._pull(size)

    def _pull(self, size: int) -> bytes:
        try:
            return self._inner.read(size) or b""
        except OSError as error:
            self.problem = f"the stream is broken: {error}"
        return b""

    def close(self) -> None:
        """Close the file; `problem` is final after it."""
        if isinstance(self._inner, Members) and self._inner.cut and self.problem is None:
            self.problem = "the compressed stream is cut"
        self._file.close()


class _Spool:
    """Standard input or a pipe as a private temporary file, so that evidence can be fetched by offset.

    It lasts as long as a source that was read from it; `number` is its file descriptor.
    """

    def __init__(self, path: str) -> None:
        """Read all of it. Raises OSError."""
        left = _SPOOL_LIMIT
        stdin = contextlib.nullcontext(sys.stdin.buffer)
        with tempfile.TemporaryFile() as file, stdin if path == STDIN else open(path, "rb") as stream:  # noqa: PTH123
            while left and (piece := stream.read(min(1 << 20, left))):
                file.write(piece)
                left -= len(piece)
            file.flush()
            self.number = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.number)


class _Readable(Protocol):
    """What records are read from by their place."""

    def seek(self, place: int, /) -> object: ...
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Evidence:
    """Raw bytes of records by offset, for the few that somebody looks at.

    Compressed sources are decompressed once into a private temporary file.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {source.number: source for source in sources}
        self._open: dict[int, _Readable] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch(self, source: int, offset: int, length: int) -> bytes:
        """The bytes of one record. Raises InputError where the source is not there any more."""
        file = self._open.get(source)
        if file is None:
            file = self._open[source] = self._plain(self._sources[source])
        file.seek(offset)
        return file.read(length)

    def _plain(self, source: Source) -> _Readable:
        stream = Stream(source)
        if stream.plain is not None:
            if stream.peek(len(PARQUET)) != PARQUET:
                return stream.plain
            from analyzer.read.sources.lakes import Texts

            return Texts(stream.plain)
        spool = tempfile.TemporaryFile()  # noqa: SIM115
        while piece := stream.read(1 << 20):
            spool.write(piece)
        stream.close()
        return spool

    def close(self) -> None:
        """Close what was opened."""
        for file in self._open.values():
            file.close()
        self._open.clear()
