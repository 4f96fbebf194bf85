"""The host's gate said something else than the replay.

Wire: a host's own records
What it says: a gate record in the log lets a call pass that the schema in force refuses, refuses one that it accepts,
or names failures that are none.
Why it matters: the gate enforces another contract than the one that the model was shown.
Bad:
    {"check":"get_order","schema":"parameters","pass":["id"],"fail":[],"execute":true}   where id breaks its pattern
Good:
    {"check":"get_order","schema":"parameters","pass":[],"fail":[{"path":"/id","reason":"pattern"}],"execute":false}
Blind spots: a gate may stop at the first failure, so a shorter list is no difference. `pass` is not compared.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.failures import failed_members
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Gate records that differ from the verdict of the call they belong to."""
    if trace.gates.is_empty():
        return hits(())
    verdicts = trace.verdicts.filter(
        pl.col("role") == "arguments", pl.col("side") == "advertised", pl.col("verdict_is").is_in(["valid", "invalid"])
    )
    failures = (
        trace.violations.join(verdicts, on="verdict", how="semi")
        .select("verdict", failure=pl.struct(path=failed_members(), reason="keyword"))
        .group_by("verdict")
        .agg("failure")
    )
    rows = (
        gated(trace)
        .join(verdicts.select("call", "verdict", "verdict_is"), on="call", maintain_order="left")
        .join(failures, on="verdict", how="left", maintain_order="left")
    )
    return hits(hit for row in rows.iter_rows(named=True) if (hit := _differs(row)) is not None)


def gated(trace: Trace) -> pl.DataFrame:
    """GATES with the call each belongs to: the one it names, else the latest of its tool before it."""
    gates = trace.gates.sort("session", "seq", "event", "pointer").with_row_index("gate")
    calls = trace.calls.select("session", "call", "call_id", of="event", at="pointer", begun="seq", name="name")
    named = gates.filter(pl.col("call_id").is_not_null()).join(calls, on=["session", "call_id"])
    guessed = gates.filter(pl.col("call_id").is_null()).join(
        calls.drop("call_id"), left_on=["session", "check"], right_on=["session", "name"]
    )
    both = pl.concat([named.drop("name"), guessed], how="diagonal").filter(pl.col("begun") <= pl.col("seq"))
    return both.sort("gate", "begun").unique("gate", keep="last", maintain_order=True)


def _differs(row: dict[str, Any]) -> dict[str, Any] | None:
    valid = row["verdict_is"] == "valid"
    ours = {(one["path"], one["reason"]) for one in row["failure"] or []}
    theirs = {(one["path"] or "", one["reason"]) for one in row["failures"] or []}
    strange = sorted(theirs - ours, key=str)
    if row["execute"] is not None and row["execute"] != valid:
        said = (
            "lets a call pass that the schema in force refuses"
            if row["execute"]
            else "refuses a call that the schema accepts"
        )
    elif strange and not valid:
        path, reason = strange[0]
        said = f"names a failure that is none: {reason} at {path or 'the root'}"
    else:
        return None
    return {
        "call": row["call"],
        "event": row["event"],
        "pointer": row["pointer"],
        "verdict": None if valid else row["verdict"],
        "message": f"The host's gate record {said}.",
        "hint": "Have the gate judge by the schema that is advertised; compare both with `analyzer gate`.",
        "keyword": "execute" if "call" in said else "fail",
        "related": [place(row["of"], row["at"], "the call", row["call_id"])],
    }
