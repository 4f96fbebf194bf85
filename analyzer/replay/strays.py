"""Results without a call, and calls without a result: what a session lost may have gone to another one."""

from __future__ import annotations

import polars as pl

from analyzer.frames import STRAYS
from analyzer.trace import of_rows

#: The wire whose sessions are named by their server: elsewhere, what is one session is inferred.
_NAMED = "openai-agents-api"


def strays_of(calls: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """STRAYS of these sessions, in the order of calls and then of results."""
    mine = (pl.col("wire") == _NAMED) & (pl.col("call_id").str.strip_chars() != "")
    # Only what was a required action waits for a post.
    open_calls = calls.filter(mine & pl.col("result").is_null() & pl.col("action_seq").is_not_null())
    orphans = results.filter(mine & pl.col("call").is_null())
    columns = ("session", "turn", "call_id", "tool", "event", "pointer")
    return pl.concat(
        [
            open_calls.select(pl.lit("call").alias("what"), *columns, stage=pl.lit(None, pl.String)),
            orphans.select(pl.lit("result").alias("what"), *columns, "stage"),
        ]
    )[list(STRAYS)]


@of_rows
def misdirected(strays: pl.DataFrame) -> pl.DataFrame:
    """The stray results whose call waits in exactly one other session, with the columns of the call as `home_*`."""
    waiting = strays.filter(pl.col("what") == "call").filter(pl.len().over("call_id") == 1)
    homes = waiting.select(
        "call_id", *(pl.col(name).alias(f"home_{name}") for name in waiting.columns[1:] if name != "call_id")
    )
    found = strays.filter(pl.col("what") == "result").join(homes, on="call_id", maintain_order="left")
    return found.filter(pl.col("session") != pl.col("home_session")).sort("event", "pointer")
