"""The sightings of calls and results by their stage: most rules ask for one that most logs do not have."""

from __future__ import annotations

from typing import Literal

import polars as pl

from analyzer.trace import Trace, shared


@shared
def staged(trace: Trace, frame: Literal["call_sightings", "result_sightings"], stage: str) -> pl.DataFrame:
    """The rows of this stage, in their order."""
    sightings: pl.DataFrame = getattr(trace, frame)
    if not trace.holds(f"{frame}.stage={stage}"):
        return sightings.clear()
    mine = sightings["stage"] == stage
    return sightings if mine.all() and not mine.null_count() else sightings.filter(mine)
