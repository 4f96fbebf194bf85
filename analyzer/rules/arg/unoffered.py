"""Calls of tools that no table in force offered, where one is recorded that would have to list them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from analyzer.rules.sightings import staged
from analyzer.trace import Trace, shared

_SEPARATOR = re.compile(r"__|[.:/]")
_NO_NAME = ""


class Unoffered(NamedTuple):
    """One such call; `state` and its place are of the last offer before it, `names` what the session offers."""

    call: int
    session: str | None
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
    spaces: dict[str, dict[str, set[str]]] = {}
    sessions = pl.col("session").is_in(lost["session"].unique().implode())
    offered = trace.offers.filter(trace.offers["state"] == "offered").filter(sessions)
    for session, tool in offered.select("session", "tool").unique().iter_rows():
        kind, _, rest = tool.partition(":")
        space, _, name = rest.partition(":")
        where = spaces.setdefault(session, {}).setdefault(name, set())
        if kind != "mcp":
            where.add(space)
    names = {session: frozenset(named) for session, named in spaces.items()}
    without = {session: frozenset(rest for name in named for rest in _rests(name)) for session, named in spaces.items()}
    rows = []
    for row in lost.iter_rows(named=True):
        session, name, space = row["session"], row["name"] or _NO_NAME, row["server"] or ""
        known = names.get(session, frozenset())
        where = spaces.get(session, {}).get(name, set())
        # Wires leave a namespace out, or make one of the name; a server, or another namespace, is another matter.
        loose = where and not row["state"] and not row["later"] and space in ("", name)
        # Names that differ by a client's prefix only: `functions.`, `mcp__server__`, `server/`.
        prefixed = name in without.get(session, ()) or any(rest in known for rest in _rests(name))
        if not (loose or prefixed or (session, name) in unread):
            of_offer = row["state"], bool(row["later"]), row["event"], row["pointer"]
            rows.append(Unoffered(row["call"], session, name, *of_offer, known, tuple(sorted(where))))
    return tuple(rows)


def _rests(name: str) -> Iterator[str]:
    """What may be left of a name without a client's prefix."""
    return (name[found.end() :] for found in _SEPARATOR.finditer(name))


def _unread(trace: Trace, lost: pl.DataFrame) -> set[tuple[str, str]]:
    """Sessions and names that stand in a table where they could not be read, for size or depth: it may offer them."""
    here = pl.col("session").is_in(lost["session"].unique().implode())
    shown = trace.showings.filter(here).select("session", "table").unique()
    texts = trace.tables.filter(pl.col("table").is_in(shown["table"].unique().implode()))
    spelled = texts.select("table", name=pl.col("text").str.extract_all('"name": ?"[^"]*"')).explode("name")
    strange = (
        spelled.with_columns(pl.col("name").str.replace_all('^"name": ?"|"$', ""))
        .unique()
        .join(trace.tools, on=["table", "name"], how="anti")
    )
    held = strange.join(lost.select("session", "name").unique(), on="name").join(
        shown, on=["session", "table"], how="semi"
    )
    return set(held.select("session", "name").iter_rows())


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
    by = ["session", "tool"]
    offers = trace.offers.join(calls.select(by).unique(), on=by, how="semi").sort("since", "event", "pointer")
    offered = pl.col("state") == "offered"
    seen = offers.group_by(by).agg(pl.max("since").alias("last"), offered.any().alias("ever"))
    # An offer first shown after the call may have held at it, unless a table between says otherwise.
    begins = pl.col("after").fill_null(-1).cum_min(reverse=True).over(by)
    maybe = offers.filter(offered, ~pl.col("exact")).select(*by, shown="since", begins=begins)
    states = offers.select(*by, "since", "state", "event", "pointer")
    return (
        calls.sort("seq")
        .join_asof(states, left_on="seq", right_on="since", by=by, check_sortedness=False)
        .join_asof(
            maybe,
            left_on="seq",
            right_on="shown",
            by=by,
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .join(seen, on=by, how="left", maintain_order="left")
        .with_columns(
            later=pl.col("last") > pl.col("seq"),
            lawful=(pl.col("begins") < pl.col("seq")).fill_null(value=False)
            | (pl.col("ever") & (pl.col("order") == "files")).fill_null(value=False),
        )
        .filter((pl.col("state") != "offered").fill_null(value=True), ~pl.col("lawful"))
        # What a resent history alone shows was called under a table that was not recorded.
        .filter(~pl.col("call").is_in(resent(trace).implode()))
        .sort("call")
    )
