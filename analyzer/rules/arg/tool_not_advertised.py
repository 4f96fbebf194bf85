"""A call names a tool that was not in the table in force.

What it says: at the model call no table of the session offered this tool: it never was there, it came later, it had
been removed, it is offered in another namespace, or it differs by case or by a letter. The nearest name that was
offered is given. Also that a tool is deferred and nothing had been searched for (Responses; likely). Where no table is
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

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import polars as pl

from analyzer.contracts.nearest import did_you_mean
from analyzer.rules.arg.unknown_to_host import unknown_to_host
from analyzer.rules.arg.unloaded import unloaded
from analyzer.rules.arg.unoffered import Unoffered, unoffered
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace
from analyzer.visible import homoglyph_note

_REFUSE = "Refuse the call, and tell the model which tools there are."
_HELPED = 50  # names of a session that get a suggestion: more help nobody, and each meets every name there is


def check(trace: Trace) -> pl.DataFrame:
    """Calls without an offer at their place, where the table is known; then those that the host did not know."""
    lost = unoffered(trace)
    told = pl.Series([each.call for each in lost], dtype=pl.Int64)
    return hits([*_hits(lost), *unloaded(trace), *unknown_to_host(trace, told)])


def _hits(lost: Iterable[Unoffered]) -> Iterator[dict[str, Any]]:
    helped: dict[str | None, set[str]] = {}
    for each in lost:
        names = helped.setdefault(each.session, set())
        if len(names) < _HELPED:
            names.add(each.name)
        yield {
            "call": each.call,
            "message": f"The tool {each.name} {_why(each)}."
            if each.name
            else "The call names no tool: the name is empty.",
            "hint": _hint(each.name, each.names) if each.name in names else _REFUSE,
            "keyword": "withdrawn" if each.state else "later" if each.later else "unknown",
            "related": [place(each.event, each.pointer, "withdrawn")] if each.state else None,
        }


def _why(lost: Unoffered) -> str:
    if lost.state is not None:
        return "had been removed from the table when the model called it"
    if lost.later:
        return "was not in the table yet when the model called it"
    if lost.spaces:
        where = " and ".join(f"in the namespace {space}" if space else "without a namespace" for space in lost.spaces)
        return f"is called in another namespace than the one it was offered in: it is offered {where}"
    return "is in no table of this session"


@lru_cache(maxsize=1024)
def _hint(name: str, offered: frozenset[str]) -> str:
    near = did_you_mean(name, offered)
    if near is None or near == name:
        return _REFUSE
    if (note := homoglyph_note(name)) is not None:
        return f"It is not {near}, which was offered: the name {note}."
    if near.casefold() == name.casefold():
        return f"Only the case differs from {near}; names are compared letter by letter."
    return f"The nearest name that was offered is {near}."
