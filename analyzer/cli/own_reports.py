"""Reports of this program that lie among the logs: they are no logs that somebody failed to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_BEGINS = b'{"schema":"analyzer.'


def is_report(path: str) -> bool:
    """Whether a file begins as the JSON reports of this program do."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path that is no text raises ValueError in either
            return file.read(len(_BEGINS)) == _BEGINS
    except (OSError, ValueError):  # a part of an archive
        return False


def left_out(done: Audit, paths: Sequence[str]) -> Audit:
    """The same audit, with reports among what was left out of folders; one that `paths` name is told as no log."""
    own = [each for each in done.inputs if not each["format"] and each["path"] not in paths and is_report(each["path"])]
    if not own:
        return done
    rest = [each for each in done.inputs if each not in own]
    return replace(done, inputs=rest, unrecognised=[*done.unrecognised, *(each["path"] for each in own)])
