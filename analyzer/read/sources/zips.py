"""Zip files of logs (`.eval` and others): members as inputs of their own, named `x.eval!samples/1.json`.

Nothing is unpacked under its own name: a member is spooled into a private, nameless file, so its path can lead nowhere.
Its size is limited whatever the archive's directory says of it.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import IO

MAGIC = b"PK\x03\x04"
_MOST_MEMBERS = 200_000
_MOST_BYTES = 4 << 30  # of one member, decompressed
_FREE_BYTES, _MOST_TIMES = 1 << 30, 1_000  # of all members, and how many times the file's own size beyond that
_BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError)
_SAMPLES = "samples/"


def members(path: str) -> list[str]:
    """The logs in a zip file, in name order; of an evaluation its samples alone. Raises OSError where it is broken."""
    try:
        with zipfile.ZipFile(path) as archive:
            listed = archive.infolist()
    except _BROKEN as error:
        raise OSError(f"no readable zip file: {error}") from error
    if len(listed) > _MOST_MEMBERS:
        raise OSError(f"the zip file has {len(listed)} members, the limit is {_MOST_MEMBERS}")
    size, whole = sum(each.file_size for each in listed), Path(path).stat().st_size
    if size > _FREE_BYTES and size > whole * _MOST_TIMES:  # members may lie over each other
        raise OSError(
            f"its members have {size} bytes, more than {_MOST_TIMES} times its own {whole}, which is the limit"
        )
    names = sorted({each.filename for each in listed if each.filename and not each.is_dir()})
    samples = [name for name in names if name.startswith(_SAMPLES) and name.endswith(".json")]
    return samples or names


def parts(path: str) -> tuple[str, str] | None:
    """The zip file and the member that a path names; None for any other path."""
    if "!" not in path or os.path.exists(path):  # noqa: PTH110 - a name too long for a file is no error here
        return None
    end = path.find("!")
    while end >= 0:
        if os.path.isfile(path[:end]):  # noqa: PTH113
            return path[:end], path[end + 1 :]
        end = path.find("!", end + 1)
    return None


def opened(path: str, member: str) -> IO[bytes]:
    """The decompressed bytes of a member. Raises OSError where it is not there, broken, or larger than the limit."""
    with ExitStack() as stack:
        spool = stack.enter_context(tempfile.TemporaryFile())
        size = 0
        try:
            with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
                while piece := stream.read(1 << 20):
                    size += len(piece)
                    if size > _MOST_BYTES:
                        raise OSError(f"the member is larger than {_MOST_BYTES} bytes")
                    spool.write(piece)
        except KeyError as error:
            raise OSError("the zip file has no such member") from error
        except _BROKEN as error:
            raise OSError(f"the member is broken: {error}") from error
        spool.seek(0)
        stack.pop_all()  # it lives as long as the stream
        return spool
