"""The last record of a file is cut.

What it says: the file ends in the middle of a record, as after a torn write, a full disk or a copy of a growing file.
Why it matters: the end of the last session is missing, so its open calls and its final answer cannot be judged.
Bad:
    turn
    call c1 get_order {"id":"ord_204418"}
    torn {"type":"agent.session.input.tool_result","turn_id":"t1","call_id":"c1","succ
Good:
    turn
    call c1 get_order {"id":"ord_204418"}
    result c1 ok {}
    end
Blind spots: a file that was cut exactly between two records looks whole.
"""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """One hit for each file that ends inside a record."""
    return trace.faults.filter(pl.col("fault") == "truncated").select(
        "session",
        "event",
        pointer=pl.lit(""),
        keyword="fault",
        message=pl.concat_str(
            pl.lit("The last record is cut: "), pl.col("detail").fill_null("the file ends inside it"), pl.lit(".")
        ),
        hint=pl.lit("Copy the log again once its writer has finished."),
    )
