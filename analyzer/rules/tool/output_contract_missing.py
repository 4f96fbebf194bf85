"""A tool returns objects, and nothing says which.

What it says: five or more results of a tool in a session are JSON objects or lists, and no output schema is
advertised or given.
Why it matters: whatever reads these members trusts a shape that nobody promised, and no audit can tell when it
changes.
Bad:
    tool find {"type":"object","properties":{}}
    call c1 find
    result c1 ok {"a":1}
    call c2 find
    result c2 ok {"a":2}
    call c3 find
    result c3 ok {"a":3}
    call c4 find
    result c4 ok {"a":4}
    call c5 find
    result c5 ok {"a":5}
Good:
    tool find {"type":"object","properties":{}}
    output find {"type":"object","properties":{"a":{"type":"integer"}}}
    call c1 find
    result c1 ok {"a":1}
    call c2 find
    result c2 ok {"a":2}
    call c3 find
    result c3 ok {"a":3}
    call c4 find
    result c4 ok {"a":4}
    call c5 find
    result c5 ok {"a":5}
Blind spots: whether a program or only the model reads the result cannot be seen.
"""

from __future__ import annotations

import polars as pl

from analyzer.contracts.spelling import spelled
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace, of_rows

_LEAST = 5


def check(trace: Trace) -> pl.DataFrame:
    """Tools with containers as results and no output contract anywhere; once per tool and session."""
    return told(places(trace))


def places(trace: Trace) -> pl.DataFrame:
    """The first such result of each session and tool, and their `count`."""
    results = trace.results
    return _first(results.filter(results["tool"].is_in(_unpromised(trace).implode())))


@of_rows
def _first(mute: pl.DataFrame) -> pl.DataFrame:
    structured = pl.col("text").str.contains(r"^\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])") | pl.col("structured").is_not_null()
    return (
        mute.filter(pl.col("rank") == 0, pl.col("success").fill_null(value=True), pl.col("error").is_null())
        .select("session", "tool", "result", "text", "structured")
        .filter(structured)
        .sort("result")
        .group_by("session", "tool", maintain_order=True)
        .agg(pl.col("result").first(), pl.len().cast(pl.Int64).alias("count"))
    )


@of_rows
def told(places: pl.DataFrame) -> pl.DataFrame:
    """The hits of `places`, which may come from several parts of a session, one after the other."""
    return (
        places.group_by("session", "tool", maintain_order=True)
        .agg(pl.first("result"), pl.sum("count"))
        .filter(pl.col("count") >= _LEAST)
        .select(
            "result",
            message=sentence(
                "{} results of this tool in the session are objects or lists, and no output schema promises them.",
                "count",
            ),
            hint=pl.lit(
                "Declare an output schema, or give one in a contract file; `analyzer contracts tighten` proposes one."
            ),
            keyword=pl.lit("output"),
        )
    )


def _unpromised(trace: Trace) -> pl.Series:
    """The keys of tools whose name stands in no output contract, and that do not return text on purpose."""
    apart = trace.settings.shell | trace.settings.free_text
    if trace.holds("offers.role=output"):
        apart |= {*trace.offers.filter(pl.col("role") == "output")["tool"].unique().str.replace("^.*:", "")}
    if trace.holds("contracts.role=output"):
        apart |= {*spelled(trace.contracts.filter(pl.col("role") == "output"))["name"]}
    tools = trace.results["tool"].drop_nulls().unique()
    return tools.filter(~tools.str.replace("^.*:", "").is_in(sorted(apart)))
