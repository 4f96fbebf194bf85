"""Where a large session is cut into windows."""

from __future__ import annotations

import polars as pl

from analyzer.auditing.windows.seen import Keyed
from analyzer.frames import PART_BITS
from analyzer.read.spilled import large

_TORN = 1_000  # what it costs to cut a record, in open calls
_LEAST = 0.6  # of a window's weight


def cuts_of(events: pl.DataFrame, keyed: Keyed, weights: pl.Series) -> list[int]:
    """Where windows begin: where the fewest calls and turns are open, within a window's weight."""
    spans = [
        frame.group_by("key").agg(since=pl.col("seq").min() + 1, until=pl.col("seq").max() + 1)
        for frame in (
            *(keyed.shown.select("seq", key=name).drop_nulls() for name in ("pair", "item")),
            events.filter(pl.col("turn").is_not_null()).select("seq", key="turn"),
        )
    ]
    steps = [
        frame.filter(pl.col("since") < pl.col("until")).select(seq=side, step=pl.lit(step, pl.Int64))
        for frame in spans
        for side, step in (("since", 1), ("until", -1))
    ]
    record = pl.col("event") // (1 << PART_BITS)
    torn = events.sort("seq").filter(record == record.shift(1)).select("seq")
    steps += [torn.select("seq", step=pl.lit(_TORN, pl.Int64)), torn.select(seq=pl.col("seq") + 1, step=pl.lit(-_TORN))]
    open_ = pl.concat([frame.cast({"step": pl.Int64}) for frame in steps]).group_by("seq").agg(pl.col("step").sum())
    open_ = open_.sort("seq").with_columns(pl.col("step").cum_sum())
    seqs, depth = open_["seq"], open_["step"]
    cuts, end = [0], weights.len()
    while True:
        before = weights[cuts[-1] - 1] if cuts[-1] else 0.0
        most = max(weights.search_sorted(before + large.WINDOW, side="right"), cuts[-1] + 1)
        if most >= end:
            return [*cuts, end]
        least = max(weights.search_sorted(before + large.WINDOW * _LEAST), cuts[-1] + 1)
        since, until = seqs.search_sorted(least), seqs.search_sorted(most, side="right")
        near = depth.slice(since, until - since)
        best = near.reverse().arg_min()  # the last of equally good ones
        cuts.append(most if best is None else seqs[until - 1 - best])
