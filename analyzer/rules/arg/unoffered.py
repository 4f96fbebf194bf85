"""Calls of tools that no table in force offered, where one is recorded that would have to list them."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl

from analyzer.rules.sightings import staged
from analyzer.trace import Trace, shared

_SEPARATOR = re.compile(r"__|[.:/]")
_NO_NAME = ""


class Unoffered(NamedTuple):
    """One such call; `state` and its place are of the last offer before it, `names` what the session offers."""

    call: int
    name: str
    state: str | None
    later: bool
    event: int | None
    pointer: str | None
    names: frozenset[str]
    spaces: tuple[str, ...]  # namespaces under which the session offers a tool of this name; "" is none


@shared
def unoffered(trace: Trace) -> tuple[Unoffered, ...]:
    """All of them, in the order of the calls."""
    lost = _lost(trace, _judged(trace, _unsettled(trace)))
    if lost.is_empty():
        return ()
    unread = _unread(trace, lost)
    names: dict[str, set[str]] = {}
    spaces: dict[tuple[str, str], set[str]] = {}
    sessions = pl.col("session").is_in(lost["session"].unique().implode())
    offered = trace.offers.filter(trace.offers["state"] == "offered").filter(sessions)
    for session, tool in offered.select("session", "tool").unique().iter_rows():
        kind, _, rest = tool.partition(":")
        space, _, name = rest.partition(":")
        names.setdefault(session, set()).add(name)
        if kind != "mcp":
            spaces.setdefault((session, name), set()).add(space)
    rows = []
    for row in lost.iter_rows(named=True):
        session, name, space = row["session"], row["name"] or _NO_NAME, row["server"] or ""
        where = spaces.get((session, name), set())
        # Wires leave a namespace out, or make one of the name; a server, or another namespace, is another matter.
        loose = where and not row["state"] and not row["later"] and space in ("", name)
        if loose or (session, name) in unread or _prefixed(name, names.get(session, set())):
            continue
        rows.append(
            Unoffered(
                *(row["call"], name, row["state"], bool(row["later"]), row["event"], row["pointer"]),
                *(frozenset(names.get(session, ())), tuple(sorted(where))),
            )
        )
    return tuple(rows)


def _unread(trace: Trace, lost: pl.DataFrame) -> set[tuple[str, str]]:
    """Sessions and names that stand in a table where they could not be read, for size or depth: it may offer them."""
    shown = trace.showings.select("session", "table").unique()
    named = (
        lost.select("session", "name")
        .unique()
        .join(shown, on="session")
        .join(trace.tools, on=["table", "name"], how="anti")
    )
    texts = named.join(trace.tables.select("table", "text"), on="table")
    spelled = [pl.concat_str(pl.lit(f'"name":{blank}"'), "name", pl.lit('"')) for blank in ("", " ")]
    held = pl.any_horizontal(pl.col("text").str.contains(each, literal=True) for each in spelled)
    return set(texts.filter(held).select("session", "name").iter_rows())


def resent(trace: Trace) -> pl.Series:
    """The calls that only a resent history shows."""
    resent = staged(trace, "call_sightings", "history")["call"].unique()
    if resent.is_empty():
        return resent
    live = trace.call_sightings.filter(trace.call_sightings["stage"] != "history")
    return resent.filter(~resent.is_in(live["call"].implode()))


def _judged(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Those of the calls whose tool a whole table, shown by the time of the call, would have to list."""
    calls = calls.filter(pl.col("kind").is_in(["function", "custom", "mcp"]))
    if calls.is_empty():
        return calls
    shown = trace.showings.group_by("session", "scope").agg(pl.col("seq").min().alias("first"))
    whole = shown.filter(pl.col("scope") == "all").select("session", "first")
    functions, remote = calls.filter(pl.col("kind") != "mcp"), calls.filter(pl.col("kind") == "mcp")
    rows = [functions.join(whole, on="session")]
    if remote.height:
        listed = shown.filter(pl.col("scope").str.starts_with("server:")).select(
            "session", "first", server=pl.col("scope").str.strip_prefix("server:")
        )
        cut = trace.faults.filter(pl.col("fault") == "more_pages").select("session").unique()
        remote = remote.join(listed, on=["session", "server"]).join(cut, on="session", how="anti")
        rows.append(remote.select(rows[0].columns))
    order = trace.sessions.select("session", "order")
    return (
        pl.concat(rows)
        .filter(pl.col("first") <= pl.col("seq"))
        .join(order, on="session", how="left", maintain_order="left")
    )


def _prefixed(name: str, offered: set[str]) -> bool:
    """Whether the names differ by a client's prefix only: `functions.`, `mcp__server__`, `server/`."""
    return any(name[found.end() :] in offered for found in _SEPARATOR.finditer(name)) or any(
        each[found.end() :] == name for each in offered for found in _SEPARATOR.finditer(each)
    )


def _unsettled(trace: Trace) -> pl.DataFrame:
    """All calls but those of tools that were there before and never changed, as nearly all are."""
    steady = (
        trace.offers.group_by("session", "tool")
        .agg(pl.col("since").min().alias("first_offered"), (pl.col("state") == "offered").all().alias("stayed"))
        .filter("stayed")
    )
    return (
        trace.calls.select("call", "session", "seq", "tool", "name", "kind", "server")
        .join(steady, on=["session", "tool"], how="left", maintain_order="left")
        .filter(~(pl.col("first_offered") <= pl.col("seq")).fill_null(value=False))
    )


def _lost(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """The calls that no offer allows, each with the last offer before it, and whether one came `later`."""
    if calls.is_empty():
        return calls
    offers = trace.offers.select("session", "tool", "since", "after", "exact", "state", "event", "pointer")
    before, offered = pl.col("since") <= pl.col("seq"), pl.col("state") == "offered"
    # An offer first shown after the call may have held at it, unless a table between says otherwise.
    maybe = ~before & ~pl.col("exact") & (pl.col("after").is_null() | (pl.col("after") < pl.col("seq")))
    near = (
        calls.select("call", "session", "tool", "seq", "order")
        .join(offers, on=["session", "tool"])
        .sort("call", "since")
        .group_by("call", maintain_order=True)
        .agg(
            pl.col("state", "since", "event", "pointer").filter(before).last(),
            later=(~before).any(),
            lawful=(offered & (maybe | (pl.col("order") == "files").fill_null(value=False))).any(),
        )
    )
    return (
        calls.join(near, on="call", how="left", maintain_order="left")
        .filter((pl.col("state") != "offered").fill_null(value=True), ~pl.col("lawful").fill_null(value=False))
        # What a resent history alone shows was called under a table that was not recorded.
        .filter(~pl.col("call").is_in(resent(trace).implode()))
        .sort("call")
    )
