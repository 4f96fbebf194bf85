"""Calls under the key of the tool that they mean, where their wire spells its name in another way than its table."""

from __future__ import annotations

import polars as pl

#: The namespace that models put before the functions they are shown in none.
_ALL_FUNCTIONS = "functions"


def as_offered(calls: pl.DataFrame, offers: pl.DataFrame) -> pl.DataFrame:
    """The calls, of which those of functions that their session offers nowhere may have another `tool`.

    A namespace that is left out is the only one that offers the name, and `functions` is none.
    """
    own = offers.select("session", "tool").unique()
    strange = calls.filter(calls["kind"] == "function").select("call", "session", "tool", "server", "name")
    strange = strange.join(own, on=["session", "tool"], how="anti")
    if strange.is_empty() or own.is_empty():
        return calls
    bare = pl.coalesce(pl.col("name").str.strip_prefix(f"{_ALL_FUNCTIONS}."), "name")
    server = pl.col("server").fill_null("")
    strange = strange.filter(server.is_in(["", _ALL_FUNCTIONS])).select("call", "session", name=bare)
    meant = (
        own.filter(pl.col("tool").str.contains("^(function|namespace):"))
        .select("session", meant="tool", name=pl.col("tool").str.replace("^[^:]*:[^:]*:", ""))
        .filter(pl.len().over("session", "name") == 1)
        .join(strange, on=["session", "name"])
        .select("call", tool="meant")
    )
    return calls.update(meant, on="call", how="left", maintain_order="left") if meant.height else calls
