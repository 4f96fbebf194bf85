"""Events stand in an order in which they cannot have happened.

What it says: a result before its call, a number (ordinal or sequence) that goes back, or a time that goes back by more
than the allowed clock skew. Numbers and times are reported once per session and file, with the first place.
Why it matters: which schema was in force, which result was late and which call came first are read off the order. Where
it is wrong, so are they.
Bad:
    tool get_order {"type":"object"}
    clock 60
    turn
    clock 20
    say Done.
    end
Good:
    tool get_order {"type":"object"}
    clock 20
    turn
    clock 18
    call c1 get_order {}
    result c1 ok {}
    end
Blind spots: the order of several files of one session is taken from their numbers or times where they have them, and
then it does not matter how they lie; where it is a guess, nothing is compared across files. Trees of spans are written
children first and are not judged by time.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE, hits, joined, place
from analyzer.rules.order import comparable, going_back, numbered
from analyzer.rules.pairs import pairs
from analyzer.trace import Trace, of_rows

# Formats that write a parent when it ends, after its children.
_LISTED = r"/data/\d+$"
_HINT = "Sort the log by what orders it (numbers, times) and audit it again, or look at the recorder."


def check(trace: Trace) -> pl.DataFrame:
    """Results before their calls, and the first step back of numbers and of times."""
    numbers = numbered(trace)
    # Numbers that begin anew are those of the next response or connection.
    back = numbers.filter((numbers["step"] < 0) & (numbers["number"] > 1))
    return joined(_results(trace), _steps_back(_numbers(back, trace), _clock(going_back(trace), trace)))


def _results(trace: Trace) -> pl.DataFrame:
    found = pairs(trace)
    early = found.filter(found["seq"] < found["called"])
    if early.is_empty():
        return NONE
    # Pages come newest first as a rule: which of two came first says nothing.
    listed = trace.events.filter(pl.col("event").is_in(early["event"].implode())).filter(
        pl.col("pointer").str.contains(_LISTED)
    )
    early = early.join(listed, on="event", how="anti")
    return hits(
        {
            "call": row["call"],
            "result": row["result"],
            "keyword": "result",
            "message": f"The result of call {row['call_id']} stands before the call.",
            "hint": _HINT,
            "related": [place(row["at"], row["where"], "call", row["call_id"])],
        }
        for row in comparable(trace, early, "event", "at").sort("result").iter_rows(named=True)
    )


def _steps_back(*looks: pl.DataFrame) -> pl.DataFrame:
    steps = pl.concat(looks)
    if steps.is_empty():
        return NONE
    first = (
        steps.sort("event", "what")
        .group_by("session", "source", "what", maintain_order=True)
        .agg(pl.first("event", "now", "was"), count=pl.len())
    )
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": "",
            "keyword": row["what"],
            "message": f"The {row['what']} goes back from {row['was']} to {row['now']}{_times(row['count'])}.",
            "hint": _HINT,
        }
        for row in first.iter_rows(named=True)
    )


@of_rows
def _numbers(back: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    return back.filter(_as_it_lies(trace, "number")).select(
        *("session", "source", "event"),
        now=pl.col("number").cast(pl.String),
        was=(pl.col("number") - pl.col("step")).cast(pl.String),
        what=pl.lit("number"),
    )


@of_rows
def _clock(back: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    return back.filter(_as_it_lies(trace, "number", "time")).select(
        *("session", "source", "event"),
        now=pl.col("time").dt.to_string("iso:strict"),
        was=(pl.col("time") - pl.col("lag")).dt.to_string("iso:strict"),
        what=pl.lit("time"),
    )


def _as_it_lies(trace: Trace, *orders: str) -> pl.Expr:
    """Whether the order in which the events lie is theirs: those of several files are sorted where they can be."""
    put = trace.sessions.filter(pl.col("order").is_in(orders))["session"]
    return ~pl.col("session").is_in(put.implode()).fill_null(value=False)


def _times(count: int) -> str:
    return "" if count == 1 else f", the first of {count} such places in this session"
