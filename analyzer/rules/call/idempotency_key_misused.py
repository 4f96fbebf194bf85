"""An idempotency key does not stand for one request.

What it says: one key was sent with two different bodies, or one result was posted again under a new key though the
first post had been accepted.
Why it matters: under a used key the server answers with the old outcome, and the new body is lost. Under a new key the
same result counts twice.
Bad:
    tool reserve {"type":"object"}
    turn
    call c1 reserve {"seat":"4C"}
    exchange k1 202 c1 ok code R1
    call c2 reserve {"seat":"5A"}
    exchange k1 202 c2 ok code R2
    end
Good:
    tool reserve {"type":"object"}
    turn
    call c1 reserve {"seat":"4C"}
    exchange k1 400 c1 ok code R1
    exchange k1 202 c1 ok code R1
    end
Blind spots: only keys that were recorded, and only those of posted results and messages.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.rules.order import record_of
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Keys with several bodies, then results with several keys."""
    posts = (
        trace.result_sightings.filter(pl.col("key").is_not_null(), pl.col("stage") == "post")
        .sort("event")
        .with_columns(
            record=record_of("event"),
            body=pl.struct("turn", "pair_id", "success", "error", "text", "container"),
        )
    )
    messages = trace.messages.filter(pl.col("key").is_not_null()).select(
        "session", "key", "event", call_id=pl.lit(None, pl.String), record=record_of("event"), told="text"
    )
    return pl.concat([_two_bodies(posts, messages), _two_keys(posts)])


def _two_bodies(posts: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
    by = ["session", "key"]
    # Bodies are compared by their text: lists of structs do not compare.
    told = posts.select(
        *messages.columns[:-1],
        told=pl.col("body").map_elements(repr, return_dtype=pl.String),
    )
    sent = (
        pl.concat([told, messages])
        .sort("event", maintain_order=True)
        .group_by(*by, "record", maintain_order=True)
        .agg(pl.first("event", "call_id"), pl.col("told").str.join("\n"))
        .with_columns(first=pl.col("event").first().over(by), first_id=pl.col("call_id").first().over(by))
        .filter(pl.col("told") != pl.col("told").first().over(by))
        .unique(by, keep="first", maintain_order=True)
    )
    return hits(
        {
            "session": row["session"],
            "call_id": row["call_id"],
            "event": row["event"],
            "pointer": "",
            "keyword": "body",
            "message": "One idempotency key was sent with two different bodies: "
            f"for {row['first_id'] or 'a message'} and for {row['call_id'] or 'a message'}.",
            "hint": "Make a new key for every request, and keep it for the retries of that request only.",
            "related": [place(row["first"], "", "first request", row["first_id"])],
        }
        for row in sent.iter_rows(named=True)
    )


def _two_keys(posts: pl.DataFrame) -> pl.DataFrame:
    by = ["session", "body"]
    again = (
        posts.filter(pl.col("accepted").fill_null(value=True))
        .with_columns(first=pl.col("event").first().over(by), first_key=pl.col("key").first().over(by))
        .filter(pl.col("key") != pl.col("first_key"))
        .unique(["session", "turn", "pair_id"], keep="first", maintain_order=True)
        .sort("event")
    )
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "result": row["result"],
            "call_id": row["call_id"],
            "event": row["event"],
            "pointer": "",
            "keyword": "key",
            "message": f"The result of {row['call_id']} was posted again under a new idempotency key.",
            "hint": "Retry with the key of the first attempt; the server then takes it as one request.",
            "related": [place(row["first"], "", "first post", row["call_id"])],
        }
        for row in again.iter_rows(named=True)
    )
