"""Calls of a tool cannot be judged because its schema is nowhere to be found.

What it says: neither the log nor a contract file holds the schema of the arguments, or the call leaves out which of
several namespaces it means, and how many calls that leaves unjudged. Once per tool and session; hosted tools, which
have no schema anywhere, only as information.
Why it matters: these calls are unverifiable, not right. An audit that passes them over in silence looks green.
Bad:
    server docs
    turn
    mcp m1 docs search {"q":"refunds"} ok found
    end
Good:
    server docs
    contract docs/search {"type":"object","properties":{"q":{"type":"string"}}}
    turn
    mcp m1 docs search {"q":"refunds"} ok found
    end
Blind spots: a contract file for another version of the tool judges as if it were the right one.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.arg.unknown_to_host import unknown_to_host
from analyzer.rules.arg.unoffered import unoffered
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """One hit for each session and tool."""
    return told(places(trace))


def places(trace: Trace) -> pl.DataFrame:
    """The first call that cannot be judged of each session and tool, and their `count`."""
    verdicts = trace.verdicts
    unavailable = verdicts.filter((verdicts["reason"] == "schema_unavailable") & (verdicts["role"] == "arguments"))[
        "call"
    ]
    called = trace.calls.filter(pl.col("call").is_in(unavailable.implode()))
    known = verdicts.filter(
        pl.col("call").is_in(unavailable.implode()), pl.col("role") == "arguments", pl.col("schema_id").is_not_null()
    )
    # A tool that is missing from a table or a server's listing is another fault.
    elsewhere = _told_elsewhere(trace) if called.height else []
    unjudged = called.filter(~pl.col("call").is_in(known["call"].implode()), ~pl.col("call").is_in(elsewhere)).select(
        "session", "call", "tool", "kind", "name"
    )
    by_tool = unjudged.sort("call").group_by("session", "tool", maintain_order=True)
    found = by_tool.agg(pl.first("call", "kind", "name"), count=pl.len().cast(pl.Int64))
    return found.join(_spaces(trace, found), on=["session", "name"], how="left", maintain_order="left")


def _spaces(trace: Trace, found: pl.DataFrame) -> pl.DataFrame:
    """`session, name, spaces`: in how many namespaces a session offers a function of that name, where in several."""
    columns = trace.offers.select(
        "session", "tool", name=pl.col("tool").str.extract("^(?:function|namespace):[^:]*:(.*)$")
    )
    offered = columns.join(found.select("session", "name").unique(), on=["session", "name"], how="semi")
    spaces = offered.group_by("session", "name").agg(spaces=pl.col("tool").n_unique().cast(pl.Int64))
    return spaces.filter(pl.col("spaces") > 1)


def _told_elsewhere(trace: Trace) -> list[int]:
    """The calls of tools that were not advertised, or that their host does not know: ARG002 speaks of these."""
    missing = [each.call for each in unoffered(trace)]
    return missing + [hit["call"] for hit in unknown_to_host(trace, pl.Series(missing, dtype=pl.Int64))]


def told(places: pl.DataFrame) -> pl.DataFrame:
    """The hits of `places`, which may come from several parts of a session, one after the other."""
    hosted = pl.col("kind").is_in(["hosted", "program", "search"])
    several = pl.col("spaces").is_not_null()
    count = pl.when(pl.col("count") == 1).then(pl.lit("one call")).otherwise(sentence("{} calls", "count"))
    return (
        places.group_by("session", "tool", maintain_order=True)
        .agg(pl.first("call", "kind", "name", "spaces"), pl.sum("count"))
        .select(
            "session",
            "call",
            keyword=pl.lit("schema"),
            severity=pl.when(hosted).then(pl.lit("info")),
            message=sentence(
                "The schema of {} is {}: {} in this session cannot be judged.",
                pl.col("name").fill_null("a tool"),
                pl.when(several)
                .then(sentence("in {} namespaces, and nothing says which of them is called", "spaces"))
                .otherwise(pl.lit("neither in the log nor in a contract file")),
                count,
            ),
            hint=pl.when(several)
            .then(pl.lit("Name the namespace in the call, or offer each name once."))
            .otherwise(pl.lit("Give the tool's schema as a contract file (--contracts).")),
        )
    )
