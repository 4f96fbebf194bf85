"""Where a command writes: never over what it reads, for a recording is evidence and there may be no other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from analyzer.errors import InputError, UsageError

_OPTIONS = ("output", "bundle", "write_baseline", "save")


def of(parameters: dict[str, Any]) -> Iterable[str]:
    """The files that the parameters of a command have it write."""
    from analyzer.cli.reports import asked

    yield from (parameters[name] for name in _OPTIONS if parameters.get(name))
    outputs = parameters.get("outputs")
    yield from (report.file for report in asked(outputs, None, "text") if report.file) if outputs else ()


def check(targets: Iterable[str], read: Sequence[str]) -> None:
    """Raise UsageError where a target is a file that is read, or a log in a folder that is searched."""
    given = [Path(each).resolve() for each in read]
    for target in targets:
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
