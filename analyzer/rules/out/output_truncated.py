"""The output was cut.

What it says: the text opens a JSON object or list and ends before it is closed, or a note of a host or recorder says
that something was left out (info).
Why it matters: what is missing cannot be judged, and a model that is shown half a list takes it for the whole.
Bad:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok {"orders":[{"id":"ord_1"},{"id":"or
Good:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok {"orders":[]}
    call c2 get_order
    result c2 ok [2026-11-17 09:00] 12 orders read
Blind spots: a text that was cut in the middle and closed again, without a note.
"""

from __future__ import annotations

import polars as pl

from analyzer.replay.payloads import CUT_NOTES
from analyzer.rules.hits import hits, joined
from analyzer.rules.payloads import cut_short, opens_json
from analyzer.rules.results import standing
from analyzer.trace import Trace, of_rows

_NOTE = "|".join(
    each.replace("[", r"\[").replace("]", r"\]").replace("(", r"\(").replace(")", r"\)").replace(".", r"\.")
    for each in CUT_NOTES
)
_TAIL = 64  # characters: blanks beyond it are not worth a search from the front


def check(trace: Trace) -> pl.DataFrame:
    """Results that end open, or that say themselves that they were cut."""
    cut = [
        {
            "result": result,
            "message": f"The output ends after {len(output):,} characters with JSON still open.",
            "hint": "Find who cuts it (a limit of the host, of the recorder, of a column) and return less instead.",
            "keyword": "open",
        }
        for result, output in _ending_open(trace).iter_rows()
        if opens_json(output) and cut_short(output)
    ]
    results = standing(trace)
    noted = results.filter(results["text"].str.contains(_NOTE))
    return joined(hits(cut), _noted(noted, [hit["result"] for hit in cut]))


@of_rows
def _noted(noted: pl.DataFrame, told: list[int]) -> pl.DataFrame:
    return noted.filter(pl.col("container").is_in(["text", "parts"]), ~pl.col("result").is_in(told)).select(
        "result",
        message=pl.lit("The output says itself that something was left out."),
        hint=pl.lit("Return fewer members or pages instead, so that what comes is whole."),
        severity=pl.lit("info"),
        keyword=pl.lit("note"),
    )


def _ending_open(trace: Trace) -> pl.DataFrame:
    """What opens as a container does and may not close it: `result` and `text`."""
    results = standing(trace)[["result", "container", "structured", "text"]]
    opened = results.filter(results["text"].str.contains(r"^\s*(?:\{\s*(?:\"|$)|\[)"))
    return _unclosed(opened, trace)


@of_rows
def _unclosed(opened: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    # A text that was judged was read to its end.
    judged = trace.verdicts.filter(
        (trace.verdicts["role"] == "output") & trace.verdicts["payload"].is_in(["value", "string"])
    )
    unread = opened.filter(
        pl.col("container").is_in(["text", "parts"]),
        pl.col("structured").is_not_null() | ~pl.col("result").is_in(judged["result"].drop_nulls().implode()),
    )
    # What ends as a container does and closes what it opens is whole, or broken elsewhere; only the rest is decoded.
    text = pl.col("text")
    opening, closing = (text.str.count_matches(f"[{brace}]") for brace in "{}")
    return unread.filter(~text.str.tail(_TAIL).str.contains(r"[}\]]\s*$") | (opening > closing)).select(
        "result", "text"
    )
