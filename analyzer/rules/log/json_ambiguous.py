"""Two parsers can read two values out of the same record.

What it says: a member that occurs twice in one object, a number beyond 2^53 or not finite, half a surrogate pair, or
bytes that are not UTF-8.
Why it matters: the gate reads one value and the executor another. What was checked is then not what ran.
Bad:
    tool refund {"type":"object"}
    turn
    call c1 refund {"order":"ord_1","amount":5,"amount":5000}
    result c1 ok {}
    end
Good:
    tool refund {"type":"object"}
    turn
    call c1 refund {"order":"ord_1","amount":5}
    result c1 ok {}
    end
Blind spots: members that differ only by case or by Unicode form are told apart, though some parsers do not.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.order import record_of
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace

_FAULTS = ("duplicate_member", "number_inexact", "lone_surrogate", "invalid_utf8")
_OWNERS = ("call", "result")
_HINT = "Refuse such a payload at the gate, and let its writer send one value."


def check(trace: Trace) -> pl.DataFrame:
    """The reader's faults, and payloads that the replay could not judge for this reason."""
    faults = trace.faults.filter(pl.col("fault").is_in(list(_FAULTS)))
    told = (
        _owned(trace, faults)
        .select(
            "session",
            "call",
            "result",
            "call_id",
            "event",
            "pointer",
            keyword="fault",
            message=pl.concat_str(
                pl.lit("The record can be read in two ways: "), pl.col("detail").fill_null(pl.col("fault")), pl.lit(".")
            ),
            hint=pl.lit(_HINT),
        )
        .unique(["event", "pointer", "keyword"], keep="first", maintain_order=True)
    )
    # A call is shown several times: one fault in its payload is one, not one for each copy.
    known = pl.col("call").is_not_null() | pl.col("result").is_not_null()
    told = told.filter(~known | (pl.int_range(pl.len()).over("call", "result", "keyword") == 0))
    calls = trace.calls.select("call", "event")
    results = trace.results.select("result", "event")
    silent = trace.verdicts.filter(pl.col("reason") == "payload_ambiguous")
    by_call = silent.filter(pl.col("role") == "arguments").unique("call", keep="first", maintain_order=True)
    by_result = silent.filter(pl.col("role") == "output").unique("result", keep="first", maintain_order=True)
    judged = pl.concat(
        [
            by_call.join(calls, on="call").select("verdict", "call", "result", "event", what=pl.lit("arguments")),
            by_result.join(results, on="result").select("verdict", "call", "result", "event", what=pl.lit("output")),
        ]
    ).join(faults.select("event"), on="event", how="anti")
    return pl.concat(
        [
            told,
            judged.sort("verdict").select(
                "verdict",
                "call",
                "result",
                keyword=pl.lit("payload"),
                message=sentence(
                    "The {} can be read in two ways: a member occurs twice, or a number is beyond 2^53.",
                    "what",
                ),
                hint=pl.lit(_HINT),
            ),
        ],
        how="diagonal",
    )


def _owned(trace: Trace, faults: pl.DataFrame) -> pl.DataFrame:
    """The faults, in their order, with the call or the result in whose payload they lie."""
    numbered = faults.sort("event", "pointer", maintain_order=True).with_row_index("row")
    record = record_of("event").alias("record")
    found = numbered.select("row", record, where="pointer")
    shown = [
        frame.select(
            record,
            "pointer",
            "call_id",
            **{name: pl.col(name) if name in frame.columns else pl.lit(None, pl.Int64) for name in _OWNERS},
        )
        .filter(pl.any_horizontal(pl.col(*_OWNERS).is_not_null()))
        .join(found, on="record")
        .filter((pl.col("where") + "/").str.starts_with(pl.col("pointer") + "/"))
        for frame in (trace.call_sightings, trace.result_sightings)
    ]
    owners = pl.concat(shown).sort("row", *_OWNERS).unique("row", keep="first", maintain_order=True)
    return numbered.join(owners.select("row", "call_id", *_OWNERS), on="row", how="left", maintain_order="left")
