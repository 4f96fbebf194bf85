"""Records that do not say whose they are, and belong to what was recorded before them."""

from __future__ import annotations

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS, Frames


def owned(frames: Frames, last: tuple[int, str | None]) -> Frames:
    """The recorded frames with the sessions of gate records that name none; `last` is the event before all of them.

    That of the call of the record's call id that was shown last, else that of the event before it, in its source: what
    other sources hold may be read in another process.
    """
    source = pl.col("event") // (1 << RECORD_BITS + PART_BITS)
    missing = frames["gates"].filter(pl.col("session").is_null())
    missing = missing.select("event", "call_id", source=source).sort("event")
    shown = frames["call_sightings"].select("event", "call_id", of_call="session", source=source).drop_nulls()
    before = frames["events"].select("event", of_event="session").drop_nulls()
    if last[1] is not None:
        before = pl.concat([pl.DataFrame([last], before.schema, orient="row"), before])
    found = (
        missing.join_asof(shown.sort("event"), on="event", by=["source", "call_id"], check_sortedness=False)
        .join_asof(before.with_columns(source=source), on="event", by="source", check_sortedness=False)
        .select("event", session=pl.coalesce("of_call", "of_event"))
    )
    filled = {}
    for name in ("events", "gates"):
        frame = frames[name].join(found, on="event", how="left", suffix="_found", maintain_order="left")
        filled[name] = frame.with_columns(pl.coalesce("session", "session_found").alias("session")).drop(
            "session_found"
        )
    return {**frames, **filled}
