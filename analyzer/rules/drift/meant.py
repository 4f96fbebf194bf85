"""Which of the tools of one name an entry of a contract file means."""

from __future__ import annotations

import polars as pl


def meant(rows: pl.DataFrame, promised: str, *within: str) -> pl.DataFrame:
    """The rows without those of tools that an entry under a bare name does not mean.

    Each row is a tool with a schema beside an entry of its name: `tool, role, schema_id, name, server, file`, `at` (the
    tool's own server, or null) and the entry's schema in the column `promised`. A tool with an entry under its server's
    name is meant by that alone. Else the function of that name is meant where there is one, or else the tool that shows
    the entry's schema; where none does, it may be any of them. What is offered in another of `within` (a session) says
    nothing.
    """
    bare, named = rows.filter(pl.col("server").is_null()), rows.filter(pl.col("server").is_not_null())
    bare = bare.join(named, on=["tool", "role"], how="anti", maintain_order="left")
    by = [*within, "name", "role", "file"]
    for likely in (pl.col("at").is_null(), (pl.col("schema_id") == pl.col(promised)).any().over(*by, "tool")):
        bare = bare.filter(likely | ~likely.any().over(by))
    return pl.concat([named, bare])
