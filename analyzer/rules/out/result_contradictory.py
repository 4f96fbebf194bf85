"""A result says two things at once.

What it says: success and an error are both there, output and error are both set, or the call failed and nothing says
why.
Why it matters: two readers of one result come to two conclusions, and a failure without a reason is repeated.
Bad:
    tool send {"type":"object","properties":{}}
    call c1 send
    result c1 failed
Good:
    tool send {"type":"object","properties":{}}
    call c1 send
    result c1 ok
    call c2 send
    result c2 failed mailbox full
Blind spots: whether a reason can be understood is not judged. MCP and hosted calls have shapes of their own.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Results of functions whose flag, output and error do not go together."""
    flagged = trace.results.filter(trace.results["error"].is_not_null() | ~trace.results["success"])
    if flagged.is_empty():
        return NONE
    said_error = pl.col("error").str.contains(r"\S").fill_null(value=False)
    said_text = pl.col("text").str.contains(r"\S").fill_null(value=False)
    bad = ~pl.col("success").fill_null(value=True)
    # The status of a posted result is that of the server's item: a failure it calls completed is OUT006.
    completed = (pl.col("status") == "completed").fill_null(value=False) & ~(bad & (pl.col("stage") == "post"))
    good = pl.col("success").fill_null(value=False) | completed
    mute = bad & ~said_error & ~said_text & pl.col("structured").is_null()
    return flagged.filter(
        pl.col("stage") != "executor",
        ~pl.col("tool").str.contains("^(?:mcp:|hosted)").fill_null(value=False),
        (good & said_error) | (said_text & said_error) | mute,
    ).select(
        "result",
        message=pl.when(good & said_error & said_text)
        .then(pl.lit("The result is a success, and output and error are both set."))
        .when(good & said_error)
        .then(pl.lit("The result is a success, and an error is set."))
        .when(mute)
        .then(pl.lit("The result is a failure, and neither error nor output says why."))
        .otherwise(pl.lit("The result is a failure, and output and error are both set.")),
        hint=pl.lit("A success has an output, a failure has an error that can be read: send one of them."),
        keyword=pl.when(mute).then(pl.lit("mute")).otherwise(pl.lit("both")),
    )
