"""The arguments of a call break the schema that was in force when the model made it.

What it says: the decoded arguments were judged by the schema advertised at the model call, or by the contract file
where none was advertised, and failed. One finding per call; `failures` holds every failing keyword; the hint has
the smallest edit that passes and names other advertised tools that take the arguments. Where no schema is known, the
host's own refusal of the arguments is told in its words (likely).
Why it matters: the executor was never promised such arguments. What it does with them (refuse, guess, ignore a
member, run) is chance, and what the model meant by an extra member is lost.
Bad:
    tool get_order {"properties":{"id":{"pattern":"^ord_[0-9]{6}$"}},"required":["id"],"additionalProperties":false}
    call c1 get_order {"id":"ord_204418 and all open","refund":true}
    result c1 failed no such order
Good:
    tool get_order {"properties":{"id":{"pattern":"^ord_[0-9]{6}$"},"page":{"type":"integer"}},"required":["id"]}
    tool ping {"type":"object","properties":{}}
    call c1 get_order {"id":"ord_204418","page":5.0}
    result c1 ok {"total":12}
    call c2 ping
    result c2 ok pong
Blind spots: `format` is judged only with `--assert-formats`. Between two snapshots that show different tables the
schema in force may be either; a call that only one of them accepts has no verdict. Neither has an object of a call
that a token limit cut, where all that fails may be what the cut took away: the wire closed it.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.arg.refused_by_host import refused_by_host
from analyzer.rules.failures import failure_words, refused
from analyzer.rules.hits import hits
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Calls whose arguments were judged invalid, or refused by a schema that is not known."""
    return pl.concat([_judged(trace), hits(refused_by_host(trace))], how="diagonal_relaxed")


def _judged(trace: Trace) -> pl.DataFrame:
    said = {"contract": "the contract file", "code": "the executed code"}
    schema = pl.col("channel").replace_strict(said, default="the schema in force")
    passes = pl.concat_str(pl.lit("Another version of the tool ("), "passes", pl.lit(") accepts these arguments. "))
    return (
        refused(trace, "arguments")
        .filter(pl.col("payload").ne_missing("not_json"))
        .join(failure_words(trace), on="verdict", how="left", maintain_order="left")
        .select(
            "call",
            "verdict",
            message=pl.concat_str(
                pl.lit("The arguments break "),
                schema,
                pl.lit(": "),
                pl.col("words").fill_null("no reason is recorded"),
                pl.lit("."),
            ),
            hint=passes.fill_null("")
            + pl.lit("Validate before executing, and give the model the failing members back as the tool's error."),
            confidence=pl.when(pl.col("window") == "bracketed").then(pl.lit("likely")),
        )
    )
