"""The calls that ended a session without success, and those that may repeat one in another session."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
import polars as pl

from analyzer.frames import RETRIES

SHORTEST = 8  # bytes of arguments that say enough to be recognised
_KINDS = ("function", "custom", "mcp")
#: Logs of trials: one task is tried again and again in sessions of its own, on purpose.
_TRIALS = ("inspect", "toolbench", "bfcl")


def retries_of(calls: pl.DataFrame, messages: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame:
    """RETRIES: of each session the first call of its kind, and the last one where that failed or was never answered.

    A session that the model went on to answer in words has come to an end: its last call is not one that waits.
    """
    begun = sessions.lazy().select("session", "first_event")
    eligible = (
        ~pl.col("wire").is_in(list(_TRIALS))
        & pl.col("kind").is_in(list(_KINDS))
        & (pl.col("text").str.len_bytes() >= SHORTEST)
    )
    last = calls.lazy().group_by("session").agg(call=pl.col("call").sort_by("seq", "call").last())
    said = messages.lazy().filter(pl.col("role") == "assistant").group_by("session").agg(said=pl.col("seq").max())
    ended = (
        pl.when(pl.col("outcome") == "error")
        .then(pl.lit("failed"))
        .when((pl.col("outcome") == "none") & pl.col("action_seq").is_not_null())
        .then(pl.lit("was never answered"))
    )
    waits = pl.col("last") & ~(pl.col("said") > pl.col("seq")).fill_null(value=False)
    rows = (
        calls.lazy()
        .filter(eligible)
        .join(begun, on="session")
        .join(last.with_columns(last=True), on=["session", "call"], how="left")
        .join(said, on="session", how="left")
        .with_columns(agent=pl.coalesce("subagent", "agent"), ended=pl.when(waits.fill_null(value=False)).then(ended))
        .sort("session", "seq", "call")
        .collect()
    )
    digests = [_digest(tool, text) for tool, text in rows.select("tool", "text").iter_rows()]
    known = rows.with_columns(pl.Series("digest", digests, dtype=pl.UInt64)).select(list(RETRIES))
    first = pl.struct("session", "digest").is_first_distinct()
    return known.filter(first | pl.col("ended").is_not_null())


def _digest(tool: str | None, text: str) -> int:
    """A number for the tool and its canonical arguments: what stands for their text once the partition is gone."""
    try:
        said = msgspec.json.encode(msgspec.json.decode(text), order="deterministic")
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        said = text.strip().encode()
    return int.from_bytes(blake2b((tool or "").encode() + b"\0" + said, digest_size=8).digest(), "big")
