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

from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Executed calls of writing tools under the policy `never`."""
    ran = trace.calls.filter(
        pl.col("name").is_in(sorted(trace.settings.writes)), pl.col("outcome").is_in(["ok", "unknown"])
    ).select("session", "call", "seq", "name", "server")
    policies = trace.approvals.filter(pl.col("policy").is_not_null()).select(
        "session", "policy", for_server="server", for_name="name", at="seq", policy_event="event"
    )
    about = (pl.col("for_server").is_null() | (pl.col("for_server") == pl.col("server"))) & (
        pl.col("for_name").is_null() | (pl.col("for_name") == pl.col("name"))
    )
    return (
        ran.join(policies, on="session")
        .filter(about.fill_null(value=False), pl.col("at") <= pl.col("seq"))
        .sort("call", "at", "policy_event")
        .unique("call", keep="last", maintain_order=True)
        .filter(pl.col("policy") == "never")
        .select(
            "call",
            keyword=pl.lit("policy"),
            message=sentence("{} writes, and it ran while approvals were set to never.", "name"),
            hint=pl.lit("Ask for approval of the tools that write, at least of those that cannot be undone."),
        )
    )
