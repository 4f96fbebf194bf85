"""A result was posted for a call that never was a required action.

What it says: the call stands in the history, snapshots were taken between it and the result, and none of them asked for
an answer.
Why it matters: history is not a debt. A client that answers every call it reads runs calls that somebody else has
answered, or that were made by another client.
Bad:
    tool count_keys {"type":"object"}
    turn
    item c1 count_keys {"ring":"5"}
    snapshot
    done c1
    post c1 ok 7
    end
Good:
    tool count_keys {"type":"object"}
    turn
    item c1 count_keys {"ring":"5"}
    post c1 ok 7
    action c2 count_keys {"ring":"6"}
    result c2 ok 8
    end
Blind spots: without a snapshot between call and result nothing is known, and nothing said.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.debts import ACTIONS, async_tools, snapshots
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Posted results of calls that the snapshots before them do not list."""
    unlisted = trace.calls.filter(trace.calls["action_seq"].is_null())
    calls = unlisted.filter(pl.col("wire") == ACTIONS, pl.col("owed_by") == "client")
    if calls.is_empty():
        return hits(())
    posted = trace.results.filter(pl.col("stage") == "post", ~pl.col("other_turn").fill_null(value=False)).select(
        "result", "call", answered="seq"
    )
    # The last snapshot before the result: one that was taken after the call would have listed it.
    found = (
        posted.join(
            calls.join(async_tools(trace), on=["session", "tool"], how="anti").select(
                "session", "call", "call_id", "name", called="seq", at="event", where="pointer"
            ),
            on="call",
        )
        .sort("answered", "result")
        .join_asof(
            snapshots(trace).rename({"seq": "taken"}),
            left_on="answered",
            right_on="taken",
            by="session",
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("taken") > pl.col("called"))
        .sort("result")
    )
    return hits(
        {
            "result": row["result"],
            "call": row["call"],
            "keyword": "action",
            "message": f"A result was posted for {row['call_id']} of {row['name'] or 'a tool'}, "
            "which never was a required action.",
            "hint": "Answer required actions only; a call in the history may have been answered elsewhere.",
            "related": [place(row["at"], row["where"], "call", row["call_id"])],
        }
        for row in found.iter_rows(named=True)
    )
