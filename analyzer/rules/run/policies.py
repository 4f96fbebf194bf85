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
    calls = trace.calls.select("session", "call", "seq", for_name="name", for_server="server").sort("seq")
    said = said.sort("at", "policy_event")
    narrow = ("for_server", "for_name")
    last = [
        calls.join_asof(
            of.drop([name for name in narrow if name not in by]),
            left_on="seq",
            right_on="at",
            by=["session", *by],
            check_sortedness=False,
        ).select("call", "policy", "at", "policy_event", named=pl.lit("for_name" in by))
        for by in ((), narrow[:1], narrow[1:], narrow)
        if (of := said.filter(pl.col(name).is_not_null() == (name in by) for name in narrow)).height
    ]
    return (
        pl.concat(last)
        .drop_nulls("policy")
        .sort("call", "at", "named", "policy_event")
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
