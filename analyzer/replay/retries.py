"""The calls that ended a session without success, and those that may repeat one, or be one, of another session."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
import polars as pl

from analyzer.frames import RETRIES
from analyzer.replay.payloads import in_lots

SHORTEST = 8  # bytes of arguments that say enough to be recognised
_TOLD = 16  # letters of a call id that no other session has by chance
_KINDS = ("function", "custom", "mcp")
#: Logs of trials: one task is tried again and again in sessions of its own, on purpose.
_TRIALS = ("inspect", "toolbench", "bfcl")
_ASKED = (
    *("session", "turn", "agent", "subagent", "wire", "call", "call_id", "tool", "kind", "name", "text"),
    *("seq", "event", "pointer", "action_seq", "outcome"),
)
_encode = msgspec.json.Encoder(order="deterministic").encode


def retries_of(calls: pl.DataFrame, messages: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame:
    """RETRIES: of each session the first call of its kind, and the last one where that failed or was never answered.

    A session that the model went on to answer in words has come to an end: its last call is not one that waits. CALLS
    are numbered as they happened in their session.
    """
    eligible = pl.col("kind").is_in(list(_KINDS)) & (pl.col("text").str.len_bytes() >= SHORTEST)
    trial = pl.when(pl.col("wire").is_in(list(_TRIALS))).then("wire").alias("trial")
    rows = calls.select(_ASKED).filter(eligible)
    last = calls.group_by("session").agg(last=pl.col("call").max())
    said = messages.filter(pl.col("role") == "assistant").group_by("session").agg(said=pl.col("seq").max())
    known = sessions.select("session", "first_event").join(last, on="session").join(said, on="session", how="left")
    ended = (
        pl.when(pl.col("outcome") == "error")
        .then(pl.lit("failed"))
        .when((pl.col("outcome") == "none") & pl.col("action_seq").is_not_null())
        .then(pl.lit("was never answered"))
    )
    waits = (pl.col("call") == pl.col("last")) & ~(pl.col("said") > pl.col("seq")).fill_null(value=False)
    rows = (
        rows.with_columns(_canonical(rows["text"]))
        .drop("text")
        .join(known, on="session", maintain_order="left")
        .select(
            *("session", "turn", "call_id", "tool", "name", "event", "pointer", "first_event"),
            agent=pl.coalesce("subagent", "agent"),
            digest=pl.struct("tool", "canonical", trial).hash(),
            ended=pl.when(waits & trial.is_null()).then(ended),
        )
    )
    first = pl.struct("session", "digest").is_first_distinct()
    return rows.filter(first | pl.col("ended").is_not_null()).select(list(RETRIES))


def shown_again(retries: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """The sessions that show calls of an earlier one, the `home`: by id and arguments, and how many. `events`: EVENTS.

    Short ids may begin anew in each session: then one call alone proves nothing, and no two have other times.
    """
    named = retries.filter(pl.col("call_id").str.len_chars() > 0)
    named = named.filter(pl.struct("call_id", "digest").is_duplicated())
    if named.is_empty():
        return named.select("session", home="session", count="digest")
    order = ("first_event", "event", "pointer")
    named = named.join(events.select("event", "time"), on="event", how="left").sort(order)
    columns = ("session", "event", "pointer", "time")
    homes = named.unique(["call_id", "digest"], keep="first", maintain_order=True)
    homes = homes.select("call_id", "digest", *(pl.col(name).alias(f"home_{name}") for name in columns))
    sure = pl.col("call_id").str.len_chars() >= _TOLD
    return (
        named.join(homes, on=["call_id", "digest"], maintain_order="left")
        .filter(pl.col("session") != pl.col("home_session"))
        .filter(sure | (pl.col("time") == pl.col("home_time")).fill_null(value=True))
        .group_by("session", home="home_session", maintain_order=True)
        .agg(pl.first("event", "pointer", "call_id", "home_event", "home_pointer"), sure=sure.any(), count=pl.len())
        .filter(pl.col("sure") | (pl.col("count") > 1))
    )


def _canonical(texts: pl.Series) -> pl.Series:
    """The digest of each text with the members of its objects in one order; what is not JSON, without blanks around."""
    found = []
    for lot in in_lots(texts.to_frame("text")):
        different = lot["text"].unique()
        spelled = pl.Series([_digest(_spelled(raw)) for raw in different.cast(pl.Binary)], dtype=pl.Binary)
        found.append(lot["text"].replace_strict(different, spelled, return_dtype=pl.Binary))
    return pl.concat(found).alias("canonical")


def _digest(spelled: bytes) -> bytes:
    return blake2b(spelled, digest_size=16).digest()


def _spelled(raw: bytes) -> bytes:
    try:
        return _encode(msgspec.json.decode(raw))
    except (msgspec.DecodeError, RecursionError):
        return raw.strip()
