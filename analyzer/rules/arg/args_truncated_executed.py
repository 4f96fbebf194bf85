"""A call was cut by a token limit and run all the same.

What it says: the model's output ended inside the call (its status is incomplete), and a result that is no failure
followed.
Why it matters: what ran is the beginning of a call. Where the rest of the arguments was optional, nobody notices.
Bad:
    tool send {"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}}
    item c1 send {"to":"a"}
    done c1 incomplete
    post c1 ok sent
    echo c1 ok sent
Good:
    tool send {"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}}
    item c1 send {"to":"a"}
    done c1 incomplete
    item c2 send {"to":"a","text":"hello"}
    action c2 send {"to":"a","text":"hello"}
    result c2 ok sent
Blind spots: wires that tell a cut only of the whole reply leave open which call it hit.
"""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Incomplete calls with a result."""
    cut = trace.call_sightings.filter(pl.col("status") == "incomplete").select("call").unique()
    return (
        trace.calls.filter(pl.col("outcome").is_in(["ok", "unknown"]), pl.col("result").is_not_null())
        .join(cut, on="call", how="semi", maintain_order="left")
        .select(
            "call",
            message=pl.lit("The call was cut before it was finished (status incomplete), and it ran."),
            hint=pl.lit("Drop calls of an incomplete reply, raise the token limit, and ask the model again."),
            keyword=pl.lit("incomplete"),
        )
    )
