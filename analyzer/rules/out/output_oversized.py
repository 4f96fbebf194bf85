"""A result is much larger than what can be read of it.

Wire: large outputs do not fit into a manual
What it says: an output of 100,000 characters or more: how large, and its share of all outputs of the turn. Once per
tool and session, the largest.
Why it matters: the model pays for every one of them, loses the few that matter, and has less room for the rest.
Bad:
    a result of get_order with the whole order history: 240,000 characters
Good:
    a result of get_order with the total and the state: 60 characters
Blind spots: what of it was read cannot be seen. Images are left out.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.results import standing
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace

LEAST = 100_000


def check(trace: Trace) -> pl.DataFrame:
    """The largest output of each tool in each session, where it is over the threshold."""
    results = standing(trace)
    large = results.filter(results["text"].str.len_bytes() >= LEAST)
    if large.is_empty():
        return NONE
    sizes = (
        results.select("result", "session", "turn", "tool", "text")
        .filter(pl.col("session").is_in(large["session"].unique().implode(), nulls_equal=True))
        .with_columns(size=pl.col("text").str.len_chars().cast(pl.Int64).fill_null(0))
        .with_columns(whole=pl.col("size").sum().over("session", "turn"))
    )
    return (
        sizes.filter(pl.col("size") >= LEAST)
        .sort("size", "result", descending=[True, False])
        .group_by("session", "tool", maintain_order=True)
        .agg(pl.col("result", "size", "whole").first(), pl.len().alias("count"))
        .sort("result")
        .select(
            "result",
            message=sentence(
                "The output has {} characters, {}% of all outputs of its turn; {} such of this tool in the session.",
                "size",
                (pl.col("size") * 100 // pl.col("whole")),
                "count",
            ),
            hint=pl.lit("Return the members that are asked for, or a page, and a way to ask for more."),
            keyword=pl.lit("size"),
        )
    )
