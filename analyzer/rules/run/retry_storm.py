"""The same call failed again and again.

What it says: how often the same call with the same arguments failed in a row, and whether a later call of the tool
passed (the model repaired it) or none did. The number that counts as a storm is a setting (3).
Why it matters: the model cannot read what is wrong, or nothing is wrong with the call. Every round costs time and money
and changes nothing.
Bad:
    tool ring {"type":"object"}
    turn
    call c1 ring {"floor":3}
    result c1 failed connection refused
    call c2 ring {"floor":3}
    result c2 failed connection refused
    call c3 ring {"floor":3}
    result c3 failed connection refused
    end
Good:
    tool ring {"type":"object"}
    turn
    call c1 ring {"floor":3}
    result c1 failed connection refused
    call c2 ring {"floor":4}
    result c2 failed no such floor
    call c3 ring {"floor":3}
    result c3 ok rung
    end
Blind spots: calls that fail with ever new arguments are not counted together. Polls that answer "not yet" as an error
look like a storm.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.canonical import canonical
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Runs of failures of one call; the evidence is the last of them."""
    by = ["session", "tool"]
    failed = trace.calls.filter(trace.calls["outcome"] == "error").select(by)
    often = failed.group_by(by).len().filter(pl.col("len") >= trace.settings.retries)
    if often.is_empty():
        return hits(())
    calls = (
        trace.calls.filter(pl.col("session").is_in(often["session"].unique().implode(), nulls_equal=True))
        .filter(pl.col("outcome").is_in(["ok", "error", "unknown"]))
        .join(often, on=by, how="semi")
        .sort("session", "tool", "seq", "call")
        .select(*by, "call", "call_id", "name", "text", "outcome", "event", "pointer")
    )
    return hits(_storms(calls, trace.settings.retries))


def _storms(calls: pl.DataFrame, least: int) -> Iterator[dict[str, Any]]:
    for _, tool in calls.group_by("session", "tool", maintain_order=True):
        rows = list(tool.iter_rows(named=True))
        passing = [index for index, row in enumerate(rows) if row["outcome"] == "ok"]
        runs: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            arguments = canonical(row["text"])
            if row["outcome"] == "error":
                runs.setdefault(arguments, []).append(index)
            else:
                yield from _storm(rows, runs.pop(arguments, []), passing, least)
        for run in runs.values():
            yield from _storm(rows, run, passing, least)


def _storm(rows: list[dict[str, Any]], run: list[int], passing: list[int], least: int) -> Iterator[dict[str, Any]]:
    if len(run) < least:
        return
    first, last = rows[run[0]], rows[run[-1]]
    later = bisect_right(passing, run[-1])
    passed = rows[passing[later]] if later < len(passing) else None
    after = (
        f"; after {len(run)} tries {passed['call_id']} passed" if passed else ", and no later call of the tool passed"
    )
    yield {
        "call": last["call"],
        "keyword": "repaired" if passed else "never repaired",
        "message": f"{last['name'] or 'A tool'} failed {len(run)} times with the same arguments{after}.",
        "hint": "Say in the error what would make the call pass, or that trying again will not; bound the retries.",
        "related": [place(first["event"], first["pointer"], "first failure", first["call_id"])],
    }
