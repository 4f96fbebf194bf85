"""More subagents ran at once than the session allows.

What it says: how many subagents had a turn under way at that place, and the limit that the session's settings state.
Why it matters: the limit bounds cost and the load on the tools behind it. Whoever set it believes that it holds.
Bad:
    subagents 1
    turn
    turn subagent scout
    turn subagent clerk
    end
    end
    end
Good:
    subagents 1
    turn
    turn subagent scout
    end
    turn subagent clerk
    end
    end
Blind spots: a subagent counts while one of its turns is open; one that is kept open between turns does not. Without a
stated limit nothing is said, nor of those who were at work before the limit was lowered. The first limit that a
recording states is taken to have held before it, too, and then the confidence is likely.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """The first place of each session where more subagents are at work than its limit."""
    stated = trace.session_states.filter(pl.col("max_subagents").is_not_null())
    limits = stated.select("session", "seq", limit="max_subagents").sort("seq")
    first = limits.unique("session", keep="first", maintain_order=True).select("session", first="limit")
    turns = trace.turns.filter(pl.col("subagent").is_not_null())
    columns = ("session", "turn", "subagent")
    steps = pl.concat(
        [
            turns.select(*columns, seq="since", step=pl.lit(1)),
            turns.filter(pl.col("until").is_not_null()).select(*columns, seq="until", step=pl.lit(-1)),
        ]
    )
    by = ["session", "subagent"]
    # A subagent with several open turns counts once: only its first opening and last closing change the number.
    open_turns = pl.col("step").cum_sum().over(by)
    changed = ((pl.col("step") == 1) & (open_turns == 1)) | ((pl.col("step") == -1) & (open_turns == 0))
    found = (
        steps.sort("session", "seq", "step", "turn")
        .filter(changed)
        .with_columns(running=pl.col("step").cum_sum().over("session"))
        .filter(pl.col("step") == 1)
        .sort("seq", "session", "turn")
        .join_asof(limits, on="seq", by="session", check_sortedness=False)
        .join(first, on="session", how="left", maintain_order="left")
        .with_columns(late=pl.col("limit").is_null(), limit=pl.coalesce("limit", "first"))
        .filter(pl.col("running") > pl.col("limit"))
        .unique("session", keep="first", maintain_order=True)
    )
    if found.is_empty():
        return hits(())
    events = trace.events.select("session", "seq", "event")
    placed = found.join(events, on=["session", "seq"], maintain_order="left")
    return hits(
        {
            "session": row["session"],
            "turn": row["turn"],
            "event": row["event"],
            "pointer": "",
            "keyword": "limit",
            "confidence": "likely" if row["late"] else None,
            "message": f"{row['running']} subagents are at work at once; the session allows {row['limit']}.",
            "hint": "Look at who starts subagents, and whether the limit was meant.",
        }
        for row in placed.iter_rows(named=True)
    )
