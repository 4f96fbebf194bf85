"""The inputs of a night: which there are, and whether they are still what was audited."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from analyzer.errors import InputError
from analyzer.read.sources import remote, zips
from analyzer.read.sources.copies import without_copies
from analyzer.read.sources.files import Source
from analyzer.read.sources.finding import find

_NANO = 1e9


@dataclass(frozen=True)
class Input:
    """An input as it lies there now."""

    source: Source
    identity: str
    """Size, time and inode of the file, or what an object store says instead."""
    size: int
    """Bytes on disk, of a member its share of the file."""
    modified: float
    """Seconds since 1970."""


def inputs_of(
    paths: Sequence[str],
    known: Mapping[str, int],
    *,
    store: str,
    since: datetime | None = None,
    until: datetime | None = None,
) -> tuple[list[Input], list[InputError]]:
    """The inputs that the paths name and that were last written in [since, until), in the order they are found.

    `known` numbers stay what they are; a new path is numbered behind them. What does not exist comes back as errors.
    What lies in the store is no input, though the store lie among the logs.
    """
    found, errors = find(paths)
    own_files = os.path.realpath(store) + os.sep
    found = [each for each in found if not os.path.realpath(each.real or each.path).startswith(own_files)]
    names = [each.real or each.path for each in found]
    files = [(zips.parts(name) or (name, ""))[0] for name in names]
    members = Counter(files)
    number = max(known.values(), default=-1) + 1
    inputs = []
    for source, file in zip(found, files, strict=True):
        try:
            identity, size, modified = _on_disk(file) if not remote.is_remote(file) else remote.state(file)
        except OSError as error:
            errors.append(InputError(f"cannot read: {error.strerror or error}", file=source.path))
            continue
        if (since and modified < since.timestamp()) or (until and modified >= until.timestamp()):
            continue
        own = known.get(source.path)
        if own is None:
            own, number = number, number + 1
        inputs.append(Input(replace(source, number=own), identity, size // members[file], modified))
    read = {each.number: each for each in without_copies([each.source for each in inputs])}
    return [replace(each, source=read[each.source.number]) for each in inputs if each.source.number in read], errors


def _on_disk(file: str) -> tuple[str, int, float]:
    state = os.stat(file)  # noqa: PTH116 - thousands of them
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ino}", state.st_size, state.st_mtime_ns / _NANO
