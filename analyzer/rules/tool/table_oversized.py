"""The tool table is large.

Wire: large tables do not fit into a manual
What it says: a table takes 128 KiB or more: its bytes, its share of the 3 MiB that the Agents API takes, its largest
tools. Past 3 MiB it is a warning.
Why it matters: the table is sent with every request, and every tool that is not needed is one to choose wrongly.
Bad:
    event {"type":"agent.session.created","session":{"id":"s1","agent":{"tools":[]}}}
Good:
    tool find {"type":"object","properties":{}}
    turn
Blind spots: bytes are counted as recorded; the provider counts compact JSON.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.tool.tables import name_of, size, tables
from analyzer.trace import Trace

LEAST = 128 << 10
MOST = 3 << 20


def check(trace: Trace) -> pl.DataFrame:
    """Tables over the threshold."""
    large = trace.tables.filter(pl.col("text").str.len_bytes() >= LEAST)
    if large.is_empty():
        return hits(())
    found = []
    for table in tables(trace.with_frames(tables=large)):
        sizes = sorted(
            ((size(tool), index) for index, tool in enumerate(table.tools)), key=lambda one: (-one[0], one[1])
        )
        total = sum(each for each, _ in sizes)
        if total < LEAST:
            continue
        largest = ", ".join(f"{name_of(table.tools[index]) or index} ({each:,} bytes)" for each, index in sizes[:3])
        found.append(
            {
                "session": table.session,
                "event": table.event,
                "pointer": table.at(sizes[0][1]),
                "channel": table.channel,
                "message": f"The table takes {total:,} bytes, {total / MOST:.0%} of the limit; the largest: {largest}.",
                "hint": "Defer what is seldom needed, and cut descriptions to what the model has to know.",
                "severity": "warning" if total > MOST else None,
                "keyword": "bytes",
            }
        )
    return hits(found)
