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
there; then nothing is said. Where a record of the log cannot be read it is a hint: the call may stand in it. In a
session that is judged in windows the nearest call is one of its window.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.contracts.nearest import did_you_mean
from analyzer.frames import UNASKED
from analyzer.rules.debts import orphans
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace
from analyzer.visible import visible

_HELPED = 50  # orphans of a session that get a suggestion
_COMPARED = 100  # open calls whose ids are compared letter by letter, the latest
_MET = 200_000  # pairs of an orphan and a call that are looked at together
_CUT = 6  # characters that must be left of an id for it to be recognised


def check(trace: Trace) -> pl.DataFrame:
    """Results without a call, in sessions or turns that are recorded from their beginning."""
    found = orphans(trace).filter("told")
    if found.is_empty():
        return hits(())
    near = _near(trace, found)
    return hits(_hit(row, near.get((row["session"], row["call_id"]), [])) for row in found.iter_rows(named=True))


def _near(trace: Trace, found: pl.DataFrame) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The calls that a wrong id may mean: of this item, of an id that begins alike, or still open."""
    wrong, call_id = pl.col("wrong"), pl.col("call_id")
    # Every wrong id meets every call of its session: past the first few, more suggestions help nobody.
    wanted = found.select("session", wrong="call_id").unique(maintain_order=True)
    wanted = wanted.group_by("session", maintain_order=True).head(_HELPED)
    # Only the latest open calls are compared letter by letter.
    unanswered = pl.col("result").is_null()
    recent = unanswered & (unanswered.cum_sum(reverse=True).over("session") <= _COMPARED)
    calls = (
        trace.calls.select("session", "call_id", "item_id", "event", "pointer", "seq", "call", "result")
        .filter(call_id != "", pl.col("session").is_in(found["session"].unique().implode()))
        .sort("session", "seq", "call")
        .select("session", "call_id", "item_id", "event", "pointer", "seq", waiting=recent)
    )
    alike = (wrong.str.len_chars() >= _CUT) & (call_id.str.starts_with(wrong) | wrong.str.starts_with(call_id))
    item = (pl.col("item_id") == wrong).fill_null(value=False)
    wanted = wanted.join(calls.group_by("session").len(), on="session", maintain_order="left")
    near: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _, some in wanted.group_by(pl.col("len").cum_sum() // _MET, maintain_order=True):
        candidates = (
            some.join(calls, on="session")
            .with_columns(item=item, alike=alike)
            .filter(pl.any_horizontal("item", "alike", "waiting"))
            .sort("session", "wrong", "seq", "call_id")
        )
        for row in candidates.iter_rows(named=True):
            near.setdefault((row["session"], row["wrong"]), []).append(row)
    return near


def _hit(row: dict[str, Any], near: list[dict[str, Any]]) -> dict[str, Any]:
    if row["call_id"].endswith(UNASKED):  # it names its tool only
        name = visible(row["call_id"].removesuffix(UNASKED), limit=80)
        told = {
            "result": row["result"],
            "keyword": "name",
            "message": f"A result of {name} answers no call: none of that tool waits for one.",
            "hint": "Give each call one result, under the name that the call has.",
        }
        return told | ({"severity": "warning", "confidence": "hint"} if row["unread"] else {})
    wrong = visible(row["call_id"], limit=80)
    match, why = _nearest(row["call_id"], near)
    hit: dict[str, Any] = {
        "result": row["result"],
        "call_id": row["call_id"],
        "keyword": "call_id",
        "message": f"A result names the call {wrong}, and no call of this session has that id.",
        "hint": "Send results with the id of the call that they answer, letter by letter.",
    }
    if row["unread"]:
        hit |= {"severity": "warning", "confidence": "hint"}
    if match is None:
        return hit
    return hit | {
        "message": f"A result names the call {wrong}, which is no call id: {why} {match['call_id']}.",
        "hint": f"Post it for {match['call_id']}.",
        "related": [place(match["event"], match["pointer"], "nearest call", match["call_id"])],
    }


def _nearest(wrong: str, near: list[dict[str, Any]]) -> tuple[dict[str, Any] | None, str]:
    for kind, why in (("item", "it is the item id of"), ("alike", "it is a cut or lengthened")):
        row = next((row for row in near if row[kind]), None)
        if row is not None:
            return row, why
    waiting = {row["call_id"]: row for row in near if row["waiting"]}
    best = did_you_mean(wrong, waiting)
    return (waiting[best], "the nearest open call is") if best is not None else (None, "")
