"""What a command line names of an audited log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.cli import console
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame

    from analyzer.auditing import Audit

_IDS = ("call_id", "pair_id", "item_id")
ADVICE = "`analyzer show --session ID` lists what there is"


def is_no_call(done: Audit, call_id: str) -> bool:
    """Whether no call has this id, by whatever the wire calls it."""
    from polars import col

    ids = [col(name) == call_id for name in _IDS]
    return done.frames["calls"].filter(ids[0] | ids[1] | ids[2]).is_empty()


def told_of(done: Audit, call_id: str, turn: str | None) -> tuple[list[dict[str, Any]], DataFrame]:
    """Of an id that no call has: the rows of RESULTS that name it, and the findings that are told under it."""
    from polars import col, lit

    there = lit(value=True) if turn is None else col("turn") == turn
    results = done.frames["results"].filter(there & ((col("call_id") == call_id) | (col("pair_id") == call_id)))
    return results.to_dicts(), done.findings.filter(there & (col("call_id") == call_id))


def calls_named(done: Audit, call_id: str, turn: str | None) -> DataFrame:
    """The rows of CALLS that have this id, by whatever the wire calls it. Raises UsageError where there are none."""
    from polars import col

    calls = done.frames["calls"]
    for name in _IDS:
        found = calls.filter(col(name) == call_id)
        found = found if turn is None else found.filter(col("turn") == turn)
        if not found.is_empty():
            return found
    near = console.meant(call_id, [each for each in calls["call_id"].unique().to_list() if each])
    raise UsageError(f"no call {call_id!r} in the log{near}", advice=None if near else ADVICE)
