"""A writing tool ran while approvals were switched off.

Wire: Responses, Codex rollouts

What it says: a tool that the configuration declares writing ran, and the approval policy in force was "never".
Why it matters: no person and no rule stood between the model and the change.
Bad:
    approval policy: never
    call c1 remove_tree {"path":"/srv"}, result ok
Good:
    approval policy: always
    call c1 remove_tree {"path":"/srv"}, approved, result ok
Blind spots: the Agents API does not record the policy. Only tools that are declared writing are looked at.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.run.policies import policies
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Executed calls of writing tools under the policy `never`."""
    ran = trace.calls.filter(
        pl.col("name").is_in(sorted(trace.settings.writes)), pl.col("outcome").is_in(["ok", "unknown"])
    ).select("call", "name")
    if ran.is_empty():
        return NONE
    return (
        ran.join(policies(trace), on="call")
        .filter(pl.col("policy") == "never")
        .sort("call")
        .select(
            "call",
            keyword=pl.lit("policy"),
            message=sentence("{} writes, and it ran while approvals were set to never.", "name"),
            hint=pl.lit("Ask for approval of the tools that write, at least of those that cannot be undone."),
        )
    )
