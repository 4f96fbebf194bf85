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
Blind spots: where compaction leaves no record (Agents API) nothing can be seen.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.order import record_of
from analyzer.trace import Trace

# Wires on which every request resends the whole history, so that what is missing was cut.
_RESENT = ("openai-chat", "openai-responses", "anthropic-messages")


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
        .unique("call", keep="first", maintain_order=True)
    )
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
