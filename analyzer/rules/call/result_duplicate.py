"""One call has two accepted results.

What it says: a second result was accepted for a call that had one; whether they are identical or conflict. One
result that is shown with two texts, posted and in the server's own item or in two showings of that item, conflicts too;
where two requests go on from one response (Responses), each with a text of its own, that is a warning.
Why it matters: the model sees one of them, the books hold the other. A doubled result is mostly a doubled execution:
a worker that came back after a restart and ran the call again.
Bad:
    tool reserve {"type":"object"}
    turn
    call c1 reserve {"seat":"4C"}
    post c1 ok code R1
    post c1 ok code R2
    echo c1 ok code R1
    done c1
    end
Good:
    tool reserve {"type":"object"}
    turn
    call c1 reserve {"seat":"4C"}
    exchange k1 400 c1 ok code R1
    exchange k1 202 c1 ok code R1
    echo c1 ok code R1
    done c1
    end
Blind spots: where answers to posts are not recorded, a post counts as accepted. Histories that are sent again, and
logs of executors, may show a result in words of their own; they are not compared.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer import masking
from analyzer.rules.canonical import alike
from analyzer.rules.hits import NONE, hits, joined, place
from analyzer.trace import Trace

_COMPARED = 100_000  # characters of two results in which their first difference is looked for
_UNFINISHED = ["in_progress", "queued", "calling", "searching"]


def check(trace: Trace) -> pl.DataFrame:
    """Every accepted result of a call after its first, and every result whose copies differ."""
    return joined(_again(trace), _copies(trace))


def _again(trace: Trace) -> pl.DataFrame:
    repeats = trace.results.filter((trace.results["rank"] > 0) & ~trace.results["other_turn"].fill_null(value=False))
    if repeats.is_empty():
        return NONE
    told = ("success", "error", "text", "structured")
    first = trace.results.filter(pl.col("call").is_in(repeats["call"].unique().implode()), pl.col("rank") == 0).select(
        "call", at="event", where="pointer", first_key="key", **{f"first_{name}": pl.col(name) for name in told}
    )
    same = pl.all_horizontal([pl.col(name).eq_missing(pl.col(f"first_{name}")) for name in told])
    again = (
        repeats.join(first, on="call", maintain_order="left")
        .filter((pl.col("key") != pl.col("first_key")).fill_null(value=True))
        .sort("result")
        .select("result", "call", "call_id", "at", "where", "text", "first_text", same=same)
    )
    return hits(
        {
            "result": row["result"],
            "call": row["call"],
            "keyword": "identical" if row["same"] else "conflicting",
            "message": f"The call {row['call_id']} has a second accepted result, "
            + ("identical to the first." if row["same"] else f"which conflicts with the first{_both(row)}."),
            "hint": "Keep every result under its session, turn and call, and post the kept one again with its key."
            if row["same"]
            else "Find out which of the two the books hold: the call has probably run twice.",
            "related": [place(row["at"], row["where"], "first result", row["call_id"])],
        }
        for row in again.iter_rows(named=True)
    )


def _copies(trace: Trace) -> pl.DataFrame:
    """Results whose post and items show different texts; where the flags differ too, error-as-success says so."""
    odd = _altered(trace)
    if odd.is_empty():
        return NONE
    several = trace.results.filter(pl.len().over("call") > 1, pl.col("call").is_not_null())["result"]
    shown = (
        _shown(trace)
        .filter(pl.col("result").is_in(odd.implode()))
        .filter(pl.col("success").drop_nulls().n_unique().over("result") < 2)
        .filter(~pl.col("result").is_in(several.implode()))
        .sort("result", "seq", "event", "pointer")
        .unique(["result", "text"], keep="first", maintain_order=True)
        .select("result", "call_id", "event", "pointer", "text", forked=_forked())
    )
    first: dict[int, dict[str, Any]] = {}
    found: dict[int, dict[str, Any]] = {}
    for row in shown.iter_rows(named=True):
        kept = first.setdefault(row["result"], row)
        if row["result"] not in found and not alike(kept["text"], row["text"]):
            found[row["result"]] = {**row, "first_text": kept["text"]}
    return hits(
        {
            "result": result,
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": "conflicting",
            "confidence": "likely",
            **(_of_branches(row) if row["forked"] and first[result]["forked"] else _of_copies(row)),
            "related": [
                place(first[result]["event"], first[result]["pointer"], "first shown", row["call_id"]),
                place(row["event"], row["pointer"], "shown again", row["call_id"]),
            ],
        }
        for result, row in found.items()
    )


def _forked() -> pl.Expr:
    """Whether a showing is a post of a wire on which several requests may go on from one response."""
    return (pl.col("stage") == "post") & (pl.col("wire") == "openai-responses")


def _of_branches(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "severity": "warning",
        "message": f"Two requests go on from one response, and answer the call {row['call_id']} with texts that "
        f"conflict{_both(row)}.",
        "hint": "Where the branches are not meant, the call has probably run twice: keep its result and send it again.",
    }


def _of_copies(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "message": f"The result of the call {row['call_id']} is shown with two texts that conflict{_both(row)}.",
        "hint": "Find out what rewrites the result between the program that posts it and the model that reads it.",
    }


def _both(row: dict[str, Any]) -> str:
    if row["first_text"] is None or row["text"] is None:
        return ""
    # Masked before they are cut: half a credential is not recognised as one.
    first, second = (masking.mask(text[:_COMPARED]) for text in (row["first_text"], row["text"]))
    if first == second:
        return ""
    at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    start = max(0, at - 12)
    return f": {first[start : at + 24]!r} and then {second[start : at + 24]!r}"


def _shown(trace: Trace) -> pl.DataFrame:
    """The finished showings that have a text."""
    return trace.result_sightings.select(
        "result", "call_id", "seq", "event", "pointer", "success", "text", "stage", "status", "wire"
    ).filter(
        pl.col("result").is_not_null(),
        pl.col("text").is_not_null(),
        pl.col("stage").is_in(["post", "echo"]),
        ~pl.col("status").is_in(_UNFINISHED).fill_null(value=False),
    )


def _altered(trace: Trace) -> pl.Series:
    """The results of which two showings hold different texts."""
    shown = _shown(trace).select("result", "text").sort("result")
    # Each text against the one before: to count different ones is to hash them all.
    return shown.filter((pl.col("text") != pl.col("text").shift(1)) & (pl.col("result") == pl.col("result").shift(1)))[
        "result"
    ].unique()
