"""The names under which one tool of an MCP server is known: clients flatten server and name in different ways.

`server/tool`, `server.tool`, `mcp__server__tool` and the bare `tool` all mean the tool of that server. A log has either
the server beside the name or the flattened name alone, and a contract file any of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

_PREFIX = "mcp__"
_OTHER = re.compile(r"[^A-Za-z0-9_-]")  # what clients replace in the names of servers and tools
_NOT_SERVERS = frozenset({"functions", "subagent"})


def spellings(server: str | None, name: str) -> Iterator[tuple[str | None, str]]:
    """What else a log may call the tool that a contract names: (server, name), without this spelling itself."""
    if server is None and name.startswith(_PREFIX):
        at, found, tool = name[len(_PREFIX) :].partition("__")
        if found and at and tool:
            yield at, tool
    elif server is None:
        at, dot, tool = name.partition(".")
        if dot and at and tool:
            yield (None, tool) if at in _NOT_SERVERS else (at, tool)
            if at not in _NOT_SERVERS:
                yield None, _flat(at, tool)
    elif server not in _NOT_SERVERS:
        yield None, _flat(server, name)
        flat = _OTHER.sub("_", server)
        if flat != server:
            yield flat, name


def _flat(server: str, name: str) -> str:
    return f"{_PREFIX}{_OTHER.sub('_', server)}__{_OTHER.sub('_', name)}"


def spelled(contracts: pl.DataFrame) -> pl.DataFrame:
    """CONTRACTS, and each entry again under the other names of its tool; what a file spells itself is kept."""
    more = [
        {**row, "server": server, "name": name}
        for row in contracts.iter_rows(named=True)
        for server, name in spellings(row["server"], row["name"])
    ]
    if not more:
        return contracts
    every = pl.concat([contracts, pl.DataFrame(more, schema=contracts.schema)])
    return every.unique(["server", "name", "role", "version"], keep="first", maintain_order=True)


def unmatched(entries: set[tuple[str | None, str]], called: set[tuple[str | None, str]]) -> list[str]:
    """The labels of contracts' tools that no call of the logs has any name of, sorted; a bare name fits any server."""
    names = {name for _, name in called}

    def is_met(server: str | None, name: str) -> bool:
        every = [(server, name), *spellings(server, name)]
        return any(each in called or (each[0] is None and each[1] in names) for each in every)

    return sorted(
        f"{server}/{name}" if server else name
        for server, name in entries
        if server not in _NOT_SERVERS and not is_met(server, name)
    )
