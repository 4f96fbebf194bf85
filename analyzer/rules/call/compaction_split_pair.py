"""Compaction, trimming or a fork kept one half of a call and its result.

Wire: Codex rollouts, Responses, chat completions, Anthropic messages

What it says: which half the new history still holds. The pair was whole before.
Why it matters: the next request is refused for the missing half, or the model sees a call of its own without an answer
and makes it again.
Bad:
    function_call c1, function_call_output c1
    compacted: replacement_history [function_call c1]
Good:
    function_call c1, function_call_output c1
    compacted: a summary and replacement_history [function_call c1, function_call_output c1]
Blind spots: where compaction leaves no record (Agents API) nothing can be seen. Of a history that is resent, what
stands before its first difference counts as kept.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.order import record_of
from analyzer.trace import Trace

# Wires on which every request resends the whole history, so that what is missing was cut.
_RESENT = ("openai-chat", "openai-responses", "anthropic-messages")

_INDEX = r"^/(?:messages|input)/(\d+)(?:/|$)"


def check(trace: Trace) -> pl.DataFrame:
    """Pairs of which a replacement history, or a resent one, shows one half only."""
    cuts = trace.summaries.select(record=record_of("event"), what=pl.col("what").fill_null("cut"))
    cuts = cuts.unique("record", keep="first", maintain_order=True)
    columns = ("session", "event", "pointer", "wire", "pair_id", "seq")
    calls = trace.call_sightings.select(*columns, "stage", "call", record=record_of("event"))
    results = trace.result_sightings.join(trace.results.select("result", "call"), on="result", how="left").select(
        *columns, "stage", "call", record=record_of("event")
    )
    # A pair is whole from its result on; a result of the same history says so only if it was there before.
    whole = trace.results.filter(pl.col("rank") == 0, pl.col("call").is_not_null()).select(
        "call", answered="seq", answer=record_of("event")
    )
    # The other half may be new in the request that resends the first, or be sent once more with it.
    kept = pl.col("stage") == "history"
    halves = pl.concat(
        [
            calls.filter(kept)
            .join(results, on=["record", "call"], how="anti")
            .with_columns(half=pl.lit("call"), gone=pl.lit("result")),
            results.filter(kept)
            .join(calls, on=["record", "call"], how="anti")
            .with_columns(half=pl.lit("result"), gone=pl.lit("call")),
        ]
    )
    # What a request adds to a history that is held elsewhere is no history.
    added = trace.events.filter(pl.col("type") == "request.continue").select(record=record_of("event")).unique()
    found = (
        halves.join(whole, on="call")
        .join(added, on="record", how="anti")
        .join(trace.calls.select("call", "kind"), on="call", maintain_order="left")
        # Searches and programs are resent without what they gave, which the server has.
        .filter((pl.col("wire") != "openai-responses") | pl.col("kind").is_in(["function", "custom"]))
        .join(cuts, on="record", how="left")
        .filter(pl.col("what").is_not_null() | pl.col("wire").is_in(list(_RESENT)))
        .filter(pl.col("answer") < pl.col("record"), pl.col("answered") < pl.col("seq"))
        .sort("event", "pointer")
    )
    if found.height:
        found = _whole_before(trace, found, results).unique("call", keep="first", maintain_order=True)
    return hits(
        {
            "session": row["session"],
            "call": row["call"],
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": row["half"],
            "message": f"After {'a ' + row['what'] if row['what'] else 'trimming'} the history holds "
            f"the {row['half']} of {row['pair_id']} and not its {row['gone']}.",
            "hint": "Cut histories between pairs: keep a call with its result, or drop both and say so in the summary.",
        }
        for row in found.iter_rows(named=True)
    )


def _whole_before(trace: Trace, halves: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """The halves without results whose call stands in the beginning of the history.

    A history is shown from where it differs from the one before. A result that is rewritten where it stood (cleared,
    or that of another run) follows what was left as it was, and its call is in that.
    """
    index = pl.col("pointer").str.extract(_INDEX).cast(pl.Int64, strict=False)
    records = pl.col("record").is_in(halves["record"].unique().implode())
    shown = pl.concat(
        [
            frame.select("pointer", record=record_of("event")).filter(records)
            for frame in (trace.messages, trace.call_sightings, trace.result_sightings)
        ]
    )
    differs = shown.select("record", index=index).group_by("record").agg(differs=pl.min("index"))
    stood = results.select("call", "seq", stood=index).drop_nulls().sort("seq")
    return (
        halves.join(differs, on="record", how="left", maintain_order="left")
        .sort("seq")
        .join_asof(stood, on="seq", by="call", allow_exact_matches=False, check_sortedness=False)
        .filter(~((pl.col("half") == "result") & (pl.col("differs") >= pl.col("stood"))).fill_null(value=False))
        .sort("event", "pointer")
    )
