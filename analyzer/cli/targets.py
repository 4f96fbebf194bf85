"""Where a command writes: never over what it reads, for a recording is evidence and there may be no other.

And where it can: that is found out before the audit that somebody would wait for in vain.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from analyzer.errors import InputError, UsageError

_FILES = ("output", "bundle", "write_baseline")


def of(parameters: dict[str, Any]) -> Iterable[str]:
    """The files that the parameters of a command have it write."""
    from analyzer.cli.reports import asked

    yield from (parameters[name] for name in _FILES if parameters.get(name))
    outputs = parameters.get("outputs")
    yield from (report.file for report in asked(outputs, None, "text") if report.file) if outputs else ()


def check(parameters: dict[str, Any], read: Sequence[str]) -> None:
    """Raise UsageError where a file to write is one that is read, a log in a folder that is searched, or cannot be.

    It is better said now than after the audit.
    """
    files, folder = list(of(parameters)), parameters.get("save")
    for target in files:
        _writable(target)
    if folder:
        _fillable(folder)
    given = [Path(each).resolve() for each in read]
    for target in [*files, *([folder] if folder else [])]:
        file = Path(target).resolve()
        if file.is_file() and (file in given or (any(map(file.is_relative_to, given)) and _log(file))):
            raise UsageError("what is read would be written over: name another file", file=target)


def _log(file: Path) -> bool:
    """Whether the readers know it: a report of the last run, which may lie among the logs, they do not."""
    from analyzer.read.tried import tried

    try:
        return bool(tried(str(file)).format)
    except InputError:
        return False


def _writable(target: str) -> None:
    """Raise UsageError where no file of this name can be made or replaced."""
    file = Path(target)
    if file.is_dir():
        raise UsageError("cannot write: it is a folder", file=target, advice="name a file in it")
    if not file.parent.is_dir():
        what = "is no folder" if file.parent.exists() else "is not there"
        raise UsageError(f"cannot write: {file.parent} {what}", file=target, advice="make its folder first")
    # A device or a pipe is written to, a file is replaced, for which its folder counts.
    if not os.access(file if file.exists() and not file.is_file() else file.resolve().parent, os.W_OK):
        raise UsageError("cannot write: permission denied", file=target)


def _fillable(folder: str) -> None:
    """Raise UsageError where there can be no folder of this name with files in it."""
    there = next(each for each in (Path(folder), *Path(folder).absolute().parents) if each.exists())
    if not there.is_dir():
        raise UsageError(f"cannot save: {there} is no folder", file=folder)
    if not os.access(there, os.W_OK):
        raise UsageError("cannot save: permission denied", file=folder)
