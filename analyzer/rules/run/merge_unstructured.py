"""A subagent's conclusion is prose where an object is agreed.

What it says: a contract file promises an object from this subagent (an entry `subagent/NAME` with an output schema,
NAME being its id, or `subagent/*` for all), and the last message of its completed turn is not a JSON container.
Why it matters: the parent merges what it reads. From prose it takes what it likes, and nobody can check the merge.
Bad:
    output subagent/scout {"type":"object","properties":{"cause":{"type":"string"}}}
    turn
    turn subagent scout
    say I think the network was down.
    end
    end
Good:
    output subagent/scout {"type":"object","properties":{"cause":{"type":"string"}}}
    turn
    turn subagent scout
    say {"cause":"network"}
    end
    end
Blind spots: whether the object keeps its schema is not judged here. Subagents that answer through a tool are judged by
the tool.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.payloads import decode
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """The last message of every completed subagent turn that has a contract."""
    agreed = (
        trace.contracts.filter(pl.col("server") == "subagent", pl.col("role") == "output")["name"].unique().to_list()
    )
    if not agreed:
        return hits(())
    turns = trace.turns.filter(pl.col("subagent").is_not_null(), pl.col("status") == "completed")
    if "*" not in agreed:
        turns = turns.filter(pl.col("subagent").is_in(sorted(agreed)))
    found = (
        trace.messages.filter(pl.col("role") == "assistant", pl.col("text").is_not_null())
        .join(turns.select("session", "turn", "subagent"), on=["session", "turn"])
        .sort("seq", "event")
        .unique(["session", "turn"], keep="last", maintain_order=True)
    )
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": "conclusion",
            "message": f"The subagent {row['subagent']} concludes in prose; its contract promises an object.",
            "hint": "Let the subagent hand its conclusion in through a tool with that schema.",
        }
        for row in found.iter_rows(named=True)
        if not isinstance(decode(row["text"]), dict | list)
    )
