"""A subagent called a function of the application.

What it says: the call stands in a turn of a subagent. Subagents of the Agents API inherit servers, search and shell,
and have no function tools.
Why it matters: the host answers a call that it cannot place: it comes with another agent's instructions and context,
and rules that hold for the root agent (approvals, limits) were not applied to it.
Bad:
    tool page_oncall {"type":"object"}
    turn
    turn subagent scout
    call c1 page_oncall {"team":"net"}
    result c1 ok paged
    end
    end
Good:
    tool page_oncall {"type":"object"}
    server docs
    turn
    turn subagent scout
    mcp m1 docs search {} ok found
    end
    call c1 page_oncall {"team":"net"}
    result c1 ok paged
    end
Blind spots: a call whose turn was never shown cannot be given to a subagent. Other wires allow such calls.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Function calls in turns of subagents."""
    return (
        trace.calls.filter(
            pl.col("subagent").is_not_null(), pl.col("kind") == "function", pl.col("wire") == "openai-agents-api"
        )
        .sort("call")
        .select(
            "call",
            keyword=pl.lit("subagent"),
            message=sentence(
                "The subagent {} called {}, a function of the application; subagents have no function tools.",
                "subagent",
                pl.col("name").fill_null("a function"),
            ),
            hint=pl.lit("Let the root agent make the call, or offer the tool to the subagent through a server."),
        )
    )
