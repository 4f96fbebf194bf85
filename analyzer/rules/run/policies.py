"""Which approval policy was in force at a call: the wire's own word, or the server's entry in the tool table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.tool.tables import tables
from analyzer.trace import Trace, shared

_ROWS = pl.Schema(
    {
        "session": pl.String,
        "for_server": pl.String,
        "for_name": pl.String,
        "policy": pl.String,
        "at": pl.Int64,
        "policy_event": pl.Int64,
    }
)


@shared
def policies(trace: Trace) -> pl.DataFrame:
    """`call, policy` of each call that has one: the last said before it, that of its tool before its server's."""
    said = pl.concat([_stated(trace), _tabled(trace)])
    if said.is_empty():
        return pl.DataFrame(schema={"call": pl.Int64, "policy": pl.String})
    about = (pl.col("for_server").is_null() | (pl.col("for_server") == pl.col("server"))) & (
        pl.col("for_name").is_null() | (pl.col("for_name") == pl.col("name"))
    )
    return (
        trace.calls.select("session", "call", "seq", "name", "server")
        .join(said, on="session")
        .filter(about.fill_null(value=False), pl.col("at") <= pl.col("seq"))
        .sort("call", "at", pl.col("for_name").is_not_null(), "policy_event")
        .unique("call", keep="last", maintain_order=True)
        .select("call", "policy")
    )


def _stated(trace: Trace) -> pl.DataFrame:
    return (
        trace.approvals.filter(pl.col("policy").is_not_null())
        .select("session", "policy", for_server="server", for_name="name", at="seq", policy_event="event")
        .select(list(_ROWS))
    )


def _tabled(trace: Trace) -> pl.DataFrame:
    entries = [
        (table.table, *entry)
        for table in tables(trace, '"require_approval"')
        for tool in table.tools
        if tool.get("type") == "mcp" and isinstance(tool.get("server_label"), str)
        for entry in _entries(tool["server_label"], tool.get("require_approval"))
    ]
    shown = trace.showings.filter(pl.col("scope") == "all").select("session", "table", at="seq", policy_event="event")
    schema = {"table": pl.String, "for_server": pl.String, "for_name": pl.String, "policy": pl.String}
    return pl.DataFrame(entries, schema=schema, orient="row").join(shown, on="table").select(list(_ROWS))


def _entries(server: str, wanted: Any) -> Iterator[tuple[str, str | None, str]]:
    """Server, tool (null for all of them) and policy; `{"never": {"tool_names": [...]}}` speaks of some tools only."""
    if isinstance(wanted, str):
        yield server, None, wanted
    for policy in ("always", "never") if isinstance(wanted, dict) else ():
        chosen = wanted.get(policy)
        names = chosen.get("tool_names") if isinstance(chosen, dict) else None
        for name in names if isinstance(names, list) else ():
            if isinstance(name, str):
                yield server, name, policy
