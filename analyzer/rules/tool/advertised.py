"""What was advertised, once per schema or tool: where it was shown first, and in how many sessions."""

from __future__ import annotations

import polars as pl

from analyzer.contracts.tables import ANY_TOOL
from analyzer.frames import REFUSED
from analyzer.rules.sentence import sentence
from analyzer.rules.tool.tables import first_shown
from analyzer.trace import Trace, shared


def advertised(trace: Trace, schemas: pl.Series, *conditions: pl.Expr) -> pl.DataFrame:
    """One row per advertised schema of these: its first offer, `shape` of the table's provider, `sessions` (count).

    `conditions` filter the offers (columns of OFFERS and `shape`) before the first one is taken.
    """
    return (
        _offered(trace)
        .filter(pl.col("schema_id").is_in(schemas.implode()), *conditions)
        .group_by("schema_id", maintain_order=True)
        .agg(
            pl.col("session", "tool", "role", "channel", "shape").first(),
            pl.col("event").first().alias("offer_event"),
            pl.col("pointer").first().alias("offer_pointer"),
            pl.col("session").n_unique().cast(pl.Int64).alias("sessions"),
        )
    )


def facts(trace: Trace, *names: str) -> pl.DataFrame:
    """The facts of these kinds, with the place in the schema as `schema_pointer`."""
    return trace.schema_facts.filter(pl.col("fact").is_in(names)).select(
        "schema_id", "fact", "value", schema_pointer="pointer"
    )


def found(trace: Trace, stated: pl.DataFrame, *conditions: pl.Expr) -> pl.DataFrame:
    """Facts with the first offer of their schema; `conditions` as in `advertised`."""
    # Few: most schemas have nothing to be said of them.
    return stated.join(advertised(trace, stated["schema_id"].unique(), *conditions), on="schema_id")


def at_schema(rows: pl.DataFrame, *, message: pl.Expr, hint: str, **more: pl.Expr) -> pl.DataFrame:
    """Hits at a place inside an advertised schema, from rows of `found`."""
    times = (
        pl.when(pl.col("sessions") > 1).then(sentence(" (advertised in {} sessions)", "sessions")).otherwise(pl.lit(""))
    )
    return rows.sort("offer_event", "tool", "schema_pointer", "fact", "value").select(
        "session",
        "tool",
        "schema_id",
        "offer_event",
        "offer_pointer",
        "channel",
        "schema_pointer",
        event=pl.col("offer_event"),
        pointer=pl.col("offer_pointer") + pl.col("schema_pointer"),
        keyword=pl.col("fact"),
        message=message + times + ".",
        hint=pl.lit(hint),
        **more,
    )


def where(column: str = "schema_pointer") -> pl.Expr:
    """A place in a schema, for a sentence."""
    return pl.when(pl.col(column) == "").then(pl.lit("The root")).otherwise(pl.col(column))


@shared
def listed(trace: Trace) -> pl.DataFrame:
    """One row per tool of each table: TOOLS of role `arguments` with `shape`, and the table's first showing.

    Columns besides: `session`, `event`, `channel`, `place` (pointer to the definition), `sessions` (count).
    """
    first = first_shown(trace).rename({"pointer": "list"})
    return (
        trace.tools.filter(pl.col("role") == "arguments", pl.col("name") != ANY_TOOL)
        .join(trace.tables.select("table", "shape"), on="table", how="left", maintain_order="left")
        .join(first, on="table", maintain_order="left")
        .with_columns(place=pl.col("list") + pl.col("pointer"))
    )


def _shapes(trace: Trace) -> pl.DataFrame:
    return (
        trace.showings.join(trace.tables.select("table", "shape"), on="table", maintain_order="left")
        .unique(["session", "event"], keep="first", maintain_order=True)
        .select("session", "event", "shape")
    )


@shared
def _offered(trace: Trace) -> pl.DataFrame:
    """The offers of schemas with the shape of their table, in their order."""
    offers = trace.offers.filter(pl.col("state") == "offered", pl.col("schema_id").is_not_null())
    refused = trace.showings.filter(pl.col("scope") == REFUSED)
    if refused.height:  # what was wrong with them is why, perhaps
        listed = (
            refused.rename({"pointer": "list"}).join(trace.tools, on="table").filter(pl.col("schema_id").is_not_null())
        )
        pointer = (pl.col("list") + pl.col("pointer")).fill_null("")
        offers = pl.concat([offers, listed.with_columns(pointer=pointer)], how="diagonal").select(offers.columns)
    return offers.join(_shapes(trace), on=["session", "event"], how="left", maintain_order="left").sort(
        "event", "tool", "role"
    )
