"""Every tool of an MCP server may be called.

What it says: the server's entry has no list of allowed tools.
Why it matters: whoever runs the server decides, at any time, what the agent can do.
Bad:
    server docs
    turn
Good:
    server docs search
    turn
Blind spots: allow lists that a gateway keeps elsewhere.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.tool.tables import allowed_tools, tables
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Server entries without an allow list; each server once."""
    found = {}
    for table in tables(trace, '"mcp"'):
        for index, tool in enumerate(table.tools):
            label = tool.get("server_label")
            if (
                tool.get("type") == "mcp"
                and isinstance(label, str)
                and label not in found
                and allowed_tools(tool) is None
            ):
                found[label] = {
                    "session": table.session,
                    "event": table.event,
                    "pointer": table.at(index),
                    "channel": table.channel,
                    "message": f"The server {label} has no list of allowed tools: all of its tools may be called.",
                    "hint": "List the tools that the agent needs in allowed_tools.",
                    "keyword": "allowed_tools",
                    "schema_pointer": f"/{label}",
                }
    return hits(found[label] for label in sorted(found))
