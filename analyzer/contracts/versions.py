"""The timeline of contracts: each version of each tool, where it was seen first and last, and how its calls fared."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

VERSIONS = pl.Schema(
    {
        "tool": pl.String,  # tool key
        "role": pl.String,
        "number": pl.Int64,  # of the version, from 1 in the order of first sight; key: tool, role, number
        "schema_id": pl.String,
        "channel": pl.String,  # of the first showing; `contract` for what only a contract file says
        "first_session": pl.String,
        "last_session": pl.String,
        "sessions": pl.Int64,
        "calls": pl.Int64,  # payloads judged by it
        "valid": pl.Int64,
        "invalid": pl.Int64,
        "unverifiable": pl.Int64,
    }
)
_KEY = ("tool", "role", "schema_id")


def versions(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """VERSIONS of an audit that kept its frames, from OFFERS, SESSIONS and VERDICTS."""
    sessions = frames["sessions"].select("session", place=pl.int_range(pl.len()))
    shown = (
        frames["offers"]
        .filter((pl.col("state") == "offered") & pl.col("schema_id").is_not_null())
        .select(*_KEY, "session", "event", "channel")
    )
    judged = frames["verdicts"].filter(pl.col("schema_id").is_not_null())
    used = judged.select(*_KEY, "session", event=pl.lit(None, pl.Int64), channel="channel")
    # A contract file shows nothing in the log: where its schema was used says when it was there.
    given = used.join(shown, on=_KEY, how="anti", maintain_order="left")
    seen = (
        pl.concat([shown, given])
        .join(sessions, on="session", how="left", maintain_order="left")
        .sort("place", "event", *_KEY, nulls_last=True)
        .group_by(_KEY, maintain_order=True)
        .agg(
            pl.col("channel").first(),
            first_session=pl.col("session").first(),
            last_session=pl.col("session").last(),
            sessions=pl.col("session").n_unique(),
        )
    )
    fared = judged.group_by(_KEY).agg(
        calls=pl.len(),
        **{name: (pl.col("verdict_is") == name).sum() for name in ("valid", "invalid", "unverifiable")},
    )
    return (
        seen.join(fared, on=_KEY, how="left", maintain_order="left")
        .with_columns(pl.col("calls", "valid", "invalid", "unverifiable").fill_null(0))
        .with_columns(number=pl.int_range(1, pl.len() + 1).over("tool", "role"))
        .sort("tool", "role", "number")
        .select(pl.col(name).cast(dtype) for name, dtype in VERSIONS.items())
    )
