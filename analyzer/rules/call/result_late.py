"""A result came after its turn had ended or its request had been cancelled.

What it says: how the turn had ended when the result was sent, or that the client itself had asked to cancel it.
Why it matters: nobody reads it any more, but the work was done. What the tool changed is not in the conversation.
Bad:
    tool scan {"type":"object"}
    turn
    call c1 scan {"root":"/srv"}
    end cancelled
    post c1@t1 ok clean
    idle
Good:
    tool scan {"type":"object"}
    tool print_label {"type":"object"} async
    turn
    call c1 scan {"root":"/srv"}
    call c2 print_label {}
    result c1 ok clean
    end
    post c2@t1 ok printed
    idle
Blind spots: posts and events come from two clocks; a result that was sent just before the turn ended and recorded just
after it looks late. Where the order of two files is a guess, nothing is said.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.debts import async_tools
from analyzer.rules.hits import hits, place
from analyzer.rules.order import comparable
from analyzer.rules.pairs import pairs
from analyzer.trace import Trace

_CANCEL = "agent.session.input.cancel"


def check(trace: Trace) -> pl.DataFrame:
    """Results sent after the end of their call's turn, or after the call was cancelled."""
    # What the server writes itself (echoes, items on a page) may stand anywhere after the fact.
    sent = pairs(trace).filter(
        pl.col("stage").is_in(["post", "executor", "message"]), ~pl.col("other_turn").fill_null(value=False)
    )
    turns = trace.turns.filter(pl.col("until").is_not_null())
    ended = sent.join(
        turns.select("session", "turn", "until", "status", end="end_event"),
        on=["session", "turn"],
        maintain_order="left",
    ).filter(pl.col("seq") > pl.col("until"))
    columns = ["result", "call", "session", "tool", "call_id", "seq", "event", "until", "status", "end"]
    looks = [ended]
    if trace.holds("call_sightings.status=cancelled"):
        looks.append(_after_cancelling(trace, sent))
    if trace.holds(f"events.type={_CANCEL}"):
        looks.append(_after_asking(trace, sent))
    late = pl.concat([each[columns] for each in looks])
    if late.is_empty():
        return hits(())
    told = (
        late.join(async_tools(trace), on=["session", "tool"], how="anti")
        .sort("result", "until")
        .unique("result", keep="first", maintain_order=True)
    )
    return hits(
        {
            "result": row["result"],
            "call": row["call"],
            "keyword": row["status"],
            "message": f"The result of {row['call_id']} was sent after its turn or request had ended: {row['status']}.",
            "hint": "Check what the tool has changed: the model never saw this result.",
            "related": [place(row["end"], "", "end")] if row["end"] is not None else None,
        }
        for row in comparable(trace, told, "event", "end").iter_rows(named=True)
    )


def _after_cancelling(trace: Trace, sent: pl.DataFrame) -> pl.DataFrame:
    shown = trace.call_sightings
    cancelled = (
        shown.filter((shown["status"] == "cancelled") & shown["call"].is_not_null())
        .group_by("call")
        .agg(until=pl.min("seq"), end=pl.min("event"))
        .with_columns(status=pl.lit("cancelled"))
    )
    return sent.join(cancelled, on="call").filter(pl.col("seq") > pl.col("until"))


def _after_asking(trace: Trace, sent: pl.DataFrame) -> pl.DataFrame:
    """Results sent after the client itself had asked to cancel the turn that their call was made in."""
    asked = trace.events.filter(trace.events["type"] == _CANCEL, pl.col("session").is_not_null())
    turns = trace.turns.select("session", "turn", "since", ended="until")
    return (
        sent.join(turns, on=["session", "turn"])
        .with_columns(open=pl.max_horizontal("since", pl.col("called") + 1))
        .sort("open")
        .join_asof(
            asked.select("session", until="seq", end="event").sort("until"),
            left_on="open",
            right_on="until",
            by="session",
            strategy="forward",
            check_sortedness=False,
        )
        .filter(
            pl.col("ended").is_null() | (pl.col("ended") > pl.col("until")),
            pl.col("seq") > pl.col("until"),
        )
        .with_columns(status=pl.lit("cancelled"))
    )
