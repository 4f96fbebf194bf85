"""The host's own gate said no, and the call ran.

Wire: host gate records

What it says: a recorded gate verdict has `execute: false` for this call, and a successful result followed.
Why it matters: the gate works and is not obeyed. Whatever it stops on paper is done.
Bad:
    {"check":"refund","schema":"parameters","pass":[],"fail":[{"path":"/order","reason":"pattern"}],"execute":false}
    result c1 ok paid
Good:
    {"check":"refund","schema":"parameters","pass":[],"fail":[{"path":"/order","reason":"pattern"}],"execute":false}
    result c1 failed refused by the gate
Blind spots: a host that reports a refusal as a success looks as if it had run the call. Records that name no call are
given to the latest pending call of their tool.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.gates import gated
from analyzer.rules.hits import hits, place
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Refusals whose call was answered with success."""
    if not trace.gates.select((~pl.col("execute")).any()).item():
        return hits(())
    found = (
        gated(trace)
        .filter(~pl.col("execute"), pl.col("outcome") == "ok")
        # Of another file nobody knows when the gate was asked.
        .filter(~pl.col("ordered") | (pl.col("answered") > pl.col("seq")))
        .with_columns(why=_why())
        .unique("call", keep="last", maintain_order=True)
        .sort("call")
    )
    return hits(
        {
            "call": row["call"],
            "keyword": "execute",
            "message": f"The gate refused {row['name'] or 'the call'}{row['why'] or ''}, and it ran all the same.",
            "hint": "Let nothing run that the gate has refused; answer the call with the gate's reasons instead.",
            "related": [place(row["event"], row["pointer"], "gate record", row["its_id"])],
        }
        for row in found.iter_rows(named=True)
    )


def _why() -> pl.Expr:
    """The first reason of the gate, in brackets."""
    first = pl.col("failures").list.first()
    path, reason = first.struct.field("path"), first.struct.field("reason")
    return sentence(" ({}: {})", path.fill_null(""), reason.fill_null("no reason"))
