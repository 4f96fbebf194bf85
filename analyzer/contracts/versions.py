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
_FARED = ("valid", "invalid", "unverifiable")

TALLIES = pl.Schema(
    {
        **{name: VERSIONS[name] for name in _KEY},
        "given": pl.Boolean(),  # seen where payloads were judged by it, not where it was shown; key: _KEY, given
        "channel": pl.String(),  # of the first showing
        "first_place": pl.Int64(),  # the first event of the first session
        "first_event": pl.Int64(),  # of the first showing
        "first_session": pl.String(),
        "last_place": pl.Int64(),
        "last_session": pl.String(),
        **{name: VERSIONS[name] for name in ("sessions", "calls", *_FARED)},
    }
)
"""What is counted of some whole sessions: such rows of several lots of them make VERSIONS."""


def versions(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """VERSIONS of an audit that kept `tallies`, or OFFERS, SESSIONS and VERDICTS."""
    return _versions(frames["tallies"] if "tallies" in frames else tallied(frames))


def tallied(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """TALLIES of some whole sessions, from OFFERS, SESSIONS and VERDICTS."""
    sessions = frames["sessions"].select("session", place="first_event")
    shown = (
        frames["offers"]
        .filter((pl.col("state") == "offered") & pl.col("schema_id").is_not_null())
        .select(*_KEY, "session", "event", "channel", given=pl.lit(value=False))
    )
    judged = frames["verdicts"].filter(pl.col("schema_id").is_not_null())
    used = judged.select(*_KEY, "session", event=pl.lit(None, pl.Int64), channel="channel", given=pl.lit(value=True))
    seen = (
        pl.concat([shown, used])
        .join(sessions, on="session", how="left", maintain_order="left")
        .sort("place", "event", *_KEY, nulls_last=True)
        .group_by(*_KEY, "given", maintain_order=True)
        .agg(
            pl.col("channel").first(),
            first_place=pl.col("place").first(),
            first_event=pl.col("event").first(),
            first_session=pl.col("session").first(),
            last_place=pl.col("place").last(),
            last_session=pl.col("session").last(),
            sessions=pl.col("session").n_unique(),
        )
    )
    fared = judged.group_by(_KEY).agg(
        calls=pl.len(), **{name: (pl.col("verdict_is") == name).sum() for name in _FARED}, given=pl.lit(value=True)
    )
    return (
        seen.join(fared, on=[*_KEY, "given"], how="left", maintain_order="left")
        .with_columns(pl.col("calls", *_FARED).fill_null(0))
        .select(pl.col(name).cast(of) for name, of in TALLIES.items())
    )


def _versions(tallies: pl.DataFrame) -> pl.DataFrame:
    """VERSIONS from TALLIES of all sessions."""
    fared = tallies.group_by(_KEY).agg(pl.col("calls", *_FARED).sum(), given=pl.col("given").all())
    return (
        # A contract file shows nothing in the log: where its schema was used says when it was there.
        tallies.drop("calls", *_FARED)
        .join(fared, on=[*_KEY, "given"], how="inner", maintain_order="left")
        .sort("first_place", "first_event", *_KEY, nulls_last=True)
        .group_by(_KEY, maintain_order=True)
        .agg(
            pl.col("channel", "first_session").first(),
            last_session=pl.col("last_session").sort_by("last_place").last(),
            sessions=pl.col("sessions").sum(),
            **{name: pl.col(name).first() for name in ("calls", *_FARED)},
        )
        .with_columns(number=pl.int_range(1, pl.len() + 1).over("tool", "role"))
        .sort("tool", "role", "number")
        .select(pl.col(name).cast(of) for name, of in VERSIONS.items())
    )
