"""One fault, one finding: where several rules see the same fault, the one that explains it best reports."""

from __future__ import annotations

import polars as pl

# Of each chain the first that speaks of a thing silences the rest about it; an info silences nobody and is not
# silenced.
CHAINS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("call", ("ARG002", "ARG003", "ARG005", "ARG004", "ARG006", "ARG001")),
    ("result", ("CALL007", "CALL008", "CALL006", "CALL005")),
    ("result", ("OUT001", "OUT002", "OUT005", "OUT003", "OUT004", "OUT009")),
    ("result", ("OUT006", "OUT005", "OUT003", "OUT004", "OUT009")),
    ("call", ("CALL007", "CALL004")),
    ("result", ("CALL006", "CALL017")),
)


def settle(hits: pl.DataFrame) -> pl.DataFrame:
    """HITS without those that another rule explains better."""
    rules = set(hits["rule"].unique())
    for key, chain in CHAINS:
        ranks = {code: rank for rank, code in enumerate(chain)}
        if len(ranks.keys() & rules) < 2:
            continue
        mine = pl.col(key).is_not_null() & (pl.col("severity") != "info")
        rank = pl.when(mine).then(pl.col("rule").replace_strict(ranks, default=None, return_dtype=pl.Int64))
        best = pl.col("rank").is_null() | (pl.col("rank") == pl.col("rank").min().over(key))
        told = hits.select(key, rank=rank).select(best).to_series()
        hits = hits if told.all() else hits.filter(told)  # to filter is to hold them twice
    return _request_shapes(hits)


def settle_across(found: pl.DataFrame, fleet: pl.DataFrame, misdirected: pl.DataFrame) -> pl.DataFrame:
    """FINDINGS of single sessions without the two ends of a result that CALL007 has found in another session."""
    told = fleet.filter(pl.col("rule") == "CALL007").select("session", "call_id")
    if told.is_empty():
        return found
    pairs = misdirected.join(told, on=["session", "call_id"], how="semi")
    results = pairs.select("session", "call_id", rule=pl.lit("CALL005"))
    calls = pairs.select("call_id", session="home_session", rule=pl.lit("CALL004")).select(results.columns)
    silenced = pl.concat([results, calls]).unique(maintain_order=True)
    return found.join(silenced, on=["session", "call_id", "rule"], how="anti", maintain_order="left")


def _request_shapes(hits: pl.DataFrame) -> pl.DataFrame:
    """LOG010 speaks only of what no other rule explains."""
    shapes = hits["rule"] == "LOG010"
    if not shapes.any():
        return hits
    # What is wrong with a tool in a request says nothing about the request's own shape.
    explaining = pl.col("rule").str.contains("^(?:ARG|CALL|OUT)")
    explained = hits.filter(~shapes).filter(explaining).select("event").drop_nulls().unique()
    return pl.concat([hits.filter(~shapes), hits.filter(shapes).join(explained, on="event", how="anti")])
