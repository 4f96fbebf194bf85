"""Files that hold the same bytes as another one: a copy that was left beside a log, or the log as it was packed.

Most wires give no record an id of its own, so that a second copy of a log would stand for sessions of its own, or for
results that came twice.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from analyzer.errors import InputError
from analyzer.read.sources import remote, zips
from analyzer.read.sources.files import Source, Stream, is_once
from analyzer.read.sources.packed import ENDINGS, plain_name

_HEAD = 1 << 12
_NOTHING = sha256().hexdigest()


def without_copies(sources: Sequence[Source]) -> list[Source]:
    """The sources, each with the copies of it that lie among them; those are left out. The lowest number is no copy.

    Looked at whole are only local files that begin alike, and have one size or are one name packed and unpacked. What
    is empty is no copy of anything.
    """
    alike: dict[tuple[object, bytes], list[Source]] = {}
    for source in sorted(sources, key=lambda each: each.number):
        for trait in _traits(source):
            alike.setdefault(trait, []).append(source)
    suspects = {each.number: each for same in alike.values() if len(same) > 1 for each in same}
    held: dict[str, list[Source]] = {}
    for number in sorted(suspects):
        found = digest(suspects[number])
        if found not in (None, _NOTHING):
            held.setdefault(found, []).append(suspects[number])
    copies = {first.number: tuple(each.path for each in rest) for first, *rest in held.values()}
    left_out = {each.number for _, *rest in held.values() for each in rest}
    return [
        replace(source, copies=copies.get(source.number, ())) for source in sources if source.number not in left_out
    ]


def _traits(source: Source) -> list[tuple[object, bytes]]:
    """What a copy of it would have in common with it: size and beginning, or name and beginning when unpacked."""
    path = source.real or source.path
    if is_once(path) or remote.is_remote(path) or zips.parts(path) is not None:
        return []
    try:
        state = os.stat(path)  # noqa: PTH116 - thousands of them
        if not stat.S_ISREG(state.st_mode) or not state.st_size:
            return []
        with open(path, "rb") as file:  # noqa: PTH123
            found: list[tuple[object, bytes]] = [(state.st_size, file.read(_HEAD))]
    except OSError:
        return []  # opening it again will say why not
    name = plain_name(path)
    if name != path or any(os.path.exists(path + ending) for ending in ENDINGS):  # noqa: PTH110
        found.append((name, b""))
    return found


def digest(source: Source) -> str | None:
    """The digest of the decompressed bytes as they are now; None where they cannot be read."""
    try:
        stream = Stream(source)
    except InputError:
        return None
    whole = sha256()
    while piece := stream.read(1 << 20):
        whole.update(piece)
    stream.close()
    return whole.hexdigest()
