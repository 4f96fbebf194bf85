"""An MCP tool was called that its server entry does not allow.

What it says: the entry of the server in the table in force lists the allowed tools, and this one is not among them.
Why it matters: the list stands between the agent and everything else that the server can do; it was not enforced.
Bad:
    server docs search
    mcp m1 docs delete_page {"id":"p1"} ok gone
Good:
    server docs search
    server wiki
    mcp m1 docs search {"q":"x"} ok found
    mcp m2 wiki edit {"q":"x"} ok done
Blind spots: lists that changed between two snapshots allow what either of them allows.
"""

from __future__ import annotations

import polars as pl

from analyzer.pointer import join
from analyzer.rules.hits import hits, place
from analyzer.rules.tool.tables import allowed_tools, tables
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """MCP calls that neither the last table before them nor the next one allows."""
    calls = trace.calls.filter(pl.col("kind") == "mcp", pl.col("name").is_not_null(), pl.col("server").is_not_null())
    remote = calls.select("call", "session", "seq", "server", "name").sort("call")
    if remote.is_empty():
        return hits(())
    entries: dict[tuple[str, str], tuple[list[str] | None, int]] = {}
    for table in tables(trace, '"mcp"'):
        for index, tool in enumerate(table.tools):
            if tool.get("type") == "mcp" and isinstance(tool.get("server_label"), str):
                entries[table.table, tool["server_label"]] = allowed_tools(tool), index
    shown: dict[str, list[tuple[int, str, int, str]]] = {}
    whole = trace.showings.filter(pl.col("scope") == "all", pl.col("table").is_not_null())
    for row in whole.sort("seq", "event", "pointer").select("session", "seq", "table", "event", "pointer").iter_rows():
        shown.setdefault(row[0], []).append(row[1:])
    found = []
    for call, session, seq, server, name in remote.iter_rows():
        around = [each for each in shown.get(session, ()) if each[0] <= seq][-1:]
        around += [each for each in shown.get(session, ()) if each[0] > seq][:1]
        known = [(entries[each[1], server], each) for each in around if (each[1], server) in entries]
        if not known or any(allowed is None or name in allowed for (allowed, _), _ in known):
            continue
        (allowed, index), (_, _, event, pointer) = known[0]
        found.append(
            {
                "call": call,
                "message": f"{name} is not among the allowed tools of {server}: {', '.join(allowed or []) or 'none'}.",
                "hint": "Refuse the call where the list is enforced, or allow the tool if that is meant.",
                "keyword": "allowed_tools",
                "related": [place(event, join(pointer, index), "allow list")],
            }
        )
    return hits(found)
