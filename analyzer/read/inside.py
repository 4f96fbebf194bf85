"""Records that stood inside others: where evidence of them can lead, and the time that stood beside them."""

from __future__ import annotations

import polars as pl

from analyzer.frames import PART_BITS, Frames
from analyzer.read.columns import times

Stood = tuple[int, str, bool, str | float | None]
"""A record's number in the run, the pointer to it or to the text that holds it, whether that is a text, and a time."""


def placed(frames: Frames, stood: list[Stood]) -> Frames:
    """The recorded frames with events that lead to the text that holds them, and with the collector's times.

    Nothing leads further into a text: pointers relative to such an event are empty, those of tool tables null.
    """
    if not stood:
        return frames
    record, pointer, opaque, when = zip(*stood, strict=True)
    places = pl.DataFrame(
        {"_record": record, "_to": pointer, "_opaque": opaque},
        {"_record": pl.Int64, "_to": pl.String, "_opaque": pl.Boolean},
    )
    places = places.with_columns(times(list(when)).alias("_when"))
    inside = pl.col("_opaque").fill_null(value=False)
    made = dict(frames)
    for name, frame in frames.items():
        if "pointer" not in frame.columns or frame.is_empty():
            continue
        found = frame.with_columns(_record=pl.col("event") // (1 << PART_BITS))
        found = found.join(places, on="_record", how="left", maintain_order="left")
        to = {"events": pl.col("_to"), "showings": pl.lit(None, pl.String)}.get(name, pl.lit(""))
        found = found.with_columns(pointer=pl.when(inside).then(to).otherwise("pointer"))
        if name == "events":
            found = found.with_columns(time=pl.coalesce("time", "_when"))
        made[name] = found.select(frame.columns)
    return made
