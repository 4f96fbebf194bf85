"""Settings that hold from the place where they are said until the next one says otherwise."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace


def held(trace: Trace, setting: str, left_out: pl.Expr) -> pl.DataFrame:
    """`session, seq` and the setting, a column of SESSION_STATES: from there on it holds. For a backward as-of join.

    A request says all of its settings: what it leaves out is `left_out`, whatever the one before it said. Elsewhere
    what is left out stays as it was.
    """
    requests = trace.events.filter(trace.events["kind"] == "request")["event"]
    whole = pl.col("event").is_in(requests.implode())
    said = pl.when(whole).then(pl.coalesce(setting, left_out)).otherwise(setting)
    return (
        trace.session_states.select("session", "seq", said.alias(setting))
        .filter(pl.col(setting).is_not_null())
        .sort("seq", "session")
        .unique(["session", "seq"], keep="last", maintain_order=True)
    )
