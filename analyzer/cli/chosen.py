"""What a command line names of an audited log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.cli import console
from analyzer.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame

    from analyzer.auditing import Audit

ADVICE = "`analyzer show --session ID` lists what there is"


def calls_named(done: Audit, call_id: str, turn: str | None) -> DataFrame:
    """The rows of CALLS that have this id, by whatever the wire calls it. Raises UsageError where there are none."""
    from polars import col

    calls = done.frames["calls"]
    for name in ("call_id", "pair_id", "item_id"):
        found = calls.filter(col(name) == call_id)
        found = found if turn is None else found.filter(col("turn") == turn)
        if not found.is_empty():
            return found
    near = console.meant(call_id, [each for each in calls["call_id"].unique().to_list() if each])
    raise UsageError(f"no call {call_id!r} in the log{near}", advice=None if near else ADVICE)
