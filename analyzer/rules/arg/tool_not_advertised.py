"""A call names a tool that was not in the table in force.

What it says: at the model call no table of the session offered this tool: it never was there, it came later, it had
been removed, or it differs by case or by a letter. The nearest name that was offered is given. Where no table is
recorded, it is told that the host or server itself knew no such tool, in its words (likely).
Why it matters: the model made the tool up, or holds one that is gone. Executors that look names up loosely run
something; those that do not, fail in a way the model cannot read.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    call c1 get_orders {"id":"ord_204418"}
    result c1 failed unknown tool
Good:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    server docs
    call c1 get_order {"id":"ord_204418"}
    result c1 ok {}
    call c2 functions.get_order {"id":"ord_204418"}
    result c2 ok {}
    mcp m1 docs search {} ok found
Blind spots: nothing is said where no whole table is recorded, of servers that were never listed or listed in part, of
hosted tools, of deferred tools that a search may have loaded, and of a tool that came or went between two snapshots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import polars as pl

from analyzer.contracts.nearest import did_you_mean
from analyzer.rules.arg.unknown_to_host import unknown_to_host
from analyzer.rules.hits import hits, place
from analyzer.rules.sightings import staged
from analyzer.trace import Trace
from analyzer.visible import homoglyph_note

_SEPARATOR = re.compile(r"__|[.:/]")


def check(trace: Trace) -> pl.DataFrame:
    """Calls without an offer at their place, where the table is known; then those that the host did not know."""
    lost = _lost(trace, _judged(trace, _unsettled(trace)))
    return hits([*_unoffered(trace, lost), *unknown_to_host(trace, lost["call"])])


def _unoffered(trace: Trace, lost: pl.DataFrame) -> Iterator[dict[str, Any]]:
    if lost.is_empty():
        return
    unread = _unread(trace, lost)
    names: dict[str, set[str]] = {}
    spaced: set[tuple[str, str]] = set()
    bare = pl.col("tool").str.replace("^.*:", "")
    sessions = pl.col("session").is_in(lost["session"].unique().implode())
    offered = trace.offers.filter(trace.offers["state"] == "offered").filter(sessions)
    for session, tool, name in offered.select("session", "tool", bare.alias("name")).unique().iter_rows():
        names.setdefault(session, set()).add(name)
        if not tool.startswith("mcp:"):
            spaced.add((session, name))
    for row in lost.iter_rows(named=True):
        # Wires leave a namespace out, or make one of the name; a server is another matter.
        if (
            (row["session"], row["name"]) in unread
            or ((row["session"], row["name"]) in spaced and not row["state"] and not row["later"])
            or _prefixed(row["name"], names.get(row["session"], set()))
        ):
            continue
        yield {
            "call": row["call"],
            "message": f"The tool {row['name']} {_why(row['state'], later=bool(row['later']))}."
            if row["name"]
            else "The call names no tool: the name is empty.",
            "hint": _hint(row["name"], frozenset(names.get(row["session"], ()))),
            "keyword": "withdrawn" if row["state"] else "later" if row["later"] else "unknown",
            "related": [place(row["event"], row["pointer"], "withdrawn")] if row["state"] else None,
        }


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


def _resent(trace: Trace) -> pl.Series:
    """The calls that only a resent history shows."""
    resent = staged(trace, "call_sightings", "history")["call"].unique()
    if resent.is_empty():
        return resent
    live = trace.call_sightings.filter(trace.call_sightings["stage"] != "history")
    return resent.filter(~resent.is_in(live["call"].implode()))


def _judged(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Those of the calls whose tool a whole table, shown by the time of the call, would have to list."""
    calls = calls.filter(pl.col("name").is_not_null(), pl.col("kind").is_in(["function", "custom", "mcp"]))
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


def _why(state: str | None, *, later: bool) -> str:
    if state is not None:
        return "had been removed from the table when the model called it"
    return "was not in the table yet when the model called it" if later else "is in no table of this session"


@lru_cache(maxsize=1024)
def _hint(name: str, offered: frozenset[str]) -> str:
    near = did_you_mean(name, offered)
    if near is None or near == name:
        return "Refuse the call, and tell the model which tools there are."
    if (note := homoglyph_note(name)) is not None:
        return f"It is not {near}, which was offered: the name {note}."
    if near.casefold() == name.casefold():
        return f"Only the case differs from {near}; names are compared letter by letter."
    return f"The nearest name that was offered is {near}."


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
        .filter(~pl.col("call").is_in(_resent(trace).implode()))
        .sort("call")
    )
