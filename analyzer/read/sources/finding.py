"""Find the logs that paths name: files, members of zip files, objects of a store, all that lies in a folder."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from analyzer.errors import InputError
from analyzer.read.sources import packed, remote, zips
from analyzer.read.sources.files import STDIN, Source, is_once

_LOGS = (".jsonl", ".ndjson", ".sse")
_ENDINGS = (*_LOGS, ".json", ".log", ".txt")
_ROTATED = re.compile(
    r"(?P<base>.+\.(?:log|jsonl|ndjson|sse|json|txt))[.-](?:(?P<number>\d{1,4})|(?P<date>\d{4}-?\d{2}[\d_T:-]*))(?:\.(?:gz|zst))?"
)


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
    for ending in (*packed.ENDINGS, *_ENDINGS):
        label = label.removesuffix(ending)
    return label or name


def is_log(name: str) -> bool:
    """Whether a file's name ends like a log's: what nobody recognises of such a file is told, wherever it lies."""
    return packed.plain_name(name.lower()).endswith(_LOGS)


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


def _written(name: str) -> tuple[str, int, int, str]:
    """What sorts the files of a folder by name, and those that a log was rotated into before it, the oldest first."""
    rotated = _ROTATED.fullmatch(name)
    if rotated is None:
        return name, 2, 0, ""
    base, number, date = rotated.group("base", "number", "date")
    return (base, 0, -int(number), name) if date is None else (base, 1, 0, name)


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
        for name in sorted(files, key=_written):
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
