"""What a command that holds all frames in memory says of large logs, before it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

_LARGE = 1 << 30  # bytes of logs from which on their frames are worth a word
_PACKED = 8  # times as long is what a compressed log holds, about
_ENDINGS = (".gz", ".zst", ".zip", ".eval")


def warning(what: str, paths: Sequence[str]) -> str:
    """What there is to say of the memory that `what` takes for these logs; "" where they are not large."""
    size = sum(_sizes(paths))
    if size < _LARGE:
        return ""
    return (
        f"about {size / 1e9:.1f} GB of logs, and {what} holds all of their frames in memory, 1.2 GB for a million "
        "events: a part of them, or --session, takes less"
    )


def _sizes(paths: Sequence[str]) -> Iterable[int]:
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - thousands of files: no object for each
            for folder, _, names in os.walk(path):
                yield from (_size(os.path.join(folder, name)) for name in names)  # noqa: PTH118 - as above
        else:
            yield _size(path)


def _size(file: str) -> int:
    try:
        size = os.stat(file).st_size  # noqa: PTH116 - as above
    except OSError:  # is told by whoever reads it
        return 0
    return size * (_PACKED if file.endswith(_ENDINGS) else 1)
