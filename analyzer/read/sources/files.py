"""Find the logs that paths name, and open them as plain byte streams."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import IO, Protocol, Self

from analyzer.errors import InputError
from analyzer.read.sources import remote, zips
from analyzer.read.sources.archives import PARQUET
from analyzer.read.sources.transport import Transcoded, utf16

STDIN = "-"
_LOGS = (".jsonl", ".ndjson", ".sse")
_ENDINGS = (*_LOGS, ".json", ".log", ".txt")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_TAR, _TAR_AT = b"ustar", 257
#: A compressed stream of more than so many bytes, and so many times its size, is a bomb: gzip itself ends near 1,030.
FREE_BYTES, MOST_TIMES = 1 << 30, 1_000
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


def find(paths: Sequence[str]) -> tuple[list[Source], list[InputError]]:
    """The inputs that the paths name, folders searched in name order; what does not exist comes back as errors."""
    found: list[Source] = []
    errors: list[InputError] = []
    seen: set[str] = set()
    labels: set[str] = set()
    for path in paths:
        try:
            new = list(_walk(path, errors))
        except OSError as error:
            errors.append(InputError(f"cannot read: {error.strerror or error}", file=path))
            continue
        for name, named in _members(new, errors):
            real = name if name == STDIN or remote.is_remote(name) else os.path.realpath(name)
            if real not in seen:  # the same file given twice is one log
                seen.add(real)
                label = label_of(name, path)
                other = (f"{label}-{nth}" for nth in count(2))
                while label in labels:
                    label = next(other)
                labels.add(label)
                found.append(replace(source(len(found), name, named=named or is_log(name)), label=label))
    return found, errors


def label_of(name: str, root: str) -> str:
    """Where an input lies below the path that was given, without what the ending says of its kind."""
    root = root if remote.is_remote(root) or root == STDIN else str(Path(root))
    below = name if root == "." else name.removeprefix(root).lstrip("/")
    label = below or name.rpartition("/")[2] if name != STDIN else "stdin"
    for ending in (".gz", ".zst", *_ENDINGS):
        label = label.removesuffix(ending)
    return label or name


def is_log(name: str) -> bool:
    """Whether a file's name ends like a log's: what nobody recognises of such a file is told, wherever it lies."""
    return name.lower().removesuffix(".gz").removesuffix(".zst").endswith(_LOGS)


def source(number: int, name: str, *, named: bool) -> Source:
    """The input that the system calls `name`: shown as text, the bytes that are none escaped."""
    path = os.fsencode(name).decode("utf-8", "backslashreplace")
    return Source(number, path, named, None if path == name else name)


def _members(found: list[tuple[str, bool]], errors: list[InputError]) -> Iterator[tuple[str, bool]]:
    """The paths with zip files opened up: each member is an input."""
    for name, named in found:
        if remote.is_remote(name) or zips.parts(name) is not None or is_once(name):
            yield name, named
            continue
        try:
            with open(name, "rb") as file:  # noqa: PTH123
                zipped = file.read(len(zips.MAGIC)) == zips.MAGIC
        except OSError:
            yield name, named  # opening it again will say why not
            continue
        try:
            yield from ((f"{name}!{member}", False) for member in zips.members(name)) if zipped else [(name, named)]
        except OSError as error:
            errors.append(InputError(f"cannot read: {error}", file=name))


def _walk(path: str, errors: list[InputError]) -> Iterator[tuple[str, bool]]:
    if path == STDIN:
        yield STDIN, True
        return
    if remote.is_remote(path):
        yield from remote.walk(path)
        return
    if zips.parts(path) is not None:
        yield path, True
        return
    if not stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116
        yield path, True
        return

    def fail(error: OSError) -> None:  # what lies beside it is read all the same
        errors.append(InputError(f"cannot read: {error.strerror or error}", file=str(error.filename or path)))

    for folder, folders, files in os.walk(path, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            whole = Path(folder) / name
            try:
                found = not name.startswith(".") and whole.is_file()
            except OSError as error:
                fail(error)
                continue
            if found:
                yield str(whole), False
            elif not name.startswith(".") and whole.is_symlink() and not whole.exists():
                errors.append(InputError("cannot read: a link that leads to no file", file=str(whole)))


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
        self._inner: IO[bytes] | _Members | Transcoded = self._file
        if magic.startswith(_GZIP):
            self._inner = _Members(self._file, _gzip_member, 1 << 16)
        elif magic == _ZSTD:
            self._inner = _Members(self._file, _zstd_frame, 1 << 11)
        elif (encoding := utf16(magic)) is not None:
            self._inner = Transcoded(self._file, encoding)
        self._head = b""
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
        if isinstance(self._inner, _Members) and self._inner.cut and self.problem is None:
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


class _Members:
    """All members of a gzip file or frames of a zstd file, one after the other.

    `cut` is true where the last one has no end. They are fed by hand: the libraries' readers end silently inside a cut
    frame, or lose what they had of it. The pieces are so small that a bomb makes at most some 64 MB of each.
    """

    def __init__(self, file: IO[bytes], make: Callable[[], _Member], piece: int) -> None:
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
