"""Tools whose description changed in the tables of a session while their schema did not."""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace

_BY = ("session", "tool")


def described_anew(trace: Trace) -> bool:
    """Whether any tool has two descriptions: hardly ever, and showings are many."""
    described = trace.tools.select("tool", "description")
    return described["tool"].n_unique() < described.height and bool(described.unique()["tool"].is_duplicated().any())


def reworded(trace: Trace) -> pl.DataFrame:
    """One row for each new description: `session, tool, since, event, pointer, channel` and where the old one stood.

    The places are those of the schemas, and the columns named as those of OFFERS; `old_` says it of the showing before.
    """
    shown = trace.showings.filter(pl.col("table").is_not_null(), pl.col("channel") != "search")
    several = shown.group_by("session").agg(pl.col("table").n_unique()).filter(pl.col("table") > 1)
    tables = (
        shown.join(several.select("session"), on="session", how="semi")
        .sort("session", "seq", "event", "pointer")
        .filter(pl.col("table").ne_missing(pl.col("table").shift(1).over("session")))
        .select("session", "table", "channel", "event", since="seq", listed="pointer")
    )
    words = trace.tools.sort("table", "position", "role").unique(["table", "tool"], keep="first", maintain_order=True)
    place = pl.concat_str(pl.col("listed").fill_null(""), pl.col("pointer").fill_null(""))
    said = (
        tables.join(words.select("table", "tool", "schema_id", "description", "pointer"), on="table")
        .with_columns(pl.col("description").fill_null(""), pointer=place, state=pl.lit("offered"))
        .sort(*_BY, "since", "event")
    )
    names = ("description", "schema_id", "since", "event", "pointer", "channel")
    return said.with_columns(**{f"old_{name}": pl.col(name).shift(1).over(_BY) for name in names}).filter(
        pl.col("description") != pl.col("old_description"), pl.col("schema_id").eq_missing(pl.col("old_schema_id"))
    )
