"""A record cannot be read: it is not JSON, no stream frame, or too large.

What it says: which record, at which byte, and why. The record is left out; everything before and after it is read. Of a
recorded exchange one body alone may be unreadable: it is left out, and the rest of the exchange is read. Two records on
one line, the line end between them lost, are both read; that is a warning. A session too large to be looked at whole is
judged in windows: it is information that it was, and which rules look at one window at a time; an error, where an id
stands on so many rows that they were not seen together. A record that broke the analyzer itself is left out too, and
that is said.
Why it matters: what stood there was not audited. A result in a broken record looks like a call without an answer.
Bad:
    turn
    line {"type":"agent.session.turn.completed",,"turn_id":"t1"}
    idle
Good:
    turn
    line
    end
    idle
Blind spots: a record that is JSON by accident (half a line that happens to close) is read as what it says.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """One hit for each record that was left out, or that has lost its line."""
    joined = pl.col("fault") == "line_end_missing"
    cut = pl.col("fault") == "session_too_large"
    parted = pl.col("fault") == "session_in_windows"
    told = joined | cut | parted | pl.col("fault").is_in(["unreadable", "too_large"])
    ours = pl.col("detail").str.contains("a fault of the analyzer itself", literal=True).fill_null(value=False)
    body = pl.col("detail").str.starts_with("the text at /").fill_null(value=False)
    whole = pl.when(body).then(pl.lit("it")).otherwise(pl.lit("the record"))
    where = pl.when(pl.col("at").is_null()).then(pl.lit("")).otherwise(sentence(" (byte {} of {})", "at", whole))
    return trace.faults.filter(told).select(
        "session",
        "event",
        "pointer",
        keyword="fault",
        severity=pl.when(joined).then(pl.lit("warning")).when(parted).then(pl.lit("info")),
        message=pl.when(joined)
        .then(sentence("{} stand on one line; they were told apart.", "detail"))
        .when(cut)
        .then(sentence("The session is too large: {}.", "detail"))
        .when(parted)
        .then(sentence("The session is too large to be looked at whole: {}.", "detail"))
        .otherwise(
            pl.concat_str(
                pl.when(body).then(pl.lit("A body")).otherwise(pl.lit("A record")),
                pl.lit(" cannot be read and is left out: "),
                pl.col("detail").fill_null("not JSON"),
                where,
                pl.lit("."),
            )
        ),
        hint=pl.when(joined)
        .then(pl.lit("Let the recorder write a record and its line end at once."))
        .when(cut)
        .then(pl.lit("Ids that are used again and again say little: let the recorder make new ones."))
        .when(parted)
        .then(pl.lit("Nothing is left out; record long runs as several sessions where these rules matter."))
        .when(ours)
        .then(pl.lit("Report it, with the record if you can; what stood in it was not audited."))
        .otherwise(pl.lit("Look at the recorder; what stood in this record was not audited.")),
    )
