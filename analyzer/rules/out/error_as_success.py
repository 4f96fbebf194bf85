"""A failure is dressed as success, or the flag was lost between two ends.

What it says: the result counts as successful, and its text is an error message, or an object that says so (`isError`,
`success: false`, an error and nothing else, a status of 400 and above); or the host posted a failure and the server's
item says completed; or an execution failed, and the model was handed another text that does not say so.
Why it matters: retries, alarms and approvals look at the flag. The model is told that all is well, and goes on.
Bad:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok {"success":false,"error":"no such order"}
Good:
    tool get_order {"type":"object","properties":{}}
    tool run_tests {"type":"object","properties":{}}
    call c1 get_order
    result c1 failed no such order
    call c2 get_order
    result c2 ok {"total":12,"error":null}
    call c3 run_tests
    result c3 ok Error: 2 of 40 failed
Blind spots: where no flag is recorded (Responses, chat, Gemini) a failure can only be told in words, so nothing is said
of it, but where another record shows that the execution failed. An output that its contract accepts is lawful whatever
it says, and a `status` that the contract wants as a number is one if no words stand beside it; several lines that each
begin as an error does are a log, or the list that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.failures import accepted
from analyzer.rules.hits import NONE, hits, joined, place
from analyzer.rules.out.failure_texts import NAMES, OBJECT, OPENS, TELLS, measured, said_failure
from analyzer.rules.payloads import FLAGGED_WIRES, READERS, SHELLS, error_speakers, layers, short
from analyzer.trace import Trace

# Two lines that begin so are no message: somebody's log, or the list of errors that was asked for.
_LINE = re.compile(r"(?im)^\s*\[?(?:error|warn(?:ing)?|info|debug|fatal)\b")


def check(trace: Trace) -> pl.DataFrame:
    """Successful results that tell of a failure, and results whose two ends disagree."""
    return joined(hits(_dressed(trace)), _lost(trace), hits(_kept_back(trace)))


def _dressed(trace: Trace) -> Iterator[dict[str, Any]]:
    texts = trace.results["text"]
    opens, container = (texts.str.contains(pattern) for pattern in (OPENS, OBJECT))
    if not (opens | container).any():
        return
    opening = trace.results.select("result", "tool", "wire", "success", "error", "text", opens=opens, object=container)
    gated = opening.filter(opens | container).filter(
        pl.col("opens") | pl.col("text").str.slice(0, 2000).str.contains(NAMES)
    )
    # Where a wire has a flag, one that was left out says success, too.
    told = gated.filter(pl.col("success").fill_null(pl.col("wire").is_in(FLAGGED_WIRES)), pl.col("error").is_null())
    if told.is_empty():
        return
    apart, readers = (
        pl.col("tool").is_in(error_speakers(trace, words)).fill_null(value=False) for words in (SHELLS, READERS)
    )
    rows = told.with_columns(opens=pl.col("opens") & ~readers).filter(
        ~apart,
        pl.col("opens") | (pl.col("object") & pl.col("text").str.slice(0, 2000).str.contains(NAMES)),
        ~pl.col("result").is_in(accepted(trace, told["result"]).implode()),
    )
    rows = rows.select("result", "text", "opens", measured=pl.col("result").is_in(measured(trace).implode()))
    for result, output, prefixed, measure in rows.iter_rows():
        _, value = layers(output)
        alone = prefixed and len(_LINE.findall(output[:2000])) < 2
        plain = short(output.strip(), 60) if alone else None
        said = said_failure(value, measured=measure) if isinstance(value, dict) else plain
        if said:
            yield {
                "result": result,
                "message": f"The result counts as a success, and its output says that it failed: {said}.",
                "hint": "Report the failure where the wire has a place for it, with a readable reason.",
                "keyword": "dressed",
            }


def _lost(trace: Trace) -> pl.DataFrame:
    shown = trace.result_sightings
    failed = shown["result"].filter(~shown["success"]).unique()
    if failed.is_empty():
        return NONE
    # A success that carries an error contradicts itself, and has lost nothing on the way.
    shown = shown.filter(~(shown["success"] & shown["error"].is_not_null()).fill_null(value=False))
    passed = shown.filter(shown["success"] & shown["result"].is_in(failed.implode()))["result"].unique()
    if passed.is_empty():
        return NONE
    success = pl.col("success")
    ran = shown.filter(shown["stage"] == "executor")["result"].unique()
    # What is resent is no end of its own, but where another wire shows the execution it is all the model was told.
    end = (pl.col("stage") != "history") | pl.col("result").is_in(ran.implode())
    both = (
        shown.filter(pl.col("result").is_in(passed.drop_nulls().implode()))
        .filter(success.is_not_null(), end)
        .sort("result", "seq", "event", "pointer")
        .group_by("result", maintain_order=True)
        .agg(
            success.n_unique().alias("flags"),
            pl.col("event").filter(success).first().alias("good"),
            pl.col("pointer").filter(success).first(),
            pl.col("event").filter(~success).first().alias("bad"),
            pl.col("pointer").filter(~success).first().alias("bad_pointer"),
        )
        .filter(pl.col("flags") > 1)
    )
    return hits(
        {
            "result": result,
            "event": good,
            "pointer": pointer,
            "message": "One end says that the call failed, the other that it succeeded.",
            "hint": "Carry the flag through: a failed result has to arrive as a failure.",
            "keyword": "flag",
            "related": [place(bad, bad_pointer, "failed")],
        }
        for result, _, good, pointer, bad, bad_pointer in both.iter_rows()
    )


def _kept_back(trace: Trace) -> Iterator[dict[str, Any]]:
    """Failed executions of which the model was told something else, on a wire without a flag."""
    shown = trace.result_sightings
    ran = shown.filter((shown["stage"] == "executor") & ~shown["success"])
    if ran.is_empty():
        return
    ran = ran.select("result", ran_text="text", ran_error="error", ran_event="event", ran_pointer="pointer")
    told = shown.filter(
        pl.col("stage") != "executor", pl.col("success").is_null(), pl.col("text").str.strip_chars().str.len_chars() > 0
    ).join(ran.unique("result", keep="first", maintain_order=True), on="result")
    # Whole or in part, or with more around it.
    both = [(pl.col("text"), pl.col(name)) for name in ("ran_text", "ran_error")]
    passed_on = pl.any_horizontal(
        a.str.contains(b, literal=True).fill_null(value=False) for pair in both for a, b in (pair, reversed(pair))
    )
    # A flag elsewhere says it, or `_lost` does.
    flagged = shown.filter(shown["success"].is_not_null() & (shown["stage"] != "executor"))["result"].drop_nulls()
    silent = told.filter(~pl.col("text").str.contains(TELLS), ~passed_on, ~pl.col("result").is_in(flagged.implode()))
    tools = trace.results.select("result", "tool").filter(
        ~pl.col("tool").is_in(error_speakers(trace)).fill_null(value=False)
    )
    rows = (
        silent.join(tools, on="result")
        .sort("result", "seq", "event")
        .unique("result", keep="first", maintain_order=True)
    )
    for row in rows.sort("result").iter_rows(named=True):
        said = short(row["text"].strip(), 60)
        yield {
            "result": row["result"],
            "event": row["event"],
            "pointer": row["pointer"],
            "message": f"The execution failed, and what the model was told does not say so: {said}.",
            "hint": "Hand the failure on in words where the wire has no flag for it.",
            "confidence": "likely",
            "keyword": "kept back",
            "related": [place(row["ran_event"], row["ran_pointer"], "failed")],
        }
