"""A result answers a call that is nowhere.

What it says: no call of the session has the id that the result names. Near matches are offered: an item id used as call
id, an id that was cut, another spelling.
Why it matters: the answer is lost, and the call that waited for it stays open.
Bad:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    post fc_c1@t1 ok {}
    result c1 ok {}
    end
Good:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    result c1 ok {}
    end
Blind spots: where the recording begins in the middle, or a previous response is held by the server, the call may be
there; then nothing is said.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.contracts.nearest import did_you_mean
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace
from analyzer.visible import visible

_CUT = 6  # characters that must be left of an id for it to be recognised


def check(trace: Trace) -> pl.LazyFrame:
    """Results without a call, in sessions or turns that are recorded from their beginning."""
    whole = trace.sessions.lazy().filter(pl.col("from_start")).select("session")
    begun = trace.events.lazy().filter(pl.col("type").str.ends_with("turn.created")).select("session", "turn").unique()
    orphans = (
        trace.results.lazy()
        .filter(pl.col("call").is_null(), pl.col("pair_id").str.strip_chars() != "")
        .select("session", "turn", "result", "pair_id", "seq")
    )
    in_session = orphans.join(whole, on="session", how="semi")
    in_turn = orphans.join(whole, on="session", how="anti").join(begun, on=["session", "turn"], how="semi")
    found = pl.concat([in_session, in_turn]).sort("result").collect()
    if found.is_empty():
        return hits(())
    calls = trace.calls.lazy().filter(pl.col("session").is_in(found["session"].implode())).sort("seq", "call")
    near = calls.select("session", "call_id", "item_id", "event", "pointer", "result").collect()
    return hits(_hit(row, near.filter(pl.col("session") == row["session"])) for row in found.iter_rows(named=True))


def _hit(row: dict[str, Any], calls: pl.DataFrame) -> dict[str, Any]:
    wrong = visible(row["pair_id"], limit=80)
    match, why = _nearest(row["pair_id"], calls)
    hit: dict[str, Any] = {
        "result": row["result"],
        "call_id": row["pair_id"],
        "keyword": "call_id",
        "message": f"A result names the call {wrong}, and no call of this session has that id.",
        "hint": "Post results with the call id of the required action, letter by letter.",
    }
    if match is None:
        return hit
    return hit | {
        "message": f"A result names the call {wrong}, which is no call id: {why} {match['call_id']}.",
        "hint": f"Post it for {match['call_id']}.",
        "related": [place(match["event"], match["pointer"], "nearest call", match["call_id"])],
    }


def _nearest(wrong: str, calls: pl.DataFrame) -> tuple[dict[str, Any] | None, str]:
    rows = [row for row in calls.iter_rows(named=True) if row["call_id"]]
    for row in rows:
        if row["item_id"] == wrong:
            return row, "it is the item id of"
    if len(wrong) >= _CUT:
        for row in rows:
            if row["call_id"].startswith(wrong) or wrong.startswith(row["call_id"]):
                return row, "it is a cut or lengthened"
    waiting = {row["call_id"]: row for row in rows if row["result"] is None}
    near = did_you_mean(wrong, waiting)
    return (waiting[near], "the nearest open call is") if near is not None else (None, "")
