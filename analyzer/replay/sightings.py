"""Every showing of a call and of a result, with the digest of its text: what was folded into one row."""

from __future__ import annotations

import polars as pl

from analyzer.frames import SIGHTINGS


def sightings_of(call_sightings: pl.DataFrame, result_sightings: pl.DataFrame) -> pl.DataFrame:
    """SIGHTINGS of the frames with `call` and `result`; refused posts belong to no result and are not among them."""
    shown = [
        frame.filter(pl.col(what).is_not_null()).select(
            pl.lit(what).alias("what"),
            pl.col(what).alias("id"),
            "event",
            "seq",
            "stage",
            "pointer",
            digest=pl.col("text").hash(),
        )
        for what, frame in (("call", call_sightings), ("result", result_sightings))
    ]
    return pl.concat(shown).select(list(SIGHTINGS)).sort("what", "id", "seq", "event", "pointer")
