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
    if not (standing(trace)["text"].str.len_bytes() >= LEAST).any():
        return NONE
    return told(places(trace))


def places(trace: Trace) -> pl.DataFrame:
    """By session, turn and tool: the largest result and its `size`, the `count` of large ones, the `sum` of all."""
    size = pl.col("text").str.len_chars().cast(pl.Int64).fill_null(0)
    return (
        standing(trace)
        .select("session", "turn", "tool", "result", size=size)
        .sort("size", "result", descending=[True, False])
        .group_by("session", "turn", "tool", maintain_order=True)
        .agg(pl.first("result", "size"), count=(pl.col("size") >= LEAST).sum().cast(pl.Int64), sum=pl.sum("size"))
    )


def told(places: pl.DataFrame) -> pl.DataFrame:
    """The hits of `places`, which may come from several parts of a session, one after the other."""
    return (
        places.with_columns(whole=pl.col("sum").sum().over("session", "turn"))
        .filter(pl.col("count") > 0)
        .sort("size", "result", descending=[True, False])
        .group_by("session", "tool", maintain_order=True)
        .agg(pl.first("result", "size", "whole"), pl.sum("count"))
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
