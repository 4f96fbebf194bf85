"""The host's gate said something else than the replay.

Wire: a host's own records
What it says: a gate record in the log lets a call pass that the schema in force refuses, refuses one that it accepts,
or names failures that are none. A record that belongs to no call is told as a warning.
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

from analyzer.frames import MOST_TOLD
from analyzer.rules.failures import failed_members
from analyzer.rules.gates import gated, numbered_gates
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Gate records that differ from the verdict of the call they belong to, and those that belong to no call."""
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
    assigned = gated(trace)
    rows = assigned.join(verdicts.select("call", "verdict", "verdict_is"), on="call", maintain_order="left").join(
        failures, on="verdict", how="left", maintain_order="left"
    )
    alone = numbered_gates(trace).join(assigned, on="gate", how="anti", maintain_order="left")
    differing = [hit for row in rows.iter_rows(named=True) if (hit := _differs(row)) is not None]
    return hits([*differing, *(_unassigned(row) for row in alone.iter_rows(named=True))])


def _differs(row: dict[str, Any]) -> dict[str, Any] | None:
    valid = row["verdict_is"] == "valid"
    ours = {(one["path"], one["reason"]) for one in row["failure"] or []}
    theirs = {(one["path"] or "", one["reason"]) for one in row["failures"] or []}
    # What is no JSON fails no keyword, and of very many failures not all are told: then no list is a difference.
    strange = sorted(theirs - ours, key=str) if valid or 0 < len(ours) < MOST_TOLD else []
    if row["execute"] is not None and row["execute"] != valid:
        keyword, said = (
            "execute",
            (
                "lets a call pass that the schema in force refuses"
                if row["execute"]
                else "refuses a call that the schema accepts"
            ),
        )
    elif strange:
        path, reason = strange[0]
        keyword, said = "fail", f"names a failure that is none: {reason} at {path or 'the root'}"
    else:
        return None
    return {
        "call": row["call"],
        "event": row["event"],
        "pointer": row["pointer"],
        "verdict": None if valid else row["verdict"],
        "message": f"The host's gate record {said}.",
        "hint": "Have the gate judge by the schema that is advertised; compare both with `analyzer gate`.",
        "keyword": keyword,
        "related": [place(row["of"], row["at"], "the call", row["its_id"])],
    }


def _unassigned(row: dict[str, Any]) -> dict[str, Any]:
    of = (
        f"names the call {row['call_id']}, which is not there"
        if row["call_id"]
        else "belongs to no call of the tool that waits"
    )
    return {
        **{name: row[name] for name in ("session", "turn", "event", "pointer", "call_id")},
        "severity": "warning",
        "message": f"A host's gate record of {row['check'] or 'no tool'} {of}.",
        "hint": "Write the call id into every gate record, and keep the calls in the same log.",
        "keyword": "unassigned",
    }
