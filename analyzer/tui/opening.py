"""Cases: of a saved audit, and of one just made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from analyzer import frames
from analyzer.errors import InputError
from analyzer.report.untold import Untold
from analyzer.tui.case import Case

if TYPE_CHECKING:
    from analyzer.auditing import Audit


def open_saved(path: str) -> Case:
    """A saved audit, of which nothing is read yet but its summary. Raises InputError."""
    folder = Path(path)
    try:
        kept = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        summary, inputs = kept["summary"], kept["inputs"]
        rest = (kept.get(name) or () for name in ("unrecognised", "problems", "notes"))
        untold = Untold.told(inputs, *rest)
        crashed = [_crashed(rule, trouble) for rule, trouble in kept.get("crashed") or ()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"not a saved audit: {error}", file=path) from error

    def scan(name: str) -> pl.LazyFrame:
        schema = frames.SAVED.get(name)
        file = folder / f"{name}.parquet"
        if file.is_file():
            return pl.scan_parquet(file, glob=False)
        return (schema or pl.Schema({})).to_frame().lazy()

    return Case(path, scan, summary, inputs, untold=untold, crashed=crashed, folder=folder)


def of_audit(title: str, audit: Audit) -> Case:
    """The case of an audit just made."""

    def scan(name: str) -> pl.LazyFrame:
        if name == "findings":
            return audit.findings.lazy()
        frame = audit.frames.get(name)
        return (frames.SAVED[name].to_frame() if frame is None else frame).lazy()

    crashed = [_crashed(rule, error) for rule, error in audit.crashed]
    return Case(title, scan, audit.summary, audit.inputs, untold=Untold.of(audit), crashed=crashed)


def _crashed(rule: str, trouble: str) -> str:
    return f"the rule {rule} crashed: {trouble}"
