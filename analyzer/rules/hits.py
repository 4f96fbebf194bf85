"""Hits made row by row, where a rule has looked at its few candidates in Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from analyzer import frames


def hits(rows: Iterable[dict[str, Any]]) -> pl.LazyFrame:
    """The rows as a frame of HITS; columns that a row leaves out are null."""
    return pl.DataFrame(list(rows), schema=frames.HITS).lazy()


def place(event: int | None, pointer: str | None, role: str, call_id: str | None = None) -> dict[str, Any]:
    """One entry of `related`."""
    return {"event": event, "pointer": pointer, "call_id": call_id, "role": role}
