"""Which call a host's gate record is about."""

from __future__ import annotations

import polars as pl

from analyzer.rules.order import source_of
from analyzer.trace import Trace, shared


@shared
def numbered_gates(trace: Trace) -> pl.DataFrame:
    """GATES with `seq`, in order, numbered in `gate`."""
    return trace.gates.sort("session", "seq", "event", "pointer").with_row_index("gate")


@shared
def gated(trace: Trace) -> pl.DataFrame:
    """The gate records with the call each is about: the one it names, else the latest of its tool that waits.

    A record of another file than its call's stands at the end of the session, whenever it was written: it is about the
    call it names, else about the only one of its tool. `ordered` says that its place tells when the gate was asked.
    """
    answered = trace.results.select("result", answered="seq")
    calls = trace.calls.select(
        *("session", "call", "name", "outcome", "result"),
        its_id="call_id",
        its_turn="turn",
        of="event",
        at="pointer",
        begun="seq",
    ).join(answered, on="result", how="left", maintain_order="left")
    gates = numbered_gates(trace)
    by_id, by_name = gates["call_id"].is_not_null(), gates["call_id"].is_null()
    both = pl.concat(
        [
            _joined(gates.filter(by_id), calls, "call_id", "its_id").with_columns(named=True, only=False),
            _joined(gates.filter(by_name), calls, "check", "name").with_columns(
                named=False, only=pl.len().over("gate") == 1
            ),
        ]
    ).with_columns(ordered=source_of("event") == source_of("of"), elsewhere=pl.col("turn") != pl.col("its_turn"))
    waits = pl.col("answered").is_null() | (pl.col("answered") > pl.col("seq"))
    in_place = (pl.col("begun") <= pl.col("seq")) & (pl.col("named") | waits)
    told = both.filter(pl.when("ordered").then(in_place).otherwise(pl.col("named") | pl.col("only")))
    return told.sort(
        "gate", pl.col("elsewhere").fill_null(value=False), "begun", "call", descending=[False, True, False, False]
    ).unique("gate", keep="last", maintain_order=True)


def _joined(gates: pl.DataFrame, calls: pl.DataFrame, left: str, right: str) -> pl.DataFrame:
    found = gates.join(
        calls, left_on=["session", left], right_on=["session", right], nulls_equal=True, coalesce=False
    ).filter(pl.col(right).is_not_null())
    return found.drop("session_right")
