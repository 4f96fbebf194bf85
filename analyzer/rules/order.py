"""Which events of a session may be compared by their place, and what came first."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from analyzer.frames import PART_BITS, RECORD_BITS
from analyzer.trace import Trace, of_rows, shared

_SOURCE = 1 << (RECORD_BITS + PART_BITS)
_RECORD = 1 << PART_BITS
_SPANS = ("otlp", "agents-sdk", "openinference", "langfuse", "langsmith", "mlflow", "otel")  # whose times are no order


def source_of(event: str) -> pl.Expr:
    """The number of the file that an event stands in."""
    return pl.col(event) // _SOURCE


def record_of(event: str) -> pl.Expr:
    """The number of the record that an event is part of."""
    return pl.col(event) // _RECORD


def comparable(trace: Trace, rows: pl.DataFrame, left: str, right: str) -> pl.DataFrame:
    """The rows whose two events have a proved order; that of two files of one session may be a guess."""
    if rows.is_empty():
        return rows
    guessed = trace.sessions.filter(pl.col("order") == "files").select("session", guessed=pl.lit(value=True))
    return (
        rows.join(guessed, on="session", how="left", maintain_order="left")
        .filter(pl.col("guessed").is_null() | (source_of(left) == source_of(right)))
        .drop("guessed")
    )


def times_of(trace: Trace, events: pl.Series) -> pl.Series:
    """The time of each of these events, null where none is recorded."""
    if trace.events.is_empty():
        return pl.Series("time", [None] * events.len(), dtype=trace.events.schema["time"])
    places = trace.events["event"].search_sorted(events.fill_null(-1))
    return trace.events["time"].gather(places.clip(0, trace.events.height - 1))


@shared
def numbered(trace: Trace) -> pl.DataFrame:
    """The events with a number, without copies: `session, source, event, number, step`.

    The step is that from the number before in the same session and file. Where the events bring their steps, as those
    of a session do that was looked at in windows, only such events are among them as go back.
    """
    events = trace.events
    if "step" in events.columns:
        return events.filter(pl.col("step").is_not_null()).select("session", "source", "event", "number", "step")
    if events["number"].null_count() == events.height:
        return events.clear().select("session", "source", "event", "number", step="number")
    rows = events.select("session", "source", "event", "number").filter(
        events["number"].is_not_null() & events["copy"].is_null()
    )
    # Numbers are grouped several times as fast as names.
    key = pl.col("session").cast(pl.Categorical).to_physical().cast(pl.Int64) + pl.col("source") * (1 << 32)
    return rows.with_columns(key=key).with_columns(step=pl.col("number").diff().over("key")).drop("key")


def leaps(trace: Trace) -> pl.DataFrame:
    """Where numbers are left out: `session, event, number, step, missing`, by session and number.

    Numbers that a session has once each are looked at in their own order, for rows of a lake lie in any; others, which
    begin anew with each response, in that of the file. Whether a number counts the events of its session or those of
    the whole file is told by the session alone, so that it does not matter which others are looked at beside it: where
    numbers grow by less than the records between them, they are the session's own, and else each record between two
    events of the session may have the number that seems to be missing.
    """
    if "missing" in trace.events.columns:  # of a session that was looked at in windows
        told = trace.events.filter(pl.col("missing").is_not_null())
        return told.select("session", "source", "event", "number", "missing", step="leap")
    events = numbered(trace)
    uneven = events.filter(events["step"].abs() > 1)["session"].unique()
    if uneven.is_empty():
        return events.clear().with_columns(missing=pl.col("step"))
    names = pl.col("session").cast(pl.Categorical).to_physical().cast(pl.Int64)
    once = (pl.col("number").n_unique() == pl.len()).over("key")
    rows = events.drop("step").filter(pl.col("session").is_in(uneven.implode(), nulls_equal=True))
    rows = rows.with_columns(key=names).with_columns(once=once)
    place = pl.when("once").then("number").otherwise("event")
    file = pl.when("once").then(0).otherwise("source")
    rows = rows.sort("key", file, place).with_columns(group=pl.struct("key", file.alias("file")))
    steps = rows.with_columns(
        step=pl.col("number").diff().over("group"),
        apart=pl.when(pl.col("source").diff().over("group") == 0).then(record_of("event").diff().over("group")),
    )
    between = (pl.col("apart") > 1).fill_null(value=False)
    slower = (between & (pl.col("step") < pl.col("apart"))).sum().over("group")
    others = between.sum().over("group")
    # From one file to the next nothing is known of what lies between.
    own = (slower * 2 >= others) & ((others > 0) | pl.col("apart").is_not_null())
    there = pl.when(own).then(1).otherwise(pl.max_horizontal(pl.col("apart").fill_null(pl.col("step")), 1))
    return (
        steps.with_columns(missing=pl.col("step") - there)
        .filter(pl.col("step") > 1, pl.col("missing") > 0)
        .select(*events.columns, "missing")
    )


@shared
def going_back(trace: Trace) -> pl.DataFrame:
    """The events whose time lies too far before that of the event before: `session, source, event, time, lag`."""
    skew = timedelta(seconds=trace.settings.clock_skew)
    times, events = trace.events["time"], trace.events
    if "lag" in events.columns:
        rows = events.filter(pl.col("lag").is_not_null())
    else:
        # Where no time lies far behind the latest so far, that of no session goes back.
        far = ((times.cum_max() - times) > skew).any()
        rows = _lagging(events if far else events.clear(), trace.sources, skew)
    return rows.select("session", "source", "event", "time", "lag")


@of_rows
def _lagging(events: pl.DataFrame, sources: pl.DataFrame, skew: timedelta) -> pl.DataFrame:
    spans = sources.filter(pl.col("format").fill_null("").str.contains_any(list(_SPANS)))["source"].implode()
    rows = events.filter(pl.col("time").is_not_null(), pl.col("copy").is_null(), ~pl.col("source").is_in(spans))
    return rows.with_columns(lag=pl.col("time").diff().over("session", "source")).filter(pl.col("lag") < -skew)
