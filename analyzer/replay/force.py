"""Which schema was in force: for every call and every result the offers that may have held at the model call."""

from __future__ import annotations

import polars as pl

_KEY = ("session", "tool")
#: What holds for the calls of tools that were never offered.
_NEVER = {
    "state": pl.lit("never"),
    **{name: pl.lit(None, pl.String) for name in ("schema_id", "channel")},
    **{name: pl.lit(None, pl.Boolean) for name in ("strict", "deferred", "async")},
    "window": pl.lit("exact"),
    **{name: pl.lit(None, pl.String) for name in ("other_state", "other_schema")},
    "offer_event": pl.lit(None, pl.Int64),
    "offer_pointer": pl.lit(None, pl.String),
}


def in_force(calls: pl.DataFrame, offers: pl.DataFrame, role: str) -> pl.DataFrame:
    """One row per call, in its order.

    `state` (offered, withdrawn, never), `schema_id`, `channel`, `offer_event`, `offer_pointer`, `deferred`, `async`,
    `window` and, where the call lies between two snapshots that differ, `other_state` and `other_schema`: what the
    later one says.
    """
    offers = offers.filter(pl.col("role") == role).sort("since")
    if offers.is_empty():
        return calls.select("call", **_NEVER).sort("call")
    wanted = calls.select("call", *_KEY, "seq").sort("seq")
    columns = ("state", "schema_id", "channel", "event", "pointer", "strict", "deferred", "async")
    held = wanted.join_asof(
        offers.select(*_KEY, *columns, seq="since"),
        on="seq",
        by=list(_KEY),
        strategy="backward",
        check_sortedness=False,
    )
    later = offers.filter(~pl.col("exact")).select(
        *_KEY, "after", *(pl.col(name).alias(f"other_{name}") for name in columns), since="since", seq="since"
    )
    held = held.join_asof(
        later,
        on="seq",
        by=list(_KEY),
        strategy="forward",
        check_sortedness=False,
        allow_exact_matches=False,
    )
    # Between the last snapshot that says the one and the first that says the other, nobody knows which.
    between = pl.col("since").is_not_null() & (pl.col("after").is_null() | (pl.col("after") < pl.col("seq")))
    known = pl.col("state").is_not_null()
    # Before the first snapshot of all the later one is all there is to judge by.
    alone = between & ~known
    return (
        held.with_columns(between=between, alone=alone)
        .with_columns(
            window=pl.when("between").then(pl.lit("bracketed")).otherwise(pl.lit("exact")),
            state=pl.when("alone").then("other_state").otherwise(pl.col("state").fill_null("never")),
            **{name: pl.when("alone").then(f"other_{name}").otherwise(name) for name in columns if name != "state"},
            other_state=pl.when(pl.col("between") & known).then("other_state"),
            other_schema=pl.when(pl.col("between") & known).then("other_schema_id"),
        )
        .select(
            *("call", "state", "schema_id", "channel", "strict", "deferred", "async", "window"),
            *("other_state", "other_schema"),
            offer_event="event",
            offer_pointer="pointer",
        )
        .sort("call")
    )
