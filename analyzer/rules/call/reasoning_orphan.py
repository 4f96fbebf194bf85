"""A reasoning item was resent without the item that must follow it.

Wire: Responses

What it says: in the input of a request a reasoning item is the last one, or is followed by a result or a message of the
user instead of the call or message it was made for.
Why it matters: the API refuses the request, and goes on refusing as long as the history holds the item.
Bad:
    input: reasoning rs_1, function_call_output call_1
Good:
    input: reasoning rs_1, function_call call_1, function_call_output call_1
Blind spots: a call that was resent without its reasoning cannot be told from one that had none. Reasoning that is kept
encrypted by the client may be dropped by the server without an error.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.order import record_of
from analyzer.trace import Trace

_FOLLOWERS = r"_call$|^message$|^reasoning$|^program$"


def check(trace: Trace) -> pl.DataFrame:
    """Reasoning items of a request's input whose next item is none that reasoning leads to."""
    index = pl.col("pointer").str.extract(r"/input/(\d+)$").cast(pl.Int64, strict=False)
    by_user = (
        trace.messages.filter(pl.col("role").is_in(["user", "system", "developer"]))
        .select("event", user=pl.lit(value=True))
        .unique()
    )
    items = (
        trace.events.filter(pl.col("kind") == "item")
        .select("session", "event", "pointer", "type", record=record_of("event"), index=index)
        .filter(pl.col("index").is_not_null())
        .join(by_user, on="event", how="left")
        .sort("record", "index", "event")
        .with_columns(
            follower=pl.col("type").shift(-1).over("record"),
            user=pl.col("user").shift(-1).over("record"),
            following=pl.col("index").shift(-1).over("record"),
        )
    )
    lawful = pl.col("follower").str.contains(_FOLLOWERS) & pl.col("user").is_null()
    # What was resent unchanged may have left no event, so only the very next item counts.
    lawful |= pl.col("following") > pl.col("index") + 1
    found = items.filter(pl.col("type") == "reasoning", ~lawful.fill_null(value=False)).sort("event")
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": "",
            "keyword": "follower",
            "message": f"A reasoning item is resent without the item it was made for: "
            f"{_next(row['follower'])} comes next.",
            "hint": "Resend a reasoning item together with the call or message that followed it, or drop both.",
        }
        for row in found.iter_rows(named=True)
    )


def _next(follower: str | None) -> str:
    return "nothing" if follower is None else f"an item of type {follower}"
