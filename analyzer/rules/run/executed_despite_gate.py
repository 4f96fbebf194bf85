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

from analyzer.rules.hits import hits, place
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Refusals whose call was answered with success."""
    if not trace.gates.select((~pl.col("execute")).any()).item():
        return hits(())
    ran = (
        trace.calls.filter(pl.col("outcome") == "ok")
        .join(trace.results.select("result", answered="seq"), on="result")
        .select("session", "call", "call_id", "name", "answered", called="seq", call_turn="turn")
    )
    refused = trace.gates.filter(~pl.col("execute")).with_row_index("gate")
    refused = refused.select(
        "gate", "session", "turn", "check", "seq", "event", "pointer", wanted="call_id", why=_why()
    )
    in_turn = pl.col("turn").is_null() | (pl.col("turn") == pl.col("call_turn"))
    after = pl.col("answered") > pl.col("seq")
    named = refused.join(ran, left_on=["session", "wanted"], right_on=["session", "call_id"], coalesce=False)
    named = named.filter(after, in_turn)
    unnamed = refused.filter(pl.col("wanted").is_null()).join(
        ran, left_on=["session", "check"], right_on=["session", "name"], coalesce=False
    )
    unnamed = unnamed.filter(after, pl.col("called") <= pl.col("seq"))
    found = (
        pl.concat([named, unnamed])
        .sort("gate", "called", "call")
        .unique("gate", keep="last", maintain_order=True)
        .unique("call", keep="last", maintain_order=True)
        .sort("call")
    )
    return hits(
        {
            "call": row["call"],
            "keyword": "execute",
            "message": f"The gate refused {row['name'] or 'the call'}{row['why'] or ''}, and it ran all the same.",
            "hint": "Let nothing run that the gate has refused; answer the call with the gate's reasons instead.",
            "related": [place(row["event"], row["pointer"], "gate record", row["call_id"])],
        }
        for row in found.iter_rows(named=True)
    )


def _why() -> pl.Expr:
    """The first reason of the gate, in brackets."""
    first = pl.col("failures").list.first()
    path, reason = first.struct.field("path"), first.struct.field("reason")
    return sentence(" ({}: {})", path.fill_null(""), reason.fill_null("no reason"))
