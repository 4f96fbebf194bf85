"""Two parsers can read two values out of the same record.

What it says: a member that occurs twice in one object, a number beyond 2^53 or not finite, half a surrogate pair, or
bytes that are no UTF-8.
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

from analyzer.rules.sentence import sentence
from analyzer.trace import Trace

_FAULTS = ("duplicate_member", "number_inexact", "lone_surrogate", "invalid_utf8")
_HINT = "Refuse such a payload at the gate, and let its writer send one value."


def check(trace: Trace) -> pl.LazyFrame:
    """The reader's faults, and payloads that the replay could not judge for this reason."""
    faults = trace.faults.lazy().filter(pl.col("fault").is_in(list(_FAULTS)))
    told = faults.select(
        "session",
        "event",
        "pointer",
        keyword="fault",
        message=pl.concat_str(
            pl.lit("The record can be read in two ways: "), pl.col("detail").fill_null(pl.col("fault")), pl.lit(".")
        ),
        hint=pl.lit(_HINT),
    ).unique(["event", "pointer", "keyword"], keep="first", maintain_order=True)
    calls = trace.calls.lazy().select("call", "event")
    results = trace.results.lazy().select("result", "event")
    silent = trace.verdicts.lazy().filter(pl.col("reason") == "payload_ambiguous")
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
