"""How tools are called where people read."""

from __future__ import annotations


def bare(tool: str) -> str:
    """`mcp:SERVER:NAME` as SERVER/NAME, `function::NAME` as NAME."""
    kind, _, rest = tool.partition(":")
    server, _, name = rest.partition(":")
    return (f"{server}/{name}" if server else name) if kind and name else tool
