"""Hits made row by row, where a rule has looked at its few candidates in Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from analyzer import frames

#: What a rule returns that finds nothing.
NONE = frames.HITS.to_frame()
#: HITS of which it is said whose they are.
NAMED = pl.Schema({"rule": pl.String(), "slug": pl.String(), **frames.HITS})
NONE_NAMED = NAMED.to_frame()


def hits(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """The rows as a frame of HITS; columns that a row leaves out are null."""
    found = list(rows)
    return pl.DataFrame(found, schema=frames.HITS) if found else NONE


def joined(*found: pl.DataFrame) -> pl.DataFrame:
    """What several looks of a rule have found, in one frame."""
    told = [each for each in found if each.height]
    return pl.concat(told, how="diagonal") if told else NONE


def place(event: int | None, pointer: str | None, role: str, call_id: str | None = None) -> dict[str, Any]:
    """One entry of `related`."""
    return {"event": event, "pointer": pointer, "call_id": call_id, "role": role}
